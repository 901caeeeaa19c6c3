import { randomUUID } from 'node:crypto';
import type { DataType, IMemoryDb } from 'pg-mem';
import { fnv1a64 } from '../../base/fnv1a.js';
import { utf8Length } from '../../base/text.js';

/** What the functions need of the emulated server. */
export interface FunctionHost {
  /** Number of the transaction that runs now. */
  transactionId(): number;
  /** Whether there is a table of this name, which may have its schema in front. */
  hasTable(name: string): boolean;
  /** Sent when the transaction commits. */
  notify(channel: string, payload: string): void;
}

/** Registers the functions of PostgreSQL that pg-mem lacks and that this package's SQL, or a test, may call. */
export function registerFunctions(db: IMemoryDb, host: FunctionHost): void {
  const register = (
    name: string,
    args: readonly `${DataType}`[],
    returns: `${DataType}`,
    implementation: (...values: never[]) => unknown,
    { impure = false, replacesBuiltIn = false } = {},
  ) => {
    const definition = {
      name,
      args: args as DataType[],
      returns: returns as DataType,
      implementation: implementation as () => never,
      impure,
    };
    if (!replacesBuiltIn) db.public.registerFunction(definition);
    else {
      const variadic = { argsVariadic: args.at(-1) as DataType, allowNullArguments: true };
      db.getSchema('pg_catalog').registerFunction({ ...definition, ...variadic }, true);
    }
  };

  // Locks: one transaction runs at a time, so a lock is always free.
  for (const args of [['integer'], ['bigint'], ['integer', 'integer']] as const) {
    for (const suffix of ['', '_shared']) {
      register(`pg_try_advisory_xact_lock${suffix}`, args, 'bool', () => true, { impure: true });
      register(`pg_try_advisory_lock${suffix}`, args, 'bool', () => true, { impure: true });
      register(`pg_advisory_xact_lock${suffix}`, args, 'null', () => null, { impure: true });
      register(`pg_advisory_lock${suffix}`, args, 'null', () => null, { impure: true });
      register(`pg_advisory_unlock${suffix}`, args, 'bool', () => true, { impure: true });
    }
  }
  // Another hash than PostgreSQL's; only its being a function of the text matters here.
  register('hashtext', ['text'], 'integer', (text: string) => Number(BigInt.asIntN(32, fnv1a64(text))));
  register('hashtextextended', ['text', 'integer'], 'bigint', (text: string) =>
    Number(BigInt.asIntN(53, fnv1a64(text))),
  );

  // What `extract(epoch from …)` is rewritten to.
  register('ddz_epoch', ['timestamptz'], 'float', (moment: Date) => moment.getTime() / 1000);

  register('pg_current_xact_id', [], 'bigint', () => host.transactionId(), { impure: true });
  register('txid_current', [], 'bigint', () => host.transactionId(), { impure: true });
  // Settings local to a transaction: those of another one are gone.
  const always = new Map([['transaction_isolation', 'read committed']]);
  let settings = { of: 0, values: new Map<string, string>() };
  const localSettings = () => {
    if (settings.of !== host.transactionId()) settings = { of: host.transactionId(), values: new Map() };
    return settings.values;
  };
  const setLocal = (name: string, value: string) => {
    localSettings().set(name, value);
    return value;
  };
  register('set_config', ['text', 'text', 'bool'], 'text', setLocal, { impure: true });
  const setting = (name: string) => localSettings().get(name) ?? always.get(name) ?? null;
  register('current_setting', ['text', 'bool'], 'text', setting, { impure: true });
  register('left', ['text', 'integer'], 'text', (text: string, length: number) => {
    const letters = Array.from(text);
    return letters.slice(0, length < 0 ? Math.max(0, letters.length + length) : length).join('');
  });
  register('strpos', ['text', 'text'], 'integer', (text: string, part: string) => text.indexOf(part) + 1);
  register('pg_notify', ['text', 'text'], 'null', (channel: string, payload: string) => host.notify(channel, payload), {
    impure: true,
  });
  register('pg_backend_pid', [], 'integer', () => process.pid, { impure: true });

  for (const name of ['clock_timestamp', 'statement_timestamp', 'transaction_timestamp']) {
    register(name, [], 'timestamptz', () => new Date(), { impure: true });
  }
  register('to_timestamp', ['float'], 'timestamptz', (seconds: number) => new Date(Math.round(seconds * 1000)));
  register('gen_random_uuid', [], 'uuid', () => randomUUID(), { impure: true });

  // pg-mem's own answer NULL when one of the values is NULL.
  const extreme =
    (choose: (...values: number[]) => number) =>
    (...values: (number | null | undefined)[]) => {
      const present = values.filter((value) => value !== null && value !== undefined);
      return present.length === 0 ? null : choose(...present);
    };
  register('greatest', ['integer'], 'integer', extreme(Math.max), { replacesBuiltIn: true });
  register('least', ['integer'], 'integer', extreme(Math.min), { replacesBuiltIn: true });

  register('to_regclass', ['text'], 'text', (name: string) => (host.hasTable(name) ? name : null), { impure: true });
  register('octet_length', ['text'], 'integer', (text: string) => utf8Length(text));
  for (const name of ['length', 'char_length']) {
    register(name, ['text'], 'integer', (text: string) => Array.from(text).length);
  }
  register('version', [], 'text', () => 'PostgreSQL (pg-mem)');
}
