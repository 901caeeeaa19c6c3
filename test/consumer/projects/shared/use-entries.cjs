const assert = require('node:assert/strict');

/**
 * The parts that use further entries of the package.
 * @param openProvider opens a provider on a schema of this name
 */
exports.entryParts = function entryParts(
  { Client, openTelemetry, startDashboard },
  { BasicTracerProvider, trace },
  openProvider,
) {
  const withProvider = async (schema, use) => {
    const provider = await openProvider(schema);
    const answer = await use(provider);
    await provider.close();
    return answer;
  };
  return {
    otel: () =>
      withProvider('otel', async (provider) => {
        trace.setGlobalTracerProvider(new BasicTracerProvider());
        await useOtel({ Client, openTelemetry }, provider);
      }),
    dashboard: () => withProvider('app', (provider) => useDashboard({ startDashboard }, provider)),
  };
};

/** `duroxide-drizzle/otel` reports to the tracer that the application registered, by the one API package of both. */
async function useOtel({ Client, openTelemetry }, provider) {
  const client = new Client(provider, { telemetry: openTelemetry() });
  await client.startOrchestration('traced-1', 'Traced');
  const { items } = await provider.fetchOrchestrationItems({ limit: 1, lockTimeoutMs: 30_000 });
  assert.match(items[0].messages[0].trace, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
}

/** The dashboard, front end included: what the page refers to, with the status of each answer. */
async function useDashboard({ startDashboard }, provider) {
  const dashboard = await startDashboard({ provider, port: 0 });
  const page = await (await fetch(dashboard.url)).text();
  const answers = [];
  for (const [, file] of page.matchAll(/(?:src|href)="([^"]*[.](?:js|css|svg))"/g)) {
    answers.push(`${(await fetch(new URL(file, dashboard.url))).status} ${file.replace(/-\w{8}[.]/, '.')}`);
  }
  await dashboard.close();
  return answers.sort().join(', ');
}

/** An activity that blocks the event loop for longer than its lock: only the thread can have renewed it. */
exports.useLockThread = async function useLockThread({ Client, DrizzleProvider, Runtime }, schema) {
  const provider = await DrizzleProvider.connect(process.env.DDZ_TEST_DATABASE_URL, { schema });
  const runtime = new Runtime(provider, {
    lockRenewal: 'worker-thread',
    workerLockTimeoutMs: 1000,
    logLevel: 'off',
  });
  runtime.registerActivity('Block', () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
    return 'blocked';
  });
  runtime.registerOrchestration('Block', function* (ctx) {
    return yield ctx.scheduleActivity('Block');
  });
  await runtime.start();
  const client = new Client(provider);
  await client.startOrchestration('i', 'Block');
  const { output } = await client.waitForOrchestration('i', 60000);
  const { locksLost } = runtime.metricsSnapshot();
  await runtime.shutdown();
  await provider.close();
  return `${output}, ${locksLost} locks lost`;
};
