import { allTableNames } from '../table-names.js';

/**
 * How the functions of duroxide, ours and native's of any level, are told from one of the
 * application's with the same name and arguments: theirs are PL/pgSQL whose body names a
 * table of duroxide's with its schema. A regular expression of PostgreSQL.
 * @param schema a validated name, so nothing in it means something to a regular expression
 */
export function ownBodyPattern(schema: string): string {
  return `("${schema}"|\\m${schema})\\.("?)(${allTableNames.join('|')})\\2(?!\\w)`;
}

/**
 * A query for the functions of duroxide among those with these signatures, as
 * `"schema".name(types)`. For text without parameters: everything in it is a constant.
 */
export function selectOwnFunctions(schema: string, signatures: readonly string[]): string {
  const list = signatures.map((signature) => `'${signature}'`).join(', ');
  return `select format('%I.%I(%s)', n.nspname, p.proname, oidvectortypes(p.proargtypes))
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    join pg_catalog.pg_language l on l.oid = p.prolang
    where n.nspname = '${schema}' and l.lanname = 'plpgsql' and p.prokind = 'f'
      and format('%s(%s)', p.proname, oidvectortypes(p.proargtypes)) in (${list})
      and p.prosrc ~ '${ownBodyPattern(schema)}'`;
}
