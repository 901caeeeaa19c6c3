import type { Result } from '../provider.js';
import { ProviderError } from '../provider-error.js';
import { done, failed, settleAccepted, tokensOnce } from '../drizzle/operations/settle-batch.js';

export interface EachParams<E, A> {
  readonly elements: readonly E[];
  /** What `run` gets of an element, or why nothing is to be done. */
  readonly accept: (element: E) => { readonly accepted: A } | { readonly error: ProviderError };
  /** Bytes of text that an element sends: large ones go last, so that they delay nobody else. */
  readonly sizeOf?: ((element: A) => number) | undefined;
  /** One call, in a transaction of its own. */
  readonly run: (element: A) => Promise<unknown>;
}

/** One call after the other, each with its own answer, in the order of the input. */
export function settleEach<E, A>({ elements, accept, sizeOf, run }: EachParams<E, A>): Promise<Result[]> {
  return settleAccepted<E, A, void>({
    elements,
    accept: (element) => {
      const answer = accept(element);
      return 'error' in answer ? failed(answer.error) : answer;
    },
    sizeOf,
    run: async (accepted) => {
      const results: Result[] = [];
      for (const element of accepted) results.push(await settleOne(() => run(element)));
      return results;
    },
  });
}

/** As {@link settleEach}, for elements that are named by a token, which counts once in a batch. */
export function settleEachToken<E extends { readonly lockToken: string }>(
  params: Pick<EachParams<E, E>, 'elements' | 'run'> & { readonly lost: () => ProviderError },
): Promise<Result[]> {
  const isFirst = tokensOnce();
  return settleEach<E, E>({
    ...params,
    accept: (element) => (isFirst(element) ? { accepted: element } : { error: params.lost() }),
  });
}

async function settleOne(run: () => Promise<unknown>): Promise<Result> {
  try {
    await run();
    return done();
  } catch (error) {
    if (!ProviderError.is(error)) throw error;
    return failed(error);
  }
}
