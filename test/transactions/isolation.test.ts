import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type SQL, sql } from 'drizzle-orm';
import { Client } from '../../src/client/client.js';
import { declareOrchestration } from '../../src/typed/definitions.js';
import { InstanceExistsError } from '../../src/client/errors.js';
import { UnsupportedError } from '../../src/provider/provider-error.js';
import { waitFor } from '../support/waiting.js';
import {
  closePglite,
  generic,
  type Kind,
  nodePostgres,
  openDatabase,
  type Opened,
  pglite,
  postgresJs,
  type Tx,
} from './databases.js';

const work = declareOrchestration<string, string>('work');
const once = (id: string) => ({ id, ifExists: 'error' }) as const;
type Level = 'read committed' | 'repeatable read' | 'serializable';
const LEVELS: readonly Level[] = ['read committed', 'repeatable read', 'serializable'];
const ONE_SNAPSHOT = LEVELS.slice(1);

let app: Opened;
let client: Client;

async function open(kind: Kind, options: Parameters<typeof openDatabase>[1] = {}) {
  app = await openDatabase(kind, options);
  client = new Client(app.provider);
  await client.startQueues.create({ id: 'q', concurrency: 1 });
}
afterEach(() => app.close());
afterAll(closePglite);

/** A transaction that has read, so that its snapshot is older than whatever it starts. */
function reader<T>(isolationLevel: Level, use: (tx: Tx, within: ReturnType<Client['withTransaction']>) => Promise<T>) {
  const work = async (tx: Tx) => {
    await tx.select().from(app.payments);
    return use(tx, client.withTransaction(tx));
  };
  return app.db.transaction(work, { isolationLevel });
}

/** Rows, of whichever driver. */
async function select<Row>(query: SQL): Promise<Row[]> {
  const result: unknown = await app.db.execute(query);
  return Array.isArray(result) ? [...(result as Row[])] : (result as { readonly rows: Row[] }).rows;
}

/** The inputs of the starts that are stored for an id. */
async function stored(id: string): Promise<string[]> {
  const queue = sql.raw(`"${app.schema}".orchestrator_queue`);
  const rows = await select<{ work_item: string }>(sql`select work_item from ${queue} where instance_id = ${id}`);
  return rows.map((row) => {
    const { StartOrchestration } = JSON.parse(row.work_item) as { StartOrchestration: { input: string } };
    return JSON.parse(StartOrchestration.input) as string;
  });
}

/** Whether a transaction waits for a start of another. */
async function somebodyWaits(): Promise<boolean> {
  const waiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted
    and objid::bigint = hashtext(${`${app.schema}/one`})::bigint & 4294967295`;
  return (await select(waiting)).length > 0;
}

describe.each([nodePostgres, postgresJs])('exclusive starts in a transaction over $name', (kind) => {
  beforeEach(() => open(kind));

  test.each(LEVELS)('%s: what was started after the transaction had begun to read is known', async (level) => {
    await reader(level, async (tx, within) => {
      await client.start(work, 'of another', once('started'));
      await client.start(work, 'queued by another', { id: 'queued', queue: 'q' });
      await expect(within.start(work, 'too late', once('started'))).rejects.toBeInstanceOf(InstanceExistsError);
      await expect(within.start(work, 'too late', once('queued'))).rejects.toBeInstanceOf(InstanceExistsError);
      await expect(within.start(work, 'too late', { ...once('started'), queue: 'q' })).rejects.toBeInstanceOf(
        InstanceExistsError,
      );
      // The transaction goes on.
      await tx.insert(app.payments).values({ orderId: 'o-1', cents: 1 });
      await within.start(work, 'own', once('new'));
      await expect(within.start(work, 'again', once('new'))).rejects.toBeInstanceOf(InstanceExistsError);
      await within.start(work, 'own', { ...once('new in queue'), queue: 'q' });
      await expect(within.start(work, 'own', { ...once('lost'), queue: 'none' })).rejects.toThrow(/'none'/);
    });
    expect(await stored('started')).toEqual(['of another']);
    expect(await stored('new')).toEqual(['own']);
    expect(await app.paid()).toEqual(['o-1']);
    expect((await client.startQueues.get('q'))?.waiting).toBe(2);
  });

  test.each(LEVELS)('%s: of two that start one id at the same moment one passes', async (level) => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let isStored = false;
    const first = reader('read committed', async (_tx, within) => {
      await within.start(work, 'first', once('one'));
      isStored = true;
      await released;
    });
    await waitFor('the first has stored it', () => isStored);
    const second = reader(level, (_tx, within) => within.start(work, 'second', once('one')));
    const refused = expect(second).rejects.toBeInstanceOf(InstanceExistsError);
    await waitFor('the second waits for it', somebodyWaits);
    release();
    await Promise.all([first, refused]);
    expect(await stored('one')).toEqual(['first']);
  });

  test('as many transactions as the pool has connections do not wait for each other', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    let inside = 0;
    await Promise.all(
      ids.map((id) =>
        reader('repeatable read', async (_tx, within) => {
          inside += 1;
          await waitFor('all are inside', () => inside === ids.length);
          await within.start(work, id, once(id));
        }),
      ),
    );
    for (const id of ids) expect(await stored(id)).toEqual([id]);
  });
});

test.each(ONE_SNAPSHOT)('%s on PGlite, where nobody commits meanwhile: no look from beside', async (level) => {
  await open(pglite);
  await client.start(work, 'before', once('started'));
  await reader(level, async (_tx, within) => {
    await expect(within.start(work, 'too late', once('started'))).rejects.toBeInstanceOf(InstanceExistsError);
    await within.start(work, 'own', once('new'));
  });
  expect(await stored('new')).toEqual(['own']);
});

test.each(ONE_SNAPSHOT)(
  '%s where nothing can be opened beside the transaction: refused, and nothing is stored',
  async (level) => {
    await open(generic);
    await reader(level, async (tx, within) => {
      const refused = within.start(work, 'x', once('new'));
      await expect(refused).rejects.toBeInstanceOf(UnsupportedError);
      await expect(refused).rejects.toThrow(/instance 'new'.*above the isolation level 'read committed'.*pg\.Pool/s);
      await tx.insert(app.payments).values({ orderId: 'o-1', cents: 1 });
    });
    expect(await stored('new')).toEqual([]);
    expect(await app.paid()).toEqual(['o-1']);
    await reader('read committed', (_tx, within) => within.start(work, 'own', once('new')));
    expect(await stored('new')).toEqual(['own']);
  },
);
