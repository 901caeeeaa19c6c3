import type { Model } from './explore.js';
import { LOCK_UNITS, type Owner } from './instance-model.js';

/* Activities in the worker queue: who runs them, and how often their completion is recorded. */

export interface ModelRow {
  /** `later`: not scheduled yet; `done`: removed by an acknowledgement; `cancelled`: removed by a turn. */
  readonly is: 'later' | 'waiting' | 'done' | 'cancelled';
  readonly by?: Owner | undefined;
  readonly left?: number | undefined;
}

export interface WorkState {
  readonly rows: readonly ModelRow[];
  /** The row that a worker runs, and for how long it may count on it. */
  readonly workers: readonly ({ readonly row: number; readonly left: number } | null)[];
  readonly broken?: string | undefined;
}

export type WorkAction =
  | { readonly do: 'fetch' | 'ack' | 'renew' | 'abandon' | 'crash'; readonly worker: number }
  | { readonly do: 'schedule' | 'cancel'; readonly row: number }
  | { readonly do: 'time' };

export type WorkSabotage = 'ack without expiry' | 'fetch takes live locks' | 'renewal revives';

export function workModel(options: {
  readonly workers: number;
  readonly rows: number;
  readonly sabotage?: WorkSabotage | undefined;
}): Model<WorkState, WorkAction> {
  return {
    initial: {
      rows: Array.from({ length: options.rows }, () => ({ is: 'later' as const })),
      workers: Array.from({ length: options.workers }, () => null),
    },
    actions: possibleActions,
    apply: (state, action) => applyWorkAction(state, action, options.sabotage),
    problemOf,
  };
}

function possibleActions(state: WorkState): WorkAction[] {
  const actions: WorkAction[] = [];
  state.workers.forEach((held, worker) => {
    if (held === null) actions.push({ do: 'fetch', worker });
    else for (const what of ['ack', 'renew', 'abandon', 'crash'] as const) actions.push({ do: what, worker });
  });
  state.rows.forEach(({ is }, row) => {
    if (is === 'waiting') actions.push({ do: 'cancel', row });
  });
  const next = state.rows.findIndex(({ is }) => is === 'later');
  if (next >= 0) actions.push({ do: 'schedule', row: next });
  actions.push({ do: 'time' });
  return actions;
}

export function applyWorkAction(
  state: WorkState,
  action: WorkAction,
  sabotage?: WorkSabotage,
): { readonly state: WorkState; readonly answer: string } {
  switch (action.do) {
    case 'schedule':
      return { state: withRow(state, action.row, { is: 'waiting' }), answer: 'scheduled' };
    case 'cancel':
      return { state: withRow(state, action.row, { is: 'cancelled' }), answer: 'cancelled' };
    case 'time':
      return { state: later(state), answer: 'passed' };
    case 'crash':
      return { state: forgotten(state, action.worker), answer: 'gone' };
    case 'fetch': {
      const row = state.rows.findIndex(
        ({ is, by, left = 0 }) =>
          is === 'waiting' && (by === undefined || left === 0 || sabotage === 'fetch takes live locks'),
      );
      if (row < 0) return { state, answer: 'nothing' };
      const taken = withRow(state, row, { is: 'waiting', by: action.worker, left: LOCK_UNITS });
      return { state: withWorker(taken, action.worker, { row, left: LOCK_UNITS }), answer: `row ${row}` };
    }
    default:
      return settle(state, action as { do: 'ack' | 'renew' | 'abandon'; worker: number }, sabotage);
  }
}

function settle(
  state: WorkState,
  action: { readonly do: 'ack' | 'renew' | 'abandon'; readonly worker: number },
  sabotage: WorkSabotage | undefined,
) {
  const { worker } = action;
  const held = state.workers[worker] as { row: number; left: number };
  const row = state.rows[held.row] as ModelRow;
  const isMine = row.is === 'waiting' && row.by === worker;
  const isLive = isMine && (row.left ?? 0) > 0;
  const lost = { state: forgotten(state, worker), answer: 'lost' };
  switch (action.do) {
    case 'ack': {
      if (!isLive && !(sabotage === 'ack without expiry' && row.is !== 'cancelled')) return lost;
      const acked = forgotten(withRow(state, held.row, { is: 'done' }), worker);
      const broken =
        row.is === 'done'
          ? 'an activity was completed twice'
          : isLive
            ? undefined
            : 'a fence was passed with a lost lock';
      return { state: broken === undefined ? acked : { ...acked, broken }, answer: 'ok' };
    }
    case 'renew': {
      if (!isLive && !(sabotage === 'renewal revives' && row.is === 'waiting')) return lost;
      const renewed = withRow(state, held.row, isMine ? { ...row, left: LOCK_UNITS } : row);
      return { state: withWorker(renewed, worker, { ...held, left: LOCK_UNITS }), answer: 'ok' };
    }
    case 'abandon': {
      if (!isMine) return lost;
      return { state: forgotten(withRow(state, held.row, { is: 'waiting' }), worker), answer: 'ok' };
    }
  }
}

function forgotten(state: WorkState, worker: number): WorkState {
  return withWorker(
    { ...state, rows: state.rows.map((row) => (row.by === worker ? { ...row, by: 'gone' as const } : row)) },
    worker,
    null,
  );
}

function withRow(state: WorkState, index: number, row: ModelRow): WorkState {
  return { ...state, rows: state.rows.map((old, at) => (at === index ? row : old)) };
}

function withWorker(state: WorkState, index: number, worker: WorkState['workers'][number]): WorkState {
  return { ...state, workers: state.workers.map((old, at) => (at === index ? worker : old)) };
}

function later(state: WorkState): WorkState {
  const less = (left: number) => Math.max(0, left - 1);
  return {
    ...state,
    rows: state.rows.map((row) => (row.left === undefined ? row : { ...row, left: less(row.left) })),
    workers: state.workers.map((worker) => worker && { ...worker, left: less(worker.left) }),
  };
}

function problemOf(state: WorkState): string | undefined {
  if (state.broken !== undefined) return state.broken;
  const running = state.workers.flatMap((worker) => (worker !== null && worker.left > 0 ? [worker.row] : []));
  // A cancelled row is nobody's; who ran it learns that at its next renewal.
  const contended = running.filter((row) => state.rows[row]?.is === 'waiting');
  if (new Set(contended).size < contended.length) return 'two workers count on the lock of one activity';
  let rest = state;
  state.workers.forEach((_, worker) => (rest = forgotten(rest, worker)));
  for (let unit = 0; unit < LOCK_UNITS; unit++) rest = later(rest);
  const first = rest.rows.findIndex(({ is }) => is === 'waiting');
  const { answer } = applyWorkAction(rest, { do: 'fetch', worker: 0 });
  return answer === (first < 0 ? 'nothing' : `row ${first}`)
    ? undefined
    : `after everybody stopped a fetch gave ${answer}`;
}
