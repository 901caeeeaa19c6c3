import type pg from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import { RunStates, type StateQueries, type Stepped } from './database-state.js';

/** An operation of one worker, whose statements are let through one at a time. */
export interface Participant extends Stepped {
  start(): Promise<string>;
}

export interface Run {
  /** Which participant moved, step by step. */
  readonly schedule: readonly number[];
  /** What each of them was answered. */
  readonly answers: readonly string[];
  readonly deadlocks: number;
}

export interface Interleavings {
  /** Executions from the start, those given up included. */
  readonly runs: number;
  /** Runs that came to an end that had not been seen. */
  readonly ends: number;
  /** Different moments at which there was a choice, or an end; absent when they were not told apart. */
  readonly states: number | undefined;
  /** Statements that were let through. */
  readonly steps: number;
}

interface Moving {
  readonly participant: Participant;
  answer: string | undefined;
  error: unknown;
  isBlocked: boolean;
  readonly end: Promise<void>;
}

/**
 * Every order in which the server can get the statements of these operations, one after
 * the other: re-executed from the start each time, depth first. One that waits for a row
 * lock of another does not move until it has it.
 *
 * With `queries` states are told apart, and a run that comes to one that was met before is
 * given up there: whatever can follow has been tried, or will be when the search returns
 * to it. All ends are still found, because every choice in every state is tried once.
 * @param prepare puts the tables into the state in which the operations begin
 * @param check is shown the end of each run, and says whether it has seen enough
 */
export async function everyInterleaving(params: {
  readonly admin: pg.ClientBase;
  readonly prepare: () => Promise<readonly Participant[]>;
  readonly check: (run: Run) => Promise<'go on' | 'stop'>;
  readonly queries?: StateQueries | undefined;
}): Promise<Interleavings> {
  const { admin, queries } = params;
  const met = new Set<string>();
  let prefix: number[] | undefined = [];
  let [runs, ends, steps] = [0, 0, 0];
  while (prefix !== undefined) {
    const participants = await params.prepare();
    const states = queries && { met, names: new RunStates(admin, queries, participants) };
    const { choices, run } = await execute(admin, participants, { prefix, states });
    runs += 1;
    steps += choices.length;
    if (run !== undefined) {
      ends += 1;
      if ((await params.check(run)) === 'stop') break;
    }
    prefix = nextPrefix(choices);
  }
  return { runs, ends, states: queries && met.size, steps };
}

interface Choice {
  readonly enabled: readonly number[];
  readonly chosen: number;
}

function nextPrefix(choices: readonly Choice[]): number[] | undefined {
  for (let at = choices.length - 1; at >= 0; at--) {
    const { enabled, chosen } = choices[at] as Choice;
    const other = enabled[enabled.indexOf(chosen) + 1];
    if (other !== undefined) return [...choices.slice(0, at).map((choice) => choice.chosen), other];
  }
  return undefined;
}

interface Play {
  readonly prefix: readonly number[];
  readonly states: { readonly met: Set<string>; readonly names: RunStates } | undefined;
}

/** @returns no run when it came to a state that was met before */
async function execute(
  admin: pg.ClientBase,
  participants: readonly Participant[],
  how: Play,
): Promise<{ readonly choices: readonly Choice[]; readonly run: Run | undefined }> {
  const moving = participants.map(begin);
  const choices: Choice[] = [];
  let isNew: boolean;
  try {
    isNew = await play(admin, moving, choices, how);
  } finally {
    // Nobody is left in the middle of a transaction, which would lock the tables for the next run.
    for (const { stepped } of participants) stepped.giveUp();
    await Promise.all(moving.map(({ end }) => end));
  }
  if (!isNew) return { choices, run: undefined };
  const failed = moving.find(({ error }) => error !== undefined);
  if (failed) throw failed.error;
  return {
    choices,
    run: {
      schedule: choices.map(({ chosen }) => chosen),
      answers: moving.map(({ answer }) => answer ?? ''),
      deadlocks: participants.reduce((sum, { stepped }) => sum + stepped.deadlocks, 0),
    },
  };
}

function begin(participant: Participant): Moving {
  participant.stepped.reset();
  const one: { -readonly [K in keyof Moving]: Moving[K] } = {
    participant,
    answer: undefined,
    error: undefined,
    isBlocked: false,
    end: Promise.resolve(),
  };
  one.end = participant.start().then(
    (answer) => void (one.answer = answer),
    (error: unknown) => void (one.error = error ?? new Error('nothing')),
  );
  return one;
}

/** @returns whether it came to an end that was not met before */
async function play(
  admin: pg.ClientBase,
  moving: readonly Moving[],
  choices: Choice[],
  { prefix, states }: Play,
): Promise<boolean> {
  for (;;) {
    await untilAllStill(admin, moving);
    const enabled = moving.flatMap((one, index) => (isEnabled(one) ? [index] : []));
    const haveEnded = moving.every(hasEnded);
    if (enabled.length === 0 && !haveEnded) {
      // All wait for each other: the server ends that, and one of them goes on.
      await pause(5);
      continue;
    }
    if (states) {
      const name = await states.names.name(
        moving.map(({ isBlocked }) => isBlocked),
        moving.map(({ answer }) => answer),
      );
      // On the way to where this run leaves the ones before it, everything was met.
      if (choices.length >= prefix.length) {
        if (states.met.has(name)) return false;
        states.met.add(name);
      }
    }
    if (haveEnded) return true;
    const chosen = prefix[choices.length] ?? enabled[0];
    if (chosen === undefined || !enabled.includes(chosen))
      throw new Error(`${String(chosen)} cannot move: the same steps led to another state`);
    choices.push({ enabled, chosen });
    (moving[chosen] as Moving).participant.stepped.step();
  }
}

function isEnabled(one: Moving): boolean {
  return (
    !hasEnded(one) && !one.isBlocked && one.participant.stepped.inFlight === 0 && one.participant.stepped.pending > 0
  );
}

function hasEnded({ answer, error }: Moving): boolean {
  return answer !== undefined || error !== undefined;
}

/** How long a statement may take before the server is asked whether it waits, in ms. */
const LOOK_AFTER_MS = 2;

/** One that waits may go on because of what another one did after it was looked at: until a look shows nothing new. */
async function untilAllStill(admin: pg.ClientBase, moving: readonly Moving[]): Promise<void> {
  for (const one of moving) await untilStill(admin, one);
  for (let waited = -1, waiting = moving.filter(({ isBlocked }) => isBlocked); waiting.length !== waited;) {
    waited = waiting.length;
    for (const one of waiting) await untilStill(admin, one);
    waiting = waiting.filter(({ isBlocked }) => isBlocked);
  }
}

/** After a failure: until the server has ended the transaction, or what it has left of it. */
async function untilLocksAreFree(admin: pg.ClientBase, { participant: { stepped, pid } }: Moving): Promise<void> {
  while (stepped.isFailing) {
    const { rows } = await admin.query<{ isBusy: boolean }>({
      name: 'is busy',
      text: `select state = 'active' as "isBusy" from pg_stat_activity where pid = $1`,
      values: [pid],
    });
    stepped.isFailing = rows[0]?.isBusy === true;
  }
}

/** Until the participant has ended, asks to go on, or waits for a lock. */
async function untilStill(admin: pg.ClientBase, one: Moving): Promise<void> {
  const { stepped, pid } = one.participant;
  let mayWait = one.isBlocked;
  one.isBlocked = false;
  for (;;) {
    if (hasEnded(one) || (stepped.inFlight === 0 && stepped.pending > 0)) return untilLocksAreFree(admin, one);
    if (mayWait && stepped.inFlight > 0) {
      const { rows } = await admin.query<{ waits: boolean }>({
        name: 'waits',
        text: 'select cardinality(pg_blocking_pids($1)) > 0 as waits',
        values: [pid],
      });
      if (rows[0]?.waits === true && stepped.inFlight > 0) {
        one.isBlocked = true;
        return;
      }
    }
    mayWait = (await Promise.race([stepped.changed(), one.end, pause(LOOK_AFTER_MS, 'late')])) === 'late';
  }
}
