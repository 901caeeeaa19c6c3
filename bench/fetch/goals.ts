import { atLeast, type Goal } from '../harness/goal.js';
import type { Cell } from './cell.js';

/** The backlog that the reference figures were measured with. */
const BACKLOG = 3_000;

/** What the figures should reach; only of the settings that were run, and only beside native where it is asked for. */
export function goalsOf(cells: readonly Cell[]): Goal[] {
  const direct = cells.filter(({ backlog, delayMs }) => backlog === BACKLOG && delayMs === 0);
  return [...direct.flatMap(besideNative), ...atManyFetchers(direct)];
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

/** Sixteen fetchers by the best number of fetchers, in batches. */
function atManyFetchers(cells: readonly Cell[]): Goal[] {
  return cells
    .filter(
      ({ mode, fetchers, contestant }) => mode === 'fetch' && fetchers === 16 && /limit (10|50)$/.test(contestant),
    )
    .flatMap((cell) => {
      const alike = cells.filter(
        ({ mode, contestant, versionFilter }) =>
          mode === cell.mode && contestant === cell.contestant && versionFilter === cell.versionFilter,
      );
      if (alike.length < 2) return [];
      const best = Math.max(...alike.map(({ itemsPerSecond }) => itemsPerSecond));
      return [atLeast(`${titleOf(cell)}, of the best number of fetchers`, cell.itemsPerSecond / best, 0.8)];
    });
}

function titleOf({ mode, fetchers, versionFilter, contestant }: Cell): string {
  return `${mode}, ${contestant}, ${fetchers} fetchers${versionFilter ? ', version filter' : ''}`;
}
