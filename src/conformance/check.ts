import type { Trial } from './trial.js';

/** One line of the checklist (provider.md section 4). */
export interface Check {
  /** Of the checklist, e.g. `AT-1`; a part of a line has a suffix, e.g. `XR-9/large`. */
  readonly id: string;
  /** The rule, as the title of the test states it. */
  readonly rule: string;
  readonly run: (t: Trial) => Promise<void>;
}

export interface CheckGroup {
  readonly name: string;
  readonly checks: readonly Check[];
}

/** Names a check and says how it is made. */
export type DefineCheck = (id: string, rule: string, run: (t: Trial) => Promise<void>) => void;

/** Collects the checks of one group, in order. */
export function checkGroup(name: string, define: (check: DefineCheck) => void): CheckGroup {
  const checks: Check[] = [];
  define((id, rule, run) => checks.push({ id, rule, run }));
  return { name, checks };
}
