import { atLeast, type Goal } from '../harness/goal.js';
import type { Cell } from './cell.js';

/** The backlog that the reference figures were measured with. */
const BACKLOG = 3_000;

/** What the figures should reach; only of the settings that were run, and only beside native where it is asked for. */
export function goalsOf(cells: readonly Cell[]): Goal[] {
  const direct = cells.filter(({ backlog, delayMs }) => backlog === BACKLOG && delayMs === 0);
  return direct.flatMap(besideNative);
}

function besideNative(cell: Cell): Goal[] {
  const limit = limitBesideNative(cell);
  if (limit === undefined || cell.ofNative === undefined) return [];
  return [atLeast(`${titleOf(cell)}, of native`, cell.ofNative, limit)];
}

function limitBesideNative({ contestant, mode, fetchers, versionFilter }: Cell): number | undefined {
  if (contestant === 'our function') return 1;
  const isAlone = fetchers === 1;
  if (mode === 'fetch + ack') {
    if (contestant !== 'DrizzleProvider, limit 1' || fetchers === 4) return undefined;
    return isAlone ? 0.7 : 1;
  }
  if (contestant === 'DrizzleProvider, limit 1') return 1;
  if (contestant !== 'DrizzleProvider, limit 50') return undefined;
  if (versionFilter) return 30;
  return isAlone ? 12 : fetchers === 16 ? 20 : undefined;
}

function titleOf({ mode, fetchers, versionFilter, contestant }: Cell): string {
  return `${mode}, ${contestant}, ${fetchers} fetchers${versionFilter ? ', version filter' : ''}`;
}
