import { utf8Length } from '../../../base/text.js';
import type { Result } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { textCell } from '../statement.js';
import { runStatement } from '../transaction.js';
import {
  ackWorkStatement,
  ackWorkValues,
  type PreparedWorkAck,
  prepareWorkAck,
  refuseWorkAck,
  type WorkAck,
} from './ack-work-statement.js';
import { done, failed, settleAccepted, tokensOnce } from './settle-batch.js';

const OPERATION = 'ack_worker';

/** Removes worker items whose lock is live and puts their completions into the queues of their instances. */
export async function ackWorkItems(ctx: ProviderContext, elements: readonly WorkAck[]): Promise<Result[]> {
  const statement = ctx.statement('ack work', () => ackWorkStatement(ctx), ([token]) => textCell(token));
  const isFirst = tokensOnce();
  return settleAccepted<WorkAck, PreparedWorkAck, void>({
    elements,
    accept: (element) => {
      const refusal = refuseWorkAck(OPERATION, element);
      if (refusal) return failed(refusal);
      return isFirst(element) ? { accepted: prepareWorkAck(element) } : lockLost();
    },
    sizeOf: ({ completion }) => utf8Length(completion?.text ?? ''),
    run: async (acks) => {
      const tokens = await runStatement(ctx, OPERATION, statement, (nowMs) => ackWorkValues(acks, nowMs));
      const gone = new Set(tokens);
      if (acks.some(({ lockToken, completion }) => completion && gone.has(lockToken))) ctx.wake('orchestrator');
      return acks.map(({ lockToken }) => (gone.has(lockToken) ? done() : lockLost()));
    },
  });
}

function lockLost(): Result {
  return failed(ProviderError.permanent(OPERATION, errorTexts.workItemNotFound));
}
