import { streamSSE } from 'hono/streaming';
import type { DashboardApp, DashboardContext } from '../context.js';
import { InstanceTopic } from '../live/instance-topic.js';
import { ListTopic } from '../live/list-topic.js';
import { OverviewTopic } from '../live/overview-topic.js';
import { QueuesTopic } from '../live/queues-topic.js';
import { SchedulesTopic } from '../live/schedules-topic.js';
import type { Topic } from '../live/topic.js';
import { QueryReader } from './decode.js';
import { Problem } from './problem.js';
import { LIST_PARAMETERS, pageQuery } from './reads.js';

/** Streams that may be open at once; each is a browser tab. */
const MAX_STREAMS = 200;
/** A sign of life for proxies that cut silent connections, in ms. */
const BREATH_MS = 20_000;
/** Messages that a reader may be behind; then it is cut off, and comes again. */
const MAX_BEHIND = 200;

/** Server-sent events: what a page shows, as it changes. All of them feed on one poll. */
export function addLive(app: DashboardApp, context: DashboardContext): void {
  const { options, client, overview, reader, poll, closing } = context;
  const { provider, clock } = options;
  let open = 0;

  app.get('/api/live/overview', (c) => {
    new QueryReader(c.req.url, []);
    return stream(c, 'overview', () => new OverviewTopic(overview));
  });
  app.get('/api/live/instances', (c) => {
    const query = pageQuery(new QueryReader(c.req.url, LIST_PARAMETERS));
    return stream(c, `list ${JSON.stringify(query)}`, () => new ListTopic(provider, clock, query));
  });
  app.get('/api/live/schedules', (c) => {
    new QueryReader(c.req.url, []);
    return stream(c, 'schedules', () => new SchedulesTopic(client, provider, clock));
  });
  app.get('/api/live/queues', (c) => {
    new QueryReader(c.req.url, []);
    return stream(c, 'queues', () => new QueuesTopic(provider, clock));
  });
  app.get('/api/live/instance', (c) => {
    const id = new QueryReader(c.req.url, ['id']).required('id');
    return stream(c, `instance ${id}`, () => new InstanceTopic(id, provider, reader, clock));
  });

  function stream(c: Parameters<typeof streamSSE>[0], key: string, create: () => Topic): Response {
    // A HEAD comes to the route of the GET, but nobody would ever read what is sent, or end it.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' });
    if (open >= MAX_STREAMS) {
      throw new Problem(503, 'too_many_pages', `More than ${MAX_STREAMS} pages are open; close some.`);
    }
    return streamSSE(
      c,
      async (sse) => {
        open++;
        const inbox = new Inbox();
        const stop = poll.watch(key, create, (name, data) => inbox.put({ event: name, data: JSON.stringify(data) }));
        const end = () => inbox.end();
        sse.onAbort(end);
        closing.addEventListener('abort', end);
        const breath = setInterval(() => inbox.put(undefined), BREATH_MS);
        breath.unref();
        try {
          if (closing.aborted) return;
          await sse.write(': open\n\n');
          for (;;) {
            const batch = await inbox.take();
            if (batch === undefined) return;
            for (const message of batch) {
              if (message) await sse.writeSSE(message);
              else await sse.write(': still here\n\n');
            }
          }
        } finally {
          open--;
          clearInterval(breath);
          closing.removeEventListener('abort', end);
          stop();
        }
      },
      async (error) => options.logger.warn({ error }, 'dashboard: a stream broke off'),
    );
  }
}

type Message = { readonly event: string; readonly data: string } | undefined;

/** Messages on their way to one reader. */
class Inbox {
  private waiting: Message[] = [];
  private ended = false;
  private wake: (() => void) | undefined;

  put(message: Message): void {
    if (this.waiting.length >= MAX_BEHIND) return this.end();
    this.waiting.push(message);
    this.wake?.();
  }

  end(): void {
    this.ended = true;
    this.wake?.();
  }

  /** What came since the last call, as soon as there is something; `undefined` at the end. */
  async take(): Promise<readonly Message[] | undefined> {
    if (this.waiting.length === 0 && !this.ended) await new Promise<void>((resolve) => (this.wake = resolve));
    this.wake = undefined;
    if (this.ended) return undefined;
    return this.waiting.splice(0);
  }
}
