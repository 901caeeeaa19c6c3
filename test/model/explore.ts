/** A protocol as states and what may happen in them. States are plain data; equal JSON is the same state. */
export interface Model<State, Action> {
  readonly initial: State;
  actions(state: State): readonly Action[];
  /** What an action leads to, and what its caller is told. Must not change `state`. */
  apply(state: State, action: Action): { readonly state: State; readonly answer: string };
  /** What is wrong with a state in itself. */
  problemOf(state: State): string | undefined;
}

export interface Step<State, Action> {
  readonly from: State;
  readonly action: Action;
  readonly to: State;
  readonly answer: string;
}

export interface Exploration<State, Action> {
  readonly states: number;
  readonly transitions: number;
  /** Longest of the shortest ways to a state. */
  readonly depth: number;
  /** How a violation comes about; absent when there is none. */
  readonly counterexample?: { readonly problem: string; readonly path: readonly string[] } | undefined;
  readonly all: ReadonlyMap<string, State>;
  readonly steps: readonly Step<State, Action>[];
}

/** Visits every reachable state, breadth first, so that a counterexample is a shortest one. */
export function explore<State, Action>(
  model: Model<State, Action>,
  { keepSteps = false, maxStates = 5_000_000 }: { readonly keepSteps?: boolean; readonly maxStates?: number } = {},
): Exploration<State, Action> {
  const first = JSON.stringify(model.initial);
  const all = new Map<string, State>([[first, model.initial]]);
  const cameFrom = new Map<string, { readonly key: string; readonly action: string }>();
  const steps: Step<State, Action>[] = [];
  let frontier = [first];
  let transitions = 0;
  let depth = 0;
  const result = (problem?: string, key?: string): Exploration<State, Action> => ({
    states: all.size,
    transitions,
    depth,
    all,
    steps,
    counterexample: problem === undefined || key === undefined ? undefined : { problem, path: pathTo(cameFrom, key) },
  });

  const wrong = model.problemOf(model.initial);
  if (wrong !== undefined) return result(wrong, first);
  for (; frontier.length > 0; depth++) {
    const next: string[] = [];
    for (const key of frontier) {
      const from = all.get(key) as State;
      for (const action of model.actions(from)) {
        const { state: to, answer } = model.apply(from, action);
        transitions += 1;
        if (keepSteps) steps.push({ from, action, to, answer });
        const toKey = JSON.stringify(to);
        if (all.has(toKey)) continue;
        all.set(toKey, to);
        cameFrom.set(toKey, { key, action: `${JSON.stringify(action)} → ${answer}` });
        const problem = model.problemOf(to);
        if (problem !== undefined) return result(problem, toKey);
        if (all.size > maxStates) throw new Error(`more than ${maxStates} states`);
        next.push(toKey);
      }
    }
    frontier = next;
  }
  return result();
}

function pathTo(
  cameFrom: ReadonlyMap<string, { readonly key: string; readonly action: string }>,
  to: string,
): string[] {
  const path: string[] = [];
  for (let at = cameFrom.get(to); at; at = cameFrom.get(at.key)) path.unshift(at.action);
  return path;
}
