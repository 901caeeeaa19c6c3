import type pg from 'pg';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { SteppedDriver } from './stepped-driver.js';

/** An operation of one worker, whose statements are let through one at a time. */
export interface Participant {
  readonly stepped: SteppedDriver;
  /** The server process behind its only connection. */
  readonly pid: number;
  start(): Promise<string>;
}

export interface Run {
  /** Which participant moved, step by step. */
  readonly schedule: readonly number[];
  /** What each of them was answered. */
  readonly answers: readonly string[];
  readonly deadlocks: number;
}

interface Moving {
  readonly participant: Participant;
  answer: string | undefined;
  error: unknown;
  isBlocked: boolean;
}

/**
 * Every order in which the server can get the statements of these operations, one after
 * the other: re-executed from the start each time, depth first. One that waits for a row
 * lock of another does not move until it has it.
 * @param prepare puts the tables into the state in which the operations begin
 * @param check is shown each run, and says whether it has seen enough
 */
export async function everyInterleaving(params: {
  readonly admin: pg.ClientBase;
  readonly prepare: () => Promise<readonly Participant[]>;
  readonly check: (run: Run) => Promise<'go on' | 'stop'>;
  /** Statements of one operation that go without a choice between them, to keep the number of runs down. */
  readonly coarse?: boolean | undefined;
  /** Only the first so many orders. */
  readonly maxRuns?: number | undefined;
}): Promise<{ readonly runs: number; readonly steps: number }> {
  let prefix: number[] | undefined = [];
  let runs = 0;
  let steps = 0;
  while (prefix !== undefined && runs < (params.maxRuns ?? Infinity)) {
    const participants = await params.prepare();
    const { choices, run } = await execute(params.admin, participants, prefix, params.coarse === true);
    runs += 1;
    steps += run.schedule.length;
    if ((await params.check(run)) === 'stop') break;
    prefix = nextPrefix(choices);
  }
  return { runs, steps };
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

async function execute(
  admin: pg.ClientBase,
  participants: readonly Participant[],
  prefix: readonly number[],
  coarse: boolean,
): Promise<{ readonly choices: readonly Choice[]; readonly run: Run }> {
  const moving = participants.map((participant): Moving => {
    const one: Moving = { participant, answer: undefined, error: undefined, isBlocked: false };
    participant.start().then(
      (answer) => (one.answer = answer),
      (error: unknown) => (one.error = error ?? new Error('nothing')),
    );
    return one;
  });
  const choices: Choice[] = [];
  try {
    await play(admin, moving, { prefix, coarse, choices });
  } finally {
    // Nobody is left in the middle of a transaction, which would lock the tables for the next run.
    await letGo(moving);
  }
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

async function play(
  admin: pg.ClientBase,
  moving: readonly Moving[],
  {
    prefix,
    coarse,
    choices,
  }: { readonly prefix: readonly number[]; readonly coarse: boolean; readonly choices: Choice[] },
): Promise<void> {
  for (;;) {
    for (const one of moving) await untilStill(admin, one);
    const enabled = moving.flatMap((one, index) => (isEnabled(one) ? [index] : []));
    if (enabled.length === 0) {
      if (moving.every(hasEnded)) return;
      // All wait for each other: the server ends that, and one of them goes on.
      await pause(5);
      continue;
    }
    const chosen = prefix[choices.length] ?? enabled[0];
    if (chosen === undefined || !enabled.includes(chosen))
      throw new Error(`${String(chosen)} cannot move: the same steps led to another state`);
    choices.push({ enabled, chosen });
    const { stepped } = (moving[chosen] as Moving).participant;
    stepped.step();
    // What was issued together and is not the COMMIT follows at once, where that is asked for.
    while (coarse && (await follows(admin, moving[chosen] as Moving))) stepped.step();
  }
}

async function letGo(moving: readonly Moving[]): Promise<void> {
  while (!moving.every(hasEnded)) {
    for (const { participant } of moving) if (participant.stepped.pending > 0) participant.stepped.step();
    await pause(1);
  }
}

async function follows(admin: pg.ClientBase, one: Moving): Promise<boolean> {
  await untilStill(admin, one);
  return isEnabled(one) && one.participant.stepped.pending > 1;
}

function isEnabled(one: Moving): boolean {
  return (
    !hasEnded(one) && !one.isBlocked && one.participant.stepped.inFlight === 0 && one.participant.stepped.pending > 0
  );
}

function hasEnded({ answer, error }: Moving): boolean {
  return answer !== undefined || error !== undefined;
}

/** Until the participant has ended, asks to go on, or waits for a lock. */
async function untilStill(admin: pg.ClientBase, one: Moving): Promise<void> {
  const { stepped, pid } = one.participant;
  for (let looks = 0; ; looks++) {
    one.isBlocked = false;
    if (hasEnded(one) || (stepped.inFlight === 0 && stepped.pending > 0)) return;
    await nextTurn();
    if (stepped.inFlight === 0 || looks % 20 !== 19) continue;
    const { rows } = await admin.query<{ waits: boolean }>('select cardinality(pg_blocking_pids($1)) > 0 as waits', [
      pid,
    ]);
    if (rows[0]?.waits === true && stepped.inFlight > 0) {
      one.isBlocked = true;
      return;
    }
  }
}
