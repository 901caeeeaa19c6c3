import pg from 'pg';

type Query = (...given: unknown[]) => unknown;

/**
 * Watches all clients of node-postgres while `use` runs: none may be handed a query while
 * another of its is under way, which node-postgres deprecates (from the third on it says so).
 * @returns what was handed in too early, and the process warnings
 */
export async function overlappingQueries(use: () => Promise<unknown>): Promise<string[]> {
  const found: string[] = [];
  const prototype = pg.Client.prototype as unknown as { query: Query };
  const { query } = prototype;
  const underWay = new WeakMap<object, number>();
  prototype.query = function (this: object, ...given: unknown[]) {
    const before = underWay.get(this) ?? 0;
    if (before > 0) found.push(`handed in while another is under way: ${textOf(given[0])}`);
    underWay.set(this, before + 1);
    const answer = query.apply(this, given);
    // Our batches are query objects that hold their outcome; whatever else is in use is a promise.
    const settled = (given[0] as { outcome?: Promise<unknown> }).outcome ?? (answer as Promise<unknown>);
    const done = () => void underWay.set(this, (underWay.get(this) ?? 1) - 1);
    settled.then(done, done);
    return answer;
  };
  const warned = (warning: Error) => found.push(warning.message);
  process.on('warning', warned);
  try {
    await use();
    // Warnings are emitted in the tick after.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('warning', warned);
    prototype.query = query;
  }
  return found;
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const { text } = query as { text?: string };
  return text ?? 'a batch';
}
