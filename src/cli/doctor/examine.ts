import type { Driver, Executor } from '../../provider/drizzle/executor.js';
import { inspectSchema, type SchemaStatus } from '../../provider/drizzle/migrate/index.js';
import type { GlobalOptions } from '../context.js';
import { countText, durationText } from '../output/text.js';
import type { DoctorFinding } from './finding.js';
import {
  askLocks,
  askLongestTransaction,
  askQueue,
  askServer,
  askTables,
  askTime,
  SUSPECT_ATTEMPTS,
} from './questions.js';
import { aboutStartQueues, askStartQueues } from './start-queues.js';
import { aboutWaiting, askWaiting, askWorkers } from './waiting-orchestrations.js';

const MINUTE_MS = 60_000;
/** Clocks that differ more make other programs' times hard to read; the store corrects itself. */
const CLOCK_TOLERANCE_MS = 1_000;

/** Looks at a database and a schema, and changes nothing. Stops where nothing more can be asked. */
export async function examine(
  driver: Driver,
  { schema, allowNewer }: GlobalOptions,
  hostNowMs: () => number,
): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  const isServer = driver.kind !== 'pglite';
  findings.push(...(await driver.withConnection((executor) => aboutServer(executor, isServer, hostNowMs))));
  const status = await inspectSchema(driver, { schema, allowNewer });
  findings.push(...aboutSchema(status));
  if (status.refusal || status.origin === 'absent') return findings;
  await driver.withConnection(async (executor) => {
    findings.push(...(await aboutRows(executor, schema)), ...(await aboutOrchestrations(executor, schema)));
  });
  return findings;
}

async function aboutServer(executor: Executor, isServer: boolean, hostNowMs: () => number): Promise<DoctorFinding[]> {
  const { version, user, database, isStandby, isReadOnly, encoding } = await askServer(executor);
  const beforeMs = hostNowMs();
  const databaseMs = await askTime(executor);
  const offsetMs = databaseMs - (beforeMs + hostNowMs()) / 2;
  const findings: DoctorFinding[] = [
    { check: 'connection', level: 'ok', text: `PostgreSQL ${version}, database ${database}, role ${user}` },
  ];
  if (Number.parseInt(version, 10) < 15) {
    findings.push({
      check: 'version',
      level: 'problem',
      text: `PostgreSQL ${version}`,
      advice: 'expected 15 or later',
    });
  }
  if (encoding !== 'UTF8') {
    findings.push({
      check: 'encoding',
      level: 'warning',
      text: `the encoding is ${encoding}`,
      advice: 'payloads in other letters will be refused; expected UTF8',
    });
  }
  if (isStandby || isReadOnly) {
    const text = isStandby ? 'the server is a standby: it can be read only' : 'transactions are read-only';
    findings.push({ check: 'writable', level: 'problem', text, advice: 'workers need the primary' });
  }
  const isOff = Math.abs(offsetMs) > CLOCK_TOLERANCE_MS;
  findings.push({
    check: 'clock',
    level: isOff ? 'warning' : 'ok',
    text: `this host is ${durationText(Math.abs(offsetMs))} ${offsetMs > 0 ? 'behind' : 'ahead of'} the database`,
    ...(isOff ? { advice: "workers use the database's time; synchronise the host's clock all the same" } : {}),
  });
  if (!isServer) return findings;
  const longestMs = await askLongestTransaction(executor);
  if (longestMs > 5 * MINUTE_MS) {
    findings.push({
      check: 'transactions',
      level: 'warning',
      text: `a transaction is open for ${durationText(longestMs)}`,
      advice: 'it keeps dead rows from being vacuumed, and queues get slow; look for it in pg_stat_activity',
    });
  }
  return findings;
}

const ORIGINS = {
  absent: 'there are no tables of duroxide',
  ours: 'made by this package',
  native: 'made by native duroxide',
  handedOver: 'made by this package, handed over to native duroxide',
} as const;

function aboutSchema(status: SchemaStatus): DoctorFinding[] {
  const { schema, origin, refusal, nativeLevel, pendingMigrations, missingIndexes, missingTables } = status;
  const migrate = `npx duroxide-drizzle migrate --schema ${schema}`;
  if (refusal) return [{ check: 'schema', level: 'problem', text: refusal.message }];
  if (origin === 'absent') {
    return [{ check: 'schema', level: 'problem', text: `schema "${schema}": ${ORIGINS.absent}`, advice: migrate }];
  }
  const level = nativeLevel === null ? '' : `, level ${nativeLevel}`;
  const findings: DoctorFinding[] = [
    { check: 'schema', level: 'ok', text: `schema "${schema}": ${ORIGINS[origin]}${level}` },
  ];
  if (pendingMigrations.length > 0) {
    findings.push({
      check: 'migrations',
      level: 'problem',
      text: `pending: ${pendingMigrations.join(', ')}`,
      advice: migrate,
    });
  }
  const adopted = origin !== 'ours';
  findings.push(
    missingIndexes.length === 0
      ? { check: 'indexes', level: 'ok', text: 'all of ours are there' }
      : {
          check: 'indexes',
          level: 'warning',
          text: `missing: ${missingIndexes.join(', ')}; fetches and lists are slower`,
          advice: `${migrate} --adopt-indexes`,
        },
  );
  if (missingTables.length > 0) {
    findings.push({
      check: 'tables',
      level: 'info',
      text: `missing: ${missingTables.join(', ')}; workers and retry need them`,
      advice: `${migrate} --adopt-tables`,
    });
  }
  if (adopted && !status.notifyTriggers) {
    findings.push({
      check: 'triggers',
      level: 'info',
      text: 'what native enqueues is found by polling every 100 ms',
      advice: `${migrate} --notify-triggers`,
    });
  }
  if (status.storedFunctions === 'outdated') {
    findings.push({
      check: 'functions',
      level: 'warning',
      text: 'the stored functions are of another version',
      advice: `${migrate} --stored-functions`,
    });
  }
  return findings;
}

/** What waits although nobody takes it, by the names that a worker would have to have. */
async function aboutOrchestrations(executor: Executor, schema: string): Promise<DoctorFinding[]> {
  const nowMs = await askTime(executor);
  const hasWorkers = await askWorkers(executor, { schema, nowMs });
  return [
    ...aboutWaiting(await askWaiting(executor, { schema, nowMs }), { nowMs, hasWorkers }),
    ...aboutStartQueues(await askStartQueues(executor, { schema, nowMs }), { nowMs, hasWorkers }),
  ];
}

async function aboutRows(executor: Executor, schema: string): Promise<DoctorFinding[]> {
  const nowMs = await askTime(executor);
  const findings: DoctorFinding[] = [];
  for (const { table, live, dead, analyzedAtMs } of await askTables(executor, schema)) {
    if (dead > 10_000 && dead > live / 5) {
      findings.push({
        check: 'vacuum',
        level: 'warning',
        text: `${table} has ${countText(dead)} dead rows beside ${countText(live)} live ones`,
        advice: `vacuum analyze "${schema}"."${table}"; or let autovacuum come sooner (autovacuum_vacuum_scale_factor)`,
      });
    }
    if (live > 10_000 && analyzedAtMs === null) {
      findings.push({
        check: 'statistics',
        level: 'warning',
        text: `${table} has ${countText(live)} rows and was never analyzed`,
        advice: `analyze "${schema}"."${table}"; is autovacuum on?`,
      });
    }
  }
  if (!findings.some(({ check }) => check === 'vacuum'))
    findings.push({ check: 'vacuum', level: 'ok', text: 'few dead rows' });

  const locks = await askLocks(executor, schema, nowMs);
  findings.push(
    locks.ended + locks.endless === 0
      ? { check: 'locks', level: 'ok', text: `${countText(locks.live)} instances are being worked on` }
      : {
          check: 'locks',
          level: 'warning',
          text: `${countText(locks.ended)} locks ended more than 5 minutes ago, ${countText(locks.endless)} end in more than an hour`,
          advice:
            'ended ones are taken over when their instance has a message; endless ones were made by a clock that was wrong',
        },
  );
  for (const queue of ['orchestrator_queue', 'worker_queue'] as const)
    findings.push(...(await aboutQueue(executor, schema, queue, nowMs)));
  return findings;
}

async function aboutQueue(
  executor: Executor,
  schema: string,
  queue: 'orchestrator_queue' | 'worker_queue',
  nowMs: number,
): Promise<DoctorFinding[]> {
  const { rows, due, oldestMs, suspect, attempts, setAside } = await askQueue(executor, schema, queue, nowMs);
  const ageMs = oldestMs === null ? 0 : Math.max(0, nowMs - oldestMs);
  const findings: DoctorFinding[] = [
    {
      check: queue,
      level: ageMs > 10 * MINUTE_MS ? 'problem' : ageMs > MINUTE_MS ? 'warning' : 'ok',
      text: `${countText(rows)} rows, ${countText(due)} due${due > 0 ? `, the oldest for ${durationText(ageMs)}` : ''}`,
      ...(ageMs > MINUTE_MS
        ? { advice: 'are workers running that have these orchestrations, activities and tags?' }
        : {}),
    },
  ];
  if (suspect > 0) {
    findings.push({
      check: `${queue} poison`,
      level: 'warning',
      text: `${countText(suspect)} rows were tried ${SUSPECT_ATTEMPTS} times or more, one of them ${attempts} times`,
      advice: 'workers die or give up on them; look into their logs',
    });
  }
  if (setAside > 0) {
    findings.push({
      check: `${queue} quarantine`,
      level: 'problem',
      text: `${countText(setAside)} rows could not be read and were set aside`,
      advice: `select * from "${schema}"."${queue}" where visible_at >= '9999-01-01'; --deep names them`,
    });
  }
  return findings;
}
