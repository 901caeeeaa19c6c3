import { v7 } from 'uuid';

/**
 * The first part of the tokens of one fetch. What is locked completes it, in SQL:
 * `lock_<uuid>:<instance>` or `lock_<uuid>:<row id>` (provider.md 3.0). Version 7 grows
 * with time, so that the indexes on the token are written at one end.
 */
export function newTokenPrefix(): string {
  return `lock_${v7()}:`;
}
