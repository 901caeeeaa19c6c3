import type { Result } from '../../provider.js';
import { ProviderError } from '../../provider-error.js';
import { isDataFailure } from '../sql-states.js';

/** What one transaction of a batch carries at most, in bytes of text; a larger element travels alone. */
export const MAX_TRANSACTION_BYTES = 8 * 1024 * 1024;

export interface BatchParams<E, V> {
  readonly elements: readonly E[];
  /** Bytes of text that the element sends. */
  readonly sizeOf?: ((element: E) => number) | undefined;
  /** Does the work for some elements in one transaction; answers in their order. */
  readonly run: (elements: readonly E[]) => Promise<readonly Result<V>[]>;
}

/**
 * A batch is transport, not a unit (provider.md 3.4.2): answers for each element, in
 * order, and never rejects with a `ProviderError`. It is cut by size, large elements
 * last, so that they delay nobody's commit but their own. A group that fails because of
 * its data is halved until the bad elements stand alone.
 */
export async function settleBatch<E, V>({ elements, sizeOf, run }: BatchParams<E, V>): Promise<Result<V>[]> {
  const results = new Array<Result<V>>(elements.length);
  const settle = async (indexes: readonly number[]): Promise<void> => {
    const answers = await attempt(indexes.map((index) => elements[index] as E), run);
    if (answers === 'halve') {
      const middle = indexes.length >> 1;
      await settle(indexes.slice(0, middle));
      await settle(indexes.slice(middle));
      return;
    }
    indexes.forEach((index, at) => (results[index] = answers[at] as Result<V>));
  };
  for (const group of cutBySize(elements, sizeOf)) await settle(group);
  return results;
}

export interface AcceptedBatchParams<E, A, V> extends Omit<BatchParams<A, V>, 'elements'> {
  readonly elements: readonly E[];
  /** What `run` gets of an element, or the answer to it when there is nothing to be done. */
  readonly accept: (element: E) => { readonly accepted: A } | Result<V>;
}

/** As {@link settleBatch}, for elements that are checked and encoded before anything is sent. */
export async function settleAccepted<E, A, V>({
  elements,
  accept,
  ...params
}: AcceptedBatchParams<E, A, V>): Promise<Result<V>[]> {
  const answers = elements.map(accept);
  const accepted = answers.flatMap((answer) => ('accepted' in answer ? [answer.accepted] : []));
  const results = (await settleBatch({ ...params, elements: accepted })).values();
  return answers.map((answer) => ('accepted' in answer ? (results.next().value as Result<V>) : answer));
}

async function attempt<E, V>(
  elements: readonly E[],
  run: BatchParams<E, V>['run'],
): Promise<readonly Result<V>[] | 'halve'> {
  try {
    return await run(elements);
  } catch (error) {
    if (!ProviderError.is(error)) throw error;
    if (elements.length > 1 && isDataFailure(error.sqlState)) return 'halve';
    return elements.map(() => failed(error));
  }
}

/** Groups of indexes; those that are too large for company come last, each alone. */
function cutBySize<E>(elements: readonly E[], sizeOf: ((element: E) => number) | undefined): number[][] {
  if (!sizeOf) return elements.length === 0 ? [] : [elements.map((_, index) => index)];
  const groups: number[][] = [];
  const alone: number[][] = [];
  let bytes = Infinity;
  elements.forEach((element, index) => {
    const size = sizeOf(element);
    if (size > MAX_TRANSACTION_BYTES) {
      alone.push([index]);
      return;
    }
    bytes += size;
    const group = groups.at(-1);
    if (group && bytes <= MAX_TRANSACTION_BYTES) {
      group.push(index);
    } else {
      groups.push([index]);
      bytes = size;
    }
  });
  return [...groups, ...alone];
}

export function done(): Result;
export function done<V>(value: V): Result<V>;
export function done(value?: unknown): Result<unknown> {
  return { ok: true, value };
}

export function failed(error: ProviderError): { readonly ok: false; readonly error: ProviderError } {
  return { ok: false, error };
}

/** Says of each element whether it is the first with its token: a token counts once in a batch. */
export function tokensOnce(): (element: { readonly lockToken: string }) => boolean {
  const seen = new Set<string>();
  return ({ lockToken }) => {
    const isFirst = !seen.has(lockToken);
    seen.add(lockToken);
    return isFirst;
  };
}
