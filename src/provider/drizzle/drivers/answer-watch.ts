import type { Logger } from '../../../base/logger.js';
import type { Ms } from '../../provider.js';
import { loginOptions, type PgClient, type PgPool } from './node-postgres-client.js';

/** How long a statement may go unanswered before somebody looks after it. */
export const DEFAULT_ANSWER_TIMEOUT_MS: Ms = 30_000;
/** The longest time to connect for a look. */
const LOOK_TIMEOUT_MS: Ms = 10_000;
/** Behind a pooler nobody can tell whether the server is busy: looks after which it is not waited for. */
const BLIND_LOOKS = 4;

/** `unknown`: a pooler stands between. */
type BackendState = 'busy' | 'waiting' | 'unknown';

/**
 * Finds connections that will never answer: half-open ones, as a firewall or a failed host
 * leaves them. To the operating system they look alive for many minutes, and meanwhile the
 * process would hold its instances, renew their locks and finish nothing.
 *
 * A slow statement must not be taken for a dead connection. So when an answer is late, the
 * server is asked, on a connection of its own, whether it still works at the statement; if
 * it does not, or cannot be asked, the silent connection is closed, and the operation
 * fails as one whose connection was lost.
 */
export class AnswerWatch {
  constructor(
    private readonly pool: PgPool,
    private readonly options: { readonly answerTimeoutMs: Ms; readonly logger: Logger },
  ) {}

  /** A statement was sent; the answer is to be called when the server has answered. */
  begin(client: PgClient): () => void {
    const { answerTimeoutMs } = this.options;
    if (answerTimeoutMs <= 0) return () => {};
    let isAnswered = false;
    let looks = 0;
    const look = async () => {
      const state = await this.stateOf(client);
      looks += 1;
      if (isAnswered) return;
      const isPatient = state === 'busy' || (state === 'unknown' && looks < BLIND_LOOKS);
      if (isPatient) timer = this.later(look);
      else this.giveUp(client);
    };
    let timer = this.later(look);
    return () => {
      isAnswered = true;
      clearTimeout(timer);
    };
  }

  /** The client, with whatever is sent by it watched: for code that is not ours, on a connection that is. */
  watched<Client extends PgClient>(client: Client): Client {
    const query = (...given: [never]): unknown => {
      const answer: unknown = client.query(...given);
      // A promise, or a query object that holds one: our batches.
      const settled = isPromise(answer) ? answer : (given[0] as { outcome?: unknown }).outcome;
      if (isPromise(settled)) {
        const answered = this.begin(client);
        settled.then(answered, answered);
      }
      return answer;
    };
    return new Proxy(client, { get: (target, key) => (key === 'query' ? query : (Reflect.get(target, key) as unknown)) });
  }

  private later(look: () => Promise<void>): NodeJS.Timeout {
    return setTimeout(() => void look(), this.options.answerTimeoutMs).unref();
  }

  private giveUp(client: PgClient): void {
    this.options.logger.warn({}, 'a database connection does not answer although its server is idle: it is closed');
    client.connection?.stream?.destroy(new Error('the server does not answer on this connection'));
  }

  private async stateOf({ processID }: PgClient): Promise<BackendState> {
    const login = { ...loginOptions(this.pool), connectionTimeoutMillis: LOOK_TIMEOUT_MS };
    const probe = new this.pool.Client({ ...login, query_timeout: LOOK_TIMEOUT_MS });
    // An error without a listener would end the process; the query below rejects, too.
    probe.on('error', () => {});
    try {
      await probe.connect();
      // A number of the protocol, never text.
      const { rows } = (await probe.query(
        `select pg_backend_pid() as own, (select state from pg_stat_activity where pid = ${Number(processID ?? 0)}) as state`,
      )) as { rows: { own: number; state: string | null }[] };
      if (rows[0]?.own !== probe.processID) return 'unknown';
      return rows[0]?.state === 'active' ? 'busy' : 'waiting';
    } catch {
      return 'waiting'; // who cannot be reached will not answer either
    } finally {
      // A connection that hangs as well must not be waited for.
      probe.end().catch(() => {});
      if (probe.connection?.stream) setTimeout(() => probe.connection?.stream?.destroy(), 1_000).unref();
    }
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as Partial<Promise<unknown>> | null | undefined)?.then === 'function';
}
