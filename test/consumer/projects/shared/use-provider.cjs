const assert = require('node:assert/strict');

const start = {
  kind: 'StartOrchestration',
  instance: 'order-1',
  orchestration: 'ProcessOrder',
  input: '{}',
  version: '1.0.0',
  parentInstance: null,
  parentId: null,
  executionId: 1,
};

/**
 * What every project does with the package, given its exports and an empty Drizzle database.
 * Plain CommonJS without imports of the package, so that each project chooses how to load it.
 */
exports.useProvider = async function useProvider({ DrizzleProvider, ProviderError, defineSchema }, db) {
  const provider = await DrizzleProvider.fromDrizzle(db, { schema: 'app' });
  const [enqueued] = await provider.enqueueForOrchestrator([{ item: start }]);
  assert.deepEqual(enqueued, { ok: true, value: undefined });
  const { items } = await provider.fetchOrchestrationItems({ limit: 10, lockTimeoutMs: 30_000 });
  assert.deepEqual(items[0].messages, [start]);
  // The exported tables are those that the provider writes.
  const locks = await db.select().from(defineSchema('app').instanceLocks);
  assert.equal(locks[0].lockToken, items[0].lockToken);
  const [refused] = await provider.ackWorkItems([{ instance: null, lockToken: 'unknown' }]);
  assert.ok(ProviderError.is(refused.error) && refused.error instanceof ProviderError);
  await provider.close();
};
