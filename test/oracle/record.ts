/**
 * Writes `fixtures/`: what native does in every scenario, and the rows of a filled schema.
 * Run it with `npx tsx test/oracle/record.ts [scenario…]`; a PostgreSQL of its own is
 * started unless `DATABASE_URL` names one.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { startPostgresServer } from '../support/postgres-server.js';
import { fillSchema, readRows } from './filled-schema.js';
import { FILLED_SCHEMA_FILE, FIXTURES_DIR, type RecordedScenario, readHistories } from './fixture.js';
import { connectNative } from './native.js';
import { type Scenario, scenarios } from './scenarios/index.js';
import { playScenario, readEnds } from './stage.js';
import { dropTurnLog, readTurns, recordTurns } from './turn-recorder.js';

const RECORDED_WITH = { core: '0.1.30', provider: '0.1.35' };

// Failure texts hold stacks; where files lie on this machine is nobody's business.
Error.stackTraceLimit = 0;
const server = process.env['DATABASE_URL'] ? undefined : await startPostgresServer();
const url = process.env['DATABASE_URL'] ?? server?.url ?? '';
process.env['DDZ_TEST_DATABASE_URL'] = url;
const only = process.argv.slice(2);
await mkdir(path.dirname(FILLED_SCHEMA_FILE), { recursive: true });
for (const scenario of scenarios) {
  if (scenario.recorded === false || (only.length > 0 && !only.includes(scenario.name))) continue;
  const recorded = await record(scenario);
  await write(path.join(FIXTURES_DIR, `${scenario.name}.json`), recorded);
  console.log(`${scenario.name}: ${recorded.turns.length} turns`);
}
if (only.length === 0 || only.includes('filled-schema')) await recordFilledSchema();
await server?.destroy();
// Native keeps its connections, and with them the process.
process.exit(0);

async function record(scenario: Scenario): Promise<RecordedScenario> {
  const schema = uniqueSchema('record');
  const sdk = await connectNative(url, schema);
  return withClient(async (client) => {
    await recordTurns(client, schema);
    await playScenario(scenario, { url, schema, engineOf: () => sdk });
    const ends = await readEnds(scenario, { url, schema });
    if (!isDeepStrictEqual(ends, scenario.expected)) {
      throw new Error(`${scenario.name} ended otherwise: ${JSON.stringify(ends, undefined, 2)}`);
    }
    const turns = await readTurns(client, schema);
    const histories = await readHistories(client, schema);
    await dropTurnLog(client, schema);
    await dropSchema(schema);
    return { scenario: scenario.name, about: scenario.about, recordedWith: RECORDED_WITH, turns, histories };
  }, url);
}

async function recordFilledSchema(): Promise<void> {
  const schema = uniqueSchema('record');
  const sdk = await connectNative(url, schema);
  await withClient(async (client) => {
    await fillSchema(sdk, client, schema);
    await write(FILLED_SCHEMA_FILE, await readRows(client, schema));
  }, url);
  await dropSchema(schema);
  console.log('filled-schema');
}

async function write(file: string, content: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(content, undefined, 1)}\n`);
}
