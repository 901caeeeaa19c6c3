import type { PgQueryResultHKT, PgTransaction } from 'drizzle-orm/pg-core';
import type { IsolationLevel } from '../provider/activity-transactions.js';
import { activityFailureText, activityResult } from '../runtime/activity-failure.js';
import type { ActivityHandler as RuntimeActivityHandler } from '../runtime/activity-handler.js';
import { type Registrable, REGISTRATION } from '../runtime/registrable.js';
import type { TransactionalActivityContext } from '../runtime/transactional-activity-context.js';
import { decodePayload } from '../wire/payload.js';
import { checkAgainst } from '../wire/standard-schema.js';
import type { ActivityDeclaration, ActivityOptions } from './definitions.js';

/** A Drizzle transaction on PostgreSQL of whatever driver; {@link TransactionOf} names the one of a database. */
export type AnyTransaction = PgTransaction<PgQueryResultHKT>;

/**
 * The transaction of a Drizzle database, with its driver's results and its schema.
 * @example
 * async (ctx, tx: TransactionOf<typeof db>, order: Order) => { … }
 */
export type TransactionOf<Db> = Db extends { transaction: (use: infer Use, ...rest: infer _Rest) => unknown }
  ? Use extends (tx: infer Tx) => unknown
    ? Tx
    : never
  : never;

/**
 * The code of a transactional activity. Everything that it writes by `tx` is committed
 * together with its completion, or not at all, so that the effect happens exactly once;
 * the code itself may run several times.
 */
export type TransactionalHandler<Tx, In, Out> = (
  ctx: TransactionalActivityContext,
  tx: Tx,
  input: In,
) => Out | Promise<Out>;

export interface TransactionOptions {
  /**
   * Above `read committed`, keep it shorter than a third of `workerLockTimeoutMs`: after a
   * renewal of the lock the transaction conflicts with it, and runs again.
   * @defaultValue `read committed`
   */
  readonly isolationLevel?: IsolationLevel | undefined;
}

export interface TransactionalOptions<In, Out, Parsed = In, Returned = Out>
  extends ActivityOptions<In, Out, Parsed, Returned>, TransactionOptions {}

/** A transactional activity with its code: what a runtime registers. */
export interface TransactionalActivity<In, Out, Tx = AnyTransaction, Parsed = In, Returned = Out>
  extends ActivityDeclaration<In, Out, Parsed, Returned>, Registrable {
  readonly kind: 'activity';
  readonly name: string;
  readonly handler: TransactionalHandler<Tx, Parsed, Returned>;
}

const ISOLATION_LEVELS: readonly unknown[] = [undefined, 'read committed', 'repeatable read', 'serializable'];

/**
 * Joins a declaration with code that runs in a transaction.
 * @internal
 * @throws TypeError naming the definition
 */
export function implementInTransaction<In, Out, Tx, Parsed, Returned>(
  declaration: ActivityDeclaration<In, Out, Parsed, Returned>,
  handler: TransactionalHandler<Tx, Parsed, Returned>,
  { isolationLevel }: TransactionOptions,
): TransactionalActivity<In, Out, Tx, Parsed, Returned> {
  const { name, options } = declaration;
  if (typeof handler !== 'function') {
    throw new TypeError(`activity '${name}': expected a function as the handler, got ${typeof handler}`);
  }
  if (!ISOLATION_LEVELS.includes(isolationLevel)) {
    throw new TypeError(
      `activity '${name}': isolationLevel must be 'read committed', 'repeatable read' or 'serializable', got '${String(isolationLevel)}'`,
    );
  }
  const code = { name, options, handler, isolationLevel };
  return {
    ...declaration,
    handler,
    [REGISTRATION]: () => ({ kind: 'activity', name, handler: transactionalActivity(code) }),
  };
}

interface Code<In, Out, Tx, Parsed, Returned> extends TransactionOptions {
  readonly name: string;
  readonly options: ActivityOptions<In, Out, Parsed, Returned>;
  readonly handler: TransactionalHandler<Tx, Parsed, Returned>;
}

/** As the runtime runs it: JSON in, schema, handler, schema, JSON out; whatever throws rolls back. */
function transactionalActivity<In, Out, Tx, Parsed, Returned>({
  name,
  options,
  handler,
  isolationLevel,
}: Code<In, Out, Tx, Parsed, Returned>): RuntimeActivityHandler {
  const definition = `activity '${name}'`;
  const run = async (ctx: TransactionalActivityContext, tx: unknown, payload: string, maxPayloadBytes: number) => {
    const input = await checkAgainst(options.input, decodePayload(payload), { definition, part: 'input' });
    const returned = await handler(ctx, tx as Tx, input);
    const output = await checkAgainst(options.output, returned, { definition, part: 'output' });
    const result = activityResult(name, output, maxPayloadBytes);
    if (!result.ok) throw new UnstorableResultError(result.message);
    return result.result;
  };
  const failureText = (thrown: unknown) =>
    thrown instanceof UnstorableResultError ? thrown.message : activityFailureText(name, thrown);
  return Object.assign(
    () => ({ ok: false as const, message: failureText(new Error(`${definition} runs in a transaction only`)) }),
    { inTransaction: { isolationLevel, run, failureText } },
  );
}

/** What the handler returned cannot be stored; the message is the whole text of the failure. */
class UnstorableResultError extends Error {}
