import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { FakeClock } from '../../src/base/clock.js';
import type { Provider } from '../../src/provider/provider.js';
import { connectNative, nativeAvailable, nativeUnavailableReason } from '../oracle/native.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { intendedDifferences } from '../support/differential/intended-differences.js';
import { Reconciler } from '../support/differential/reconciler.js';
import { Sequence } from '../support/differential/sequence.js';
import type { Sides } from '../support/differential/sides.js';
import { NativeFunctions } from '../support/native-functions.js';
import { openDrizzleProvider } from '../support/open-drizzle-provider.js';

/** Again with `DDZ_SEED=<seed> DDZ_SEQUENCES=1`. */
const seed = Number(process.env['DDZ_SEED'] ?? Math.floor(Math.random() * 1e9));
const sequences = Number(process.env['DDZ_SEQUENCES'] ?? 150);
const OPERATIONS = 50;
const PER_TEST = 25;

const suite = nativeAvailable ? describe : describe.skip;

suite(`DrizzleProvider against native's stored functions, from seed ${seed} ${nativeUnavailableReason}`, () => {
  const schemas = { ours: uniqueSchema('diff_ours'), native: uniqueSchema('diff_native') };
  const clock = new FakeClock();
  let client: pg.Client;
  let ours: Provider;
  let sides: Sides;

  beforeAll(async () => {
    // Not a pool, which throws a connection away, and all plans with it, for each error that native answers.
    client = new pg.Client({
      connectionString: databaseUrl(),
      options: '-c plan_cache_mode=force_generic_plan',
    });
    await client.connect();
    await connectNative(databaseUrl(), schemas.native);
    ours = await openDrizzleProvider({ schema: schemas.ours, clock });
    const native = new NativeFunctions(client, schemas.native, clock);
    sides = { clock, ours, native, schemas, client, reconcile: new Reconciler(client, schemas.native) };
  });

  afterAll(async () => {
    await ours.close();
    await client.end();
    for (const schema of Object.values(schemas)) await dropSchema(schema);
  });

  const blocks = Array.from({ length: Math.ceil(sequences / PER_TEST) }, (_, block) => ({
    first: seed + block * PER_TEST,
    count: Math.min(PER_TEST, sequences - block * PER_TEST),
  }));

  test.each(blocks)(
    `$count sequences of ${OPERATIONS} operations from seed $first leave both alike`,
    async ({ first, count }) => {
      for (let index = 0; index < count; index++) await new Sequence(sides, first + index).run(OPERATIONS);
    },
    600_000,
  );

  test('the list of intended differences says for each what becomes of it', () => {
    const handled = Object.entries(intendedDifferences).filter(([, { why }]) => why.length > 0);
    expect(handled).toHaveLength(24);
  });
});
