import type { Model } from './explore.js';

/*
 * Turns of one instance: who holds its lock, which messages a turn was given, and what an
 * acknowledgement commits. Time goes in units of half a lock: `left` counts how many of
 * them a lock still lives, and a lock with nothing left has run out.
 */

/** Units that a lock lives. */
export const LOCK_UNITS = 2;

/** Who made a token: a worker's latest fetch, or one that nobody remembers any more. */
export type Owner = number | 'gone';

export interface ModelMessage {
  /** `later`: not sent yet; `waiting`: free or claimed; `done`: consumed by a committed turn. */
  readonly is: 'later' | 'waiting' | 'done';
  /** By whose token it is claimed. */
  readonly by?: Owner | undefined;
  readonly left?: number | undefined;
}

export interface ModelWorker {
  /** Messages that its fetch returned. */
  readonly given: readonly number[];
  /** Units until the moment from which on it may not count on its lock. */
  readonly left: number;
  /** Whether a turn of somebody else was committed since it loaded the history. */
  readonly stale: boolean;
}

export interface InstanceState {
  readonly lock: { readonly by: Owner; readonly left: number } | null;
  readonly messages: readonly ModelMessage[];
  /** `null`: it holds nothing, as far as it knows. */
  readonly workers: readonly (ModelWorker | null)[];
  /** Committed turns, where direct turns are part of it: they go on from a history without any. */
  readonly turns?: number | undefined;
  /** Something that must never happen, and did. */
  readonly broken?: string | undefined;
}

export type InstanceAction =
  | { readonly do: 'fetch' | 'ack' | 'renew' | 'abandon' | 'crash'; readonly worker: number }
  | { readonly do: 'direct'; readonly activity: number }
  | { readonly do: 'send'; readonly message: number }
  | { readonly do: 'time' };

/** What a store may do wrong, to see that the check finds it. */
export type Sabotage = 'ack without fence' | 'fetch takes live locks' | 'renewal revives' | 'ack consumes everything';

export interface InstanceModelOptions {
  readonly workers: number;
  readonly messages: number;
  readonly sabotage?: Sabotage | undefined;
}

export function instanceModel(options: InstanceModelOptions): Model<InstanceState, InstanceAction> {
  const { workers, messages } = options;
  return {
    initial: {
      lock: null,
      messages: Array.from({ length: messages }, () => ({ is: 'later' as const })),
      workers: Array.from({ length: workers }, () => null),
    },
    actions: possibleActions,
    apply: (state, action) => applyInstanceAction(state, action, options.sabotage),
    problemOf,
  };
}

function possibleActions(state: InstanceState): InstanceAction[] {
  const actions: InstanceAction[] = [];
  state.workers.forEach((held, worker) => {
    if (held === null) actions.push({ do: 'fetch', worker });
    else for (const what of ['ack', 'renew', 'abandon', 'crash'] as const) actions.push({ do: what, worker });
  });
  const next = state.messages.findIndex(({ is }) => is === 'later');
  if (next >= 0) actions.push({ do: 'send', message: next });
  actions.push({ do: 'time' });
  return actions;
}

export function applyInstanceAction(
  state: InstanceState,
  action: InstanceAction,
  sabotage?: Sabotage,
): { readonly state: InstanceState; readonly answer: string } {
  switch (action.do) {
    case 'send':
      return {
        state: { ...state, messages: replaced(state.messages, action.message, { is: 'waiting' }) },
        answer: 'sent',
      };
    case 'direct':
      return direct(state);
    case 'time':
      return { state: later(state), answer: 'passed' };
    case 'crash':
      return { state: forgotten(state, action.worker), answer: 'gone' };
    case 'fetch':
      return fetch(state, action.worker, sabotage);
    case 'ack':
      return ack(state, action.worker, sabotage);
    case 'renew':
      return renew(state, action.worker, sabotage);
    case 'abandon':
      return abandon(state, action.worker);
  }
}

function fetch(state: InstanceState, worker: number, sabotage: Sabotage | undefined) {
  const isLocked = state.lock !== null && state.lock.left > 0 && sabotage !== 'fetch takes live locks';
  const takeable = (message: ModelMessage) =>
    message.is === 'waiting' &&
    (message.by === undefined || (message.left ?? 0) === 0 || sabotage === 'fetch takes live locks');
  const given = state.messages.flatMap((message, index) => (takeable(message) ? [index] : []));
  if (isLocked || given.length === 0) return { state, answer: 'nothing' };
  const taken: InstanceState = {
    ...state,
    lock: { by: worker, left: LOCK_UNITS },
    messages: state.messages.map((message, index) =>
      given.includes(index) ? { is: 'waiting', by: worker, left: LOCK_UNITS } : message,
    ),
    workers: replaced(state.workers, worker, { given, left: LOCK_UNITS, stale: false }),
  };
  return { state: taken, answer: `messages ${given.join()}` };
}

function ack(state: InstanceState, worker: number, sabotage: Sabotage | undefined) {
  const held = state.workers[worker] as ModelWorker;
  const owns = state.lock?.by === worker && state.lock.left > 0;
  if (!owns && sabotage !== 'ack without fence') return { state: forgotten(state, worker), answer: 'lost' };
  const consumed = state.messages.flatMap((message, index) =>
    message.is === 'waiting' && (message.by === worker || sabotage === 'ack consumes everything') ? [index] : [],
  );
  const broken = held.stale
    ? 'a turn was committed on a history that somebody else had extended'
    : held.given.some((index) => state.messages[index]?.is === 'done')
      ? 'a message was delivered to two committed turns'
      : consumed.join() !== held.given.join()
        ? 'a committed turn consumed other messages than it was given'
        : undefined;
  const after: InstanceState = {
    ...state,
    lock: owns ? null : state.lock,
    messages: state.messages.map((message, index) => (consumed.includes(index) ? { is: 'done' } : message)),
    workers: state.workers.map((other, index) =>
      index === worker || other === null ? (index === worker ? null : other) : { ...other, stale: true },
    ),
    ...(broken === undefined ? {} : { broken }),
  };
  return { state: withTurn(after), answer: 'ok' };
}

/** A turn that was not fetched, of a worker that has seen no turn of this state and holds an activity. */
function direct(state: InstanceState) {
  const isFree = state.lock === null && state.messages.every(({ is }) => is !== 'waiting');
  if (!isFree || state.turns !== 0) return { state, answer: 'refused' };
  return { state: withTurn(state), answer: 'ok' };
}

function withTurn(state: InstanceState): InstanceState {
  return state.turns === undefined ? state : { ...state, turns: state.turns + 1 };
}

function renew(state: InstanceState, worker: number, sabotage: Sabotage | undefined) {
  const isMine = state.lock?.by === worker;
  const revives = sabotage === 'renewal revives' && state.workers[worker] !== null;
  if (!(isMine && (state.lock?.left ?? 0) > 0) && !revives) return { state: forgotten(state, worker), answer: 'lost' };
  const held = state.workers[worker] as ModelWorker;
  return {
    state: {
      ...state,
      lock: isMine ? { by: worker, left: LOCK_UNITS } : state.lock,
      messages: state.messages.map((message) => (message.by === worker ? { ...message, left: LOCK_UNITS } : message)),
      workers: replaced(state.workers, worker, { ...held, left: LOCK_UNITS }),
    } satisfies InstanceState,
    answer: 'ok',
  };
}

/** Works on a lock that has run out, too, as long as nobody took it (P:T-27). */
function abandon(state: InstanceState, worker: number) {
  if (state.lock?.by !== worker) return { state: forgotten(state, worker), answer: 'lost' };
  return {
    state: forgotten(
      {
        ...state,
        lock: null,
        messages: state.messages.map((message) => (message.by === worker ? { is: 'waiting' as const } : message)),
      },
      worker,
    ),
    answer: 'ok',
  };
}

/** The worker no longer has its token; rows may still carry it. */
function forgotten(state: InstanceState, worker: number): InstanceState {
  const gone = (by: Owner | undefined) => (by === worker ? 'gone' : by);
  return {
    ...state,
    lock: state.lock && { ...state.lock, by: gone(state.lock.by) as Owner },
    messages: state.messages.map((message) => (message.by === worker ? { ...message, by: 'gone' } : message)),
    workers: replaced(state.workers, worker, null),
  };
}

function later(state: InstanceState): InstanceState {
  const less = (left: number) => Math.max(0, left - 1);
  return {
    ...state,
    lock: state.lock && { ...state.lock, left: less(state.lock.left) },
    messages: state.messages.map((message) =>
      message.left === undefined ? message : { ...message, left: less(message.left) },
    ),
    workers: state.workers.map((worker) => worker && { ...worker, left: less(worker.left) }),
  };
}

function problemOf(state: InstanceState): string | undefined {
  if (state.broken !== undefined) return state.broken;
  const believers = state.workers.filter((worker) => worker !== null && worker.left > 0);
  if (believers.length > 1) return 'two workers count on a lock of one instance';
  return stuckOf(state);
}

/** Liveness: when everybody has stopped and the locks have run out, a new worker is given all that is left. */
function stuckOf(state: InstanceState): string | undefined {
  let rest = state;
  state.workers.forEach((_, worker) => (rest = forgotten(rest, worker)));
  for (let unit = 0; unit < LOCK_UNITS; unit++) rest = later(rest);
  const waiting = rest.messages.flatMap(({ is }, index) => (is === 'waiting' ? [index] : []));
  const { answer } = fetch(rest, 0, undefined);
  const expected = waiting.length === 0 ? 'nothing' : `messages ${waiting.join()}`;
  return answer === expected ? undefined : `after everybody stopped a fetch gave ${answer}, expected ${expected}`;
}

function replaced<T>(list: readonly T[], index: number, value: T): T[] {
  return list.map((old, at) => (at === index ? value : old));
}
