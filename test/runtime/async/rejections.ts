/** Run by `async-driver.test.ts` in a process of its own: what an unhandled rejection does to it. */
import { AsyncDriver } from '../../../src/runtime/async/async-driver.js';
import { AsyncHost } from '../../../src/runtime/async/async-host.js';
import { createExecution } from '../../../src/runtime/replay/execution.js';

const host = new AsyncHost();
const release = host.retain();
const now = () => 0;

const live = createExecution({
  instance: 'x',
  executionId: 1,
  createDriver: (port, info) =>
    new AsyncDriver(host, port, info, async (asyncPort) => {
      const call = (name: string) =>
        new Promise<string>((resolve, reject) => {
          asyncPort.emit(
            { kind: 'scheduleActivity', name, input: '' },
            { resolve: (value) => resolve(value ?? ''), reject: (failure) => reject(new Error(failure)) },
          );
        });
      const helper = (async () => call('a'))();
      await call('b');
      return { kind: 'output', output: await helper.catch((error: Error) => `late ${error.message}`) };
    }),
});

const loopTurns = async () => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

await live.runCold({ history: [], start: { name: 'Async', version: '1.0.0', input: '' }, messages: [], now });
await live.runWarm({
  now,
  messages: [
    {
      kind: 'ActivityFailed',
      instance: 'x',
      executionId: 1,
      id: 2,
      details: { kind: 'Application', application: { kind: 'ActivityFailed' }, message: 'boom', retryable: false },
    },
  ],
});
await loopTurns();
if (process.argv[2] === 'stray') {
  void Promise.reject(new Error('a stray rejection'));
  await loopTurns();
  console.log('alive');
}
const { result } = await live.runWarm({
  now,
  messages: [{ kind: 'ActivityCompleted', instance: 'x', executionId: 1, id: 3, result: '' }],
});
console.log(result.kind, result.kind === 'completed' ? result.output : '');
release();
