import { atMost, type Goal } from '../harness/goal.js';
import type { Sample } from './sample.js';

/** After a sixth of the time: 5 minutes of 30. */
function earlyOf(samples: readonly Sample[]): Sample | undefined {
  return samples[Math.floor((samples.length - 1) / 6)];
}

export function heapGoal(samples: readonly Sample[]): Goal {
  const ratio = (samples.at(-1)?.heapMb ?? NaN) / (earlyOf(samples)?.heapMb ?? NaN);
  return atMost('heap at the end, by heap after a sixth of the time', ratio, 1.1);
}

/** What a soak found to grow; empty when all is well. */
export function growthOf(samples: readonly Sample[], inFlight: number): string[] {
  const last = samples.at(-1);
  const early = earlyOf(samples);
  if (!last || !early || samples.length < 6) return ['too few samples: let it run for longer'];
  const problems: string[] = [];
  const limit = (what: string, value: number, most: number) => {
    if (value > most) problems.push(`${what}: ${value}, at most ${Math.round(most * 10) / 10}`);
  };
  limit('heap at the end, MB', last.heapMb, early.heapMb * 1.1);
  limit('handles at the end', last.handles, early.handles + inFlight / 2);
  for (const { atSeconds, queueRows } of samples) limit(`queue rows at ${atSeconds} s`, queueRows, inFlight * 20);
  // Tables have the size that they need between two vacuums once the first one has been.
  const vacuumed = samples.filter(({ autovacuums }) => autovacuums > 0);
  const [first] = vacuumed;
  if (!first) {
    problems.push('autovacuum never came to the queues: let it run for longer');
    return problems;
  }
  const after = vacuumed.slice(0, Math.max(1, Math.floor(vacuumed.length / 3)));
  const sizeThen = Math.max(...after.map(({ queueMb }) => queueMb));
  const deadThen = Math.max(...after.map(({ deadRows }) => deadRows));
  limit('queue tables at the end, MB', last.queueMb, sizeThen * 1.5);
  limit('dead rows at the end', last.deadRows, deadThen * 1.5);
  limit('p50 at the end, ms', last.p50Ms, early.p50Ms * 2);
  return problems;
}
