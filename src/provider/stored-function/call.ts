import { type SQL, sql } from 'drizzle-orm';
import { argumentTypes, storedFunctions } from '../../schema/functions/index.js';
import { quoteSchemaName } from '../../schema/schema-name.js';
import type { ProviderContext } from '../drizzle/context.js';
import { serverErrorOf } from '../drizzle/drivers/connection-errors.js';
import type { SqlValues } from '../drizzle/executor.js';
import { type DecodeRow, noRow, type Statement } from '../drizzle/statement.js';
import { readStatement, type RetryOptions, runStatement, type ValuesAt } from '../drizzle/transaction.js';
import { ProviderError } from '../provider-error.js';

/** SQLSTATE of an error that a function raised itself. */
const RAISED = 'P0001';

/** Names and types of the arguments, which are the same in every schema. */
const signatures = new Map(
  storedFunctions('any_schema').map((stored) => [
    stored.name,
    argumentTypes(stored)
      .split(', ')
      .filter((type) => type !== '')
      .map((type, index) => ({ name: (stored.args[index] ?? '').split(' ')[0] ?? '', type })),
  ]),
);

/** `schema.name(…)` with a placeholder for each argument, named like it. */
export function functionCall({ schema }: ProviderContext, name: string): SQL {
  const signature = signatures.get(name);
  if (!signature) throw new TypeError(`no stored function ${name}`);
  const args = signature.map((arg) => sql`${sql.placeholder(arg.name)}::${sql.raw(arg.type)}`);
  return sql`${sql.raw(`${quoteSchemaName(schema)}.${name}`)}(${sql.join(args, sql`, `)})`;
}

export interface FunctionCall<Row> {
  /** For errors; where it differs from the function's name. */
  readonly operation?: string | undefined;
  readonly name: string;
  /** All arguments by name. */
  readonly values?: ValuesAt | undefined;
  readonly decode?: DecodeRow<Row> | undefined;
}

/** Calls a function that writes: one call is one transaction. @throws ProviderError */
export async function callFunction<Row = undefined>(
  ctx: ProviderContext,
  call: FunctionCall<Row>,
  options?: RetryOptions,
): Promise<Row[]> {
  const { name, operation = name, values } = call;
  return speaking(operation, () => runStatement(ctx, operation, statementOf(ctx, call), values, options));
}

/** Calls a function that only reads. @throws ProviderError */
export async function readFunction<Row>(ctx: ProviderContext, call: FunctionCall<Row>): Promise<Row[]> {
  const { name, operation = name, values } = call;
  return speaking(operation, () => readStatement(ctx, operation, statementOf(ctx, call), values));
}

function statementOf<Row>(ctx: ProviderContext, { name, decode }: FunctionCall<Row>): Statement<Row> {
  return ctx.statement(
    `function: ${name}`,
    () => sql`select * from ${functionCall(ctx, name)}`,
    decode ?? (noRow as DecodeRow<Row>),
  );
}

/** What a function raised says what is wrong, names at most instances, and is what callers look for. */
async function speaking<T>(operation: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw spoken(operation, error);
  }
}

/** The error of a function's own, in its words; any other as it is. */
export function spoken(operation: string, error: unknown): unknown {
  if (!ProviderError.is(error) || error.sqlState !== RAISED) return error;
  const raised = serverErrorOf(error.cause);
  return ProviderError.permanent(operation, raised?.message ?? error.reason, { sqlState: RAISED, cause: error.cause });
}

/** The arguments that both abandons share. */
export function abandonValues(
  lockToken: string,
  { delayMs, ignoreAttempt }: { readonly delayMs?: number | undefined; readonly ignoreAttempt?: boolean | undefined },
) {
  return (nowMs: number): SqlValues => ({
    p_lock_token: lockToken,
    p_now_ms: nowMs,
    p_delay_ms: delayMs !== undefined && delayMs > 0 ? Math.ceil(delayMs) : null,
    p_ignore_attempt: ignoreAttempt ?? false,
  });
}

/** The arguments that both renewals share. Up to the whole second, so that a renewal never shortens a lock (P:T-8). */
export function renewValues(lockToken: string, extendMs: number) {
  return (nowMs: number): SqlValues => ({
    p_lock_token: lockToken,
    p_now_ms: nowMs,
    p_extend_secs: Math.ceil(extendMs / 1000),
  });
}
