import { builtInMigrations } from './migrations.generated.js';

/** Native's bookkeeping; only the hand-over to native writes it. */
export const NATIVE_BOOKKEEPING = '_duroxide_migrations';
/** Ours: the migrations and additions that a schema has. */
export const OWN_BOOKKEEPING = 'ddz_migrations';

/** Every table that duroxide, ours or native, may have in a schema. */
export const allTableNames: readonly string[] = [
  ...builtInMigrations
    .flatMap(({ statements }) => statements)
    .map((statement) => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1])
    .filter((name) => name !== undefined),
  NATIVE_BOOKKEEPING,
  OWN_BOOKKEEPING,
];
