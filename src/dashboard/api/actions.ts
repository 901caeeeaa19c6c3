import type { DashboardApp, DashboardContext } from '../context.js';
import { problemOfOrigin } from '../security/cross-site.js';
import type { InstanceInfo } from '../../provider/admin.js';
import { BodyReader } from './decode.js';
import { foreignPage, Problem } from './problem.js';

/** What changes something: only for who may, only from our own page, never in read-only mode. */
export function addActions(app: DashboardApp, { options, client }: DashboardContext): void {
  const { provider, logger } = options;

  app.use('/api/actions/*', async (c, next) => {
    const foreign = problemOfOrigin(c.req.raw);
    if (foreign !== undefined) throw foreignPage(foreign);
    if (c.get('access') !== 'write') {
      throw new Problem(403, 'read_only', 'This dashboard is read-only: nobody can change anything here.');
    }
    await next();
  });

  app.post('/api/actions/raise', async (c) => {
    const body = await BodyReader.of(c.req, ['id', 'name', 'data', 'queue']);
    const id = body.text('id');
    const name = body.text('name');
    const data = body.json('data');
    await running(id, 'An event would reach nobody.');
    if (body.flag('queue')) await client.enqueueEvent(id, name, data);
    else await client.raiseEvent(id, name, data);
    return done('raise', id);
  });
  app.post('/api/actions/cancel', async (c) => {
    const body = await BodyReader.of(c.req, ['id', 'reason']);
    const id = body.text('id');
    await running(id, 'There is nothing to cancel.');
    await client.cancelInstance(id, body.optionalText('reason') ?? '');
    return done('cancel', id);
  });
  app.post('/api/actions/delete', async (c) => {
    const body = await BodyReader.of(c.req, ['id', 'force']);
    const id = body.text('id');
    await client.deleteInstance(id, body.flag('force'));
    return done('delete', id);
  });
  app.post('/api/actions/retry', async (c) => {
    const body = await BodyReader.of(c.req, ['id', 'toEventId']);
    const id = body.text('id');
    await provider.asManagement().resetInstance(id, body.integer('toEventId'));
    return done('retry', id);
  });

  for (const [action, steer] of [
    ['pause', (id: string) => client.schedules.pause(id)],
    ['resume', (id: string) => client.schedules.resume(id)],
    ['trigger', (id: string) => client.schedules.trigger(id)],
    ['delete', (id: string) => client.schedules.delete(id)],
  ] as const) {
    app.post(`/api/actions/schedule/${action}`, async (c) => {
      const id = (await BodyReader.of(c.req, ['id'])).text('id');
      const answer = await steer(id);
      if (answer === false) throw new Problem(404, 'not_found', `There is no schedule '${id}'.`);
      logger.info({ action, schedule: id }, 'dashboard: a schedule was steered');
      return c.json(typeof answer === 'string' ? { instance: answer } : {});
    });
  }

  for (const [action, steer] of [
    ['pause', (id: string) => client.startQueues.pause(id)],
    ['resume', (id: string) => client.startQueues.resume(id)],
  ] as const) {
    app.post(`/api/actions/queue/${action}`, async (c) => {
      const id = (await BodyReader.of(c.req, ['id'])).text('id');
      await steer(id);
      logger.info({ action, queue: id }, 'dashboard: a start queue was steered');
      return c.json({});
    });
  }

  async function running(id: string, otherwise: string): Promise<InstanceInfo> {
    const info = await provider.asManagement().getInstanceInfo(id);
    if (info.status === 'Completed' || info.status === 'Failed') {
      throw new Problem(409, 'ended', `The instance has ended (${info.status}). ${otherwise}`);
    }
    return info;
  }

  /** Who steers leaves a trace: the action and the instance, no payload. */
  function done(action: string, instance: string): Response {
    logger.info({ action, instance }, 'dashboard: an instance was steered');
    return Response.json({});
  }
}
