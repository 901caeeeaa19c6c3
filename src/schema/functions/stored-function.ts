import { createHash } from 'node:crypto';

/** One PL/pgSQL function with native's name and signature (provider.md, appendix A). */
export interface StoredFunction {
  readonly name: string;
  /** `p_name type`, with ` default …` where there is one; types as the catalogue spells them. */
  readonly args: readonly string[];
  /** What stands after RETURNS. */
  readonly returns: string;
  /** From DECLARE, or BEGIN, to END. Names every table with its schema. */
  readonly body: string;
}

/** Functions that belong together. `s` is the quoted name of the schema, for the bodies. */
export type FunctionFamily = (s: string) => readonly StoredFunction[];

/** The types of the arguments as `oidvectortypes` prints them: what tells two functions of one name apart. */
export function argumentTypes({ args }: StoredFunction): string {
  return args.map((arg) => arg.replace(/^\w+ /, '').replace(/ default .*$/, '')).join(', ');
}

/** The body as the catalogue keeps it (`pg_proc.prosrc`). */
function storedBody({ body }: StoredFunction): string {
  return `\n${body.trim()}\n`;
}

/** md5 of the body, as the server computes it: tells one version of a function from another. */
export function storedBodyHash(stored: StoredFunction): string {
  return createHash('md5').update(storedBody(stored), 'utf8').digest('hex');
}

/**
 * The statement that creates or updates it in place. Its own `search_path` keeps
 * operators and functions of `pg_catalog` what they are, whatever the caller's path is.
 */
export function createFunctionStatement(s: string, stored: StoredFunction): string {
  return (
    `create or replace function ${s}.${stored.name}(${stored.args.join(', ')})\n` +
    `returns ${stored.returns}\nlanguage plpgsql\nset search_path = pg_catalog, pg_temp\nas $ddz$${storedBody(stored)}$ddz$`
  );
}

/** Milliseconds since the epoch as a `timestamptz`; exact (P:T-30). */
export const moment = (ms: string) => `to_timestamp(${ms} / 1000.0)`;

/**
 * The instance that `p_lock_token` locks, into `v_instance_id`. A token of ours names
 * it (`lock_<uuid>:<instance>`); one that native made is looked for.
 * @param condition on the lock row `l`, with its leading AND
 * @param suffix such as `for update`
 */
export const findLockedInstance = (s: string, condition: string, suffix = '') => `
  if substr(p_lock_token, 42, 1) = ':' then
    select l.instance_id into v_instance_id from ${s}.instance_locks l
      where l.instance_id = substr(p_lock_token, 43) and l.lock_token = p_lock_token ${condition} ${suffix};
  else
    select l.instance_id into v_instance_id from ${s}.instance_locks l
      where l.lock_token = p_lock_token ${condition} ${suffix};
  end if;`;
