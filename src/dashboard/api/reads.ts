import type { Context } from 'hono';
import { PACKAGE_VERSION } from '../../base/package-version.js';
import type { InstancePageQuery } from '../../provider/instance-pages.js';
import { MAX_PAGE_LIMIT } from '../../provider/instance-pages.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { DashboardApp, DashboardContext } from '../context.js';
import { payloadOf } from '../model/event-view.js';
import { historyView } from '../model/history-model.js';
import { pageView } from '../model/instance-row.js';
import { retryView } from '../model/retry-view.js';
import { readQueues } from '../model/queue-rows.js';
import { readSchedules } from '../model/schedule-rows.js';
import type {
  HistoryView,
  InstancePageView,
  InstanceView,
  QueuesView,
  RetryView,
  SchedulesView,
  SessionView,
} from '../views.js';
import { QueryReader } from './decode.js';
import { Problem } from './problem.js';

const DEFAULT_PAGE = 50;
const DEFAULT_EVENTS = 200;
const MAX_EVENTS = 1_000;
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
/** Readings that one request for a page may cost where matches are far apart; the page goes on from there. */
const MAX_STEPS = 10;

export const STATUSES = ['Running', 'Completed', 'Failed', 'ContinuedAsNew'] as const;
export const LIST_PARAMETERS: readonly string[] = [
  'status',
  'name',
  'parent',
  'roots',
  'id',
  'customStatus',
  'createdAfter',
  'createdBefore',
  'updatedAfter',
  'updatedBefore',
  'after',
  'limit',
];

/** What may be read. Ids are parameters, not parts of the path: they may hold anything. */
export function addReads(app: DashboardApp, { options, client, overview, reader }: DashboardContext): void {
  const { provider } = options;
  const admin = () => provider.asManagement();

  app.get('/api/session', (c) =>
    c.json({
      access: c.get('access'),
      version: PACKAGE_VERSION,
      store: provider.name(),
      nowMs: provider.nowMs(),
    } satisfies SessionView),
  );
  app.get('/api/overview', async (c) => c.json(await overview.view()));
  app.get('/api/schedules', async (c) => {
    new QueryReader(c.req.url, []);
    const schedules = await readSchedules(client);
    return c.json({ nowMs: provider.nowMs(), schedules } satisfies SchedulesView);
  });
  app.get('/api/queues', async (c) => {
    new QueryReader(c.req.url, []);
    const queues = await readQueues(provider);
    return c.json({ nowMs: provider.nowMs(), queues } satisfies QueuesView);
  });

  app.get('/api/instances', async (c) => {
    const query = pageQuery(new QueryReader(c.req.url, LIST_PARAMETERS));
    return c.json(await fullPage(query));
  });
  app.get('/api/instance', async (c) => {
    const id = new QueryReader(c.req.url, ['id']).required('id');
    return c.json((await reader.view(id)) satisfies InstanceView);
  });
  app.get('/api/children', async (c) => {
    const query = new QueryReader(c.req.url, ['id', 'after']);
    return c.json(await reader.children(query.required('id'), query.text('after')));
  });
  app.get('/api/history', async (c) => {
    const query = new QueryReader(c.req.url, ['id', 'execution', 'after', 'before', 'limit']);
    const { executionId, events } = await history(query);
    const view = historyView(executionId, events, {
      after: query.integer('after', { min: 0, max: MAX_INTEGER }),
      before: query.integer('before', { min: 1, max: MAX_INTEGER }),
      limit: query.integer('limit', { min: 1, max: MAX_EVENTS }) ?? DEFAULT_EVENTS,
    });
    return c.json(view satisfies HistoryView);
  });
  app.get('/api/payload', async (c) => {
    const query = new QueryReader(c.req.url, ['id', 'execution', 'event', 'field']);
    const eventId = query.integer('event', { min: 0, max: MAX_INTEGER });
    const field = query.required('field');
    const { events } = await history(query);
    const event = events.find((candidate) => candidate.eventId === eventId);
    const text = event && payloadOf(event, field);
    if (text === undefined)
      throw new Problem(404, 'not_found', `No payload '${field}' in event ${eventId ?? '(none)'}.`);
    return download(c, `event-${eventId}-${field}`, text);
  });
  app.get('/api/retry', async (c) => {
    const id = new QueryReader(c.req.url, ['id']).required('id');
    return c.json(retryView(await admin().readHistory(id)) satisfies RetryView);
  });
  app.get('/api/value', async (c) => {
    const query = new QueryReader(c.req.url, ['id', 'key']);
    const value = await provider.getKvValue(query.required('id'), query.required('key'));
    if (value === null) throw new Problem(404, 'not_found', `No value of key '${query.required('key')}'.`);
    return download(c, 'value', value);
  });
  app.get('/api/output', async (c) => {
    const { output } = await admin().getInstanceInfo(new QueryReader(c.req.url, ['id']).required('id'));
    if (output === null) throw new Problem(404, 'not_found', 'The instance has no output.');
    return download(c, 'output', output);
  });

  /** One reading is bounded and may find too few; some more, so that a page is a page. */
  async function fullPage(query: InstancePageQuery): Promise<InstancePageView> {
    const rows: InstancePageView['rows'][number][] = [];
    let after = query.after;
    for (let step = 0; ; step++) {
      const page = pageView(await admin().listInstancesPage({ ...query, after, limit: query.limit - rows.length }));
      rows.push(...page.rows);
      if (page.next === null || rows.length >= query.limit || step >= MAX_STEPS) return { rows, next: page.next };
      after = page.next;
    }
  }

  async function history(query: QueryReader): Promise<{ executionId: number; events: readonly HistoryEvent[] }> {
    const id = query.required('id');
    const executionId =
      query.integer('execution', { min: 1, max: MAX_INTEGER }) ?? (await admin().latestExecutionId(id));
    const events = await admin().readHistoryWithExecutionId(id, executionId);
    if (events.length === 0) throw new Problem(404, 'not_found', `Instance '${id}' has no execution ${executionId}.`);
    return { executionId, events };
  }
}

/** @throws Problem for a parameter that does not fit */
export function pageQuery(query: QueryReader): InstancePageQuery {
  const moment = (name: string) => query.integer(name, { min: 0, max: MAX_INTEGER });
  return {
    status: query.oneOf('status', STATUSES),
    name: query.text('name'),
    parent: query.oneOf('roots', ['true']) ? null : query.text('parent'),
    idPrefix: query.text('id'),
    customStatusPrefix: query.text('customStatus'),
    createdAfterMs: moment('createdAfter'),
    createdBeforeMs: moment('createdBefore'),
    updatedAfterMs: moment('updatedAfter'),
    updatedBeforeMs: moment('updatedBefore'),
    after: query.text('after'),
    limit: query.integer('limit', { min: 1, max: MAX_PAGE_LIMIT }) ?? DEFAULT_PAGE,
  };
}

/** Never shown by the browser: what a user's program wrote is saved as a file. */
function download(c: Context, name: string, text: string): Response {
  return c.body(text, 200, {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${name}.json"`,
  });
}
