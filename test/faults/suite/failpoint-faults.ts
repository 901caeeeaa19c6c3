import type { FailpointProxy, SeenStatement } from '../../support/failpoints.js';
import type { Counts } from './counts.js';
import { pause, type Random } from './random.js';
import type { Slot, World } from './world.js';

/** What is done when a failpoint is reached; the weights say how often. */
const ACTIONS = [
  ['cut', 12],
  ['lost commit', 4],
  ['stall', 1],
  ['kill', 2],
] as const;
type Action = (typeof ACTIONS)[number][0];

/** How long the least-met statement is waited for, before any will do. */
const PICKY_MS = 120;
/** How long a failpoint waits for any statement at all. */
const PATIENCE_MS = 2_000;

export interface FailpointFaults {
  readonly world: World;
  readonly counts: Counts;
  readonly random: Random;
  /** Mean pause between two faults of one process, in ms. */
  readonly meanPauseMs: number;
  readonly mayGoOn: () => boolean;
}

/** Meets one process, again and again, before or after a statement: the one that was met least so far. */
export async function meetWorker(params: FailpointFaults, slot: Slot): Promise<void> {
  const { world, counts, random, mayGoOn } = params;
  while (mayGoOn()) {
    await pause(random.exponential(params.meanPauseMs));
    const action = random.weighted(ACTIONS);
    const met = await meet(params, slot.proxy, action);
    if (met) {
      count(counts, `${action} ${met.when === 'before' ? 'before' : 'after'} a statement of a worker`);
      if (action === 'stall') await pause(random.between(50, 900));
      if (action === 'kill') {
        await slot.process.kill();
        slot.proxy.cut();
        world.respawn(slot);
        await slot.process.ready;
        continue;
      }
    }
    slot.proxy.cut();
  }
}

/** The same for the calls of clients, which cannot be killed. */
export async function meetClients(params: FailpointFaults): Promise<void> {
  const { world, counts, random, mayGoOn } = params;
  while (mayGoOn()) {
    // Each of them ends all calls that are under way.
    await pause(random.exponential(params.meanPauseMs * 6));
    const action = random.weighted([ACTIONS[0], ACTIONS[1]]);
    const met = await meet(params, world.clientProxy, action);
    if (met) count(counts, `${action} ${met.when} a statement of a client`);
    world.clientProxy.cut();
  }
}

interface Met {
  readonly when: 'before' | 'after';
  readonly statement: SeenStatement;
}

async function meet(
  { counts, random }: FailpointFaults,
  proxy: FailpointProxy,
  action: Action,
): Promise<Met | undefined> {
  const when = action === 'lost commit' ? 'after' : random.pick(['before', 'after'] as const);
  const table = action === 'lost commit' ? counts.commits : counts.statements;
  const isPickyUntilMs = performance.now() + PICKY_MS;
  const few = lowerQuartile(Object.values(table).map((met) => met[when]));
  // What a COMMIT ends is known by the statement before it.
  const latest = new Map<number, string>();
  let name = '';
  proxy.watch();
  const reached = proxy.arm({
    when,
    at: ({ text, connection }) => {
      const before = latest.get(connection);
      latest.set(connection, text);
      const isCommit = /^commit$/i.test(text);
      if (action === 'lost commit' && !(isCommit && before !== undefined)) return false;
      name = nameOf(action === 'lost commit' ? (before ?? '') : text);
      // Of all that was ever seen, so that what is rare has its turn when it comes.
      const met = (table[name] ??= { before: 0, after: 0 });
      return met[when] <= few || performance.now() > isPickyUntilMs;
    },
  });
  const statement = await Promise.race([reached, pause(PATIENCE_MS)]);
  if (!statement) return undefined;
  const met = (table[name] ??= { before: 0, after: 0 });
  met[when] += 1;
  return { when, statement };
}

function lowerQuartile(counts: readonly number[]): number {
  return counts.toSorted((a, b) => a - b)[Math.floor(counts.length / 4)] ?? 0;
}

/** Statements of all rounds are the same but for their schema and the numbers in them. */
function nameOf(text: string): string {
  return text
    .replace(/"f_[0-9a-f]+(_app)?"/g, 's')
    .replace(/f_[0-9a-f]{10}/g, 's')
    .replace(/\s+/g, ' ')
    .slice(0, 160);
}

export function count(counts: Counts, fault: string): void {
  counts.faults[fault] = (counts.faults[fault] ?? 0) + 1;
}
