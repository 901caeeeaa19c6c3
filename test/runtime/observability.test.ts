import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import { FakeClock, SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { traceFilter } from '../../src/runtime/tracing/trace-filter.js';
import { jsonLine, textLine } from '../../src/runtime/tracing/trace-line.js';
import type { TraceRecord } from '../../src/runtime/tracing/trace-record.js';
import { initTracing, runtimeTracing } from '../../src/runtime/tracing/tracing.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { SteppedRuntime, waitFor } from '../support/runtime-harness.js';

const execute = promisify(execFile);
const TRACING = Symbol.for('duroxide-drizzle.tracing');
afterEach(() => {
  delete (globalThis as Record<symbol, unknown>)[TRACING];
});

const record: TraceRecord = {
  level: 'info',
  target: 'duroxide::orchestration',
  message: 'm',
  fields: { instance_id: 'i', execution_id: '1', orchestration_name: 'O', orchestration_version: '1.0.0' },
};

const handlers: Handlers = {
  activities: {
    Say: (ctx, message) => {
      for (const level of ['Info', 'Warn', 'Error', 'Debug']) ctx[`trace${level}`](`${message} ${level}`);
    },
    Bad: () => {
      throw new Error('bad');
    },
  },
  orchestrations: {
    *Talk(ctx) {
      ctx.traceInfo('before');
      yield ctx.scheduleActivity('Say', 'activity');
      ctx.traceWarn('between');
      yield ctx.scheduleTimer(1);
      ctx.traceError('after');
    },
    *Fail(ctx) {
      yield ctx.scheduleActivity('Bad');
    },
    *Again(ctx, n) {
      if (n > 0) return yield ctx.continueAsNew(n - 1);
    },
    *Parent(ctx) {
      yield ctx.scheduleSubOrchestration('Again', 0);
    },
  },
};

describe('trace lines (node-api 13)', () => {
  const at = new Date(Date.UTC(2026, 0, 1));

  test('JSON, all fields strings', () => {
    expect(jsonLine(record, at)).toBe(
      '{"timestamp":"2026-01-01T00:00:00.000000Z","level":"INFO","fields":{"message":"m","instance_id":"i","execution_id":"1","orchestration_name":"O","orchestration_version":"1.0.0"},"target":"duroxide::orchestration"}',
    );
  });

  test('text, with colours for a terminal only', () => {
    expect(textLine(record, at, false)).toBe(
      '2026-01-01T00:00:00.000000Z  INFO duroxide::orchestration: m instance_id=i execution_id=1 orchestration_name=O orchestration_version=1.0.0',
    );
    expect(textLine(record, at, true)).toContain('\u001b[32m');
  });

  test.each([
    ['info', undefined, { debug: false, info: true, error: true }],
    ['debug', undefined, { debug: true }],
    ['off', undefined, { error: false }],
    ['info', 'off', { error: false }],
    ['off', 'duroxide::orchestration=warn', { info: false, warn: true }],
    ['off', 'error,duroxide=debug', { debug: true, trace: false }],
    ['debug', 'duroxide::activity=info', { info: false, error: true }],
  ])('level %s with RUST_LOG %s', (level, rustLog, expected) => {
    const passes = traceFilter(level, rustLog ?? '');
    for (const [at, passed] of Object.entries(expected)) {
      expect([at, passes(at as TraceRecord['level'], 'duroxide::orchestration')]).toEqual([at, passed]);
    }
  });
});

describe('tracing of a process', () => {
  const logFile = () => path.join(mkdtempSync(path.join(tmpdir(), 'ddz-trace-')), 'trace.log');
  const lines = (file: string) =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { level: string; fields: Record<string, string>; target: string });

  test.each([{ warmInstances: 0 }, {}])(
    'R:OB-01 R:RF-05 every trace once, with its place, however often the code is replayed: %j',
    async (options) => {
      const file = logFile();
      initTracing({ logFile: file, logLevel: 'debug', logFormat: 'json' });
      const clock = new FakeClock();
      const runtime = new SteppedRuntime(new MemoryProvider(clock), clock, handlers, options);
      await runtime.run('i', 'Talk');
      const written = lines(file);
      expect(written.map(({ level, fields }) => `${level} ${fields['message']}`)).toEqual([
        'INFO before',
        'INFO activity Info',
        'WARN activity Warn',
        'ERROR activity Error',
        'DEBUG activity Debug',
        'WARN between',
        'ERROR after',
      ]);
      const place = { instance_id: 'i', execution_id: '1', orchestration_name: 'Talk', orchestration_version: '1.0.0' };
      expect(written[0]).toMatchObject({ target: 'duroxide::orchestration', fields: place });
      expect(written[1]).toMatchObject({
        target: 'duroxide::activity',
        fields: { ...place, activity_name: 'Say', activity_id: '2', worker_id: expect.stringMatching(/^work-0-/) },
      });
    },
  );

  test('initTracing: the first writer wins, and errors say what is wrong', () => {
    expect(() => initTracing({} as never)).toThrow(expect.objectContaining({ code: 'InvalidArg' }));
    expect(() => initTracing({ logFile: '/nowhere/at/all.log' })).toThrow(/^Failed to open log file '\/nowhere/);
    runtimeTracing({ logLevel: 'off', logFormat: 'compact' });
    expect(() => initTracing({ logFile: logFile() })).toThrow(
      'Failed to init tracing: a global default trace dispatcher has already been set',
    );
  });
});

describe('counters (R:OB-02, R:OB-05)', () => {
  function stepped(options = {}) {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    return new SteppedRuntime(provider, clock, handlers, options);
  }

  test('success, application failure, continue-as-new and children', async () => {
    const runtime = stepped();
    await runtime.run('talk', 'Talk');
    await runtime.run('fail', 'Fail');
    await runtime.run('again', 'Again', 2);
    await runtime.run('parent', 'Parent');
    expect(runtime.core.metrics).toMatchObject({
      orchCompletions: 4,
      orchFailures: 1,
      orchApplicationErrors: 1,
      orchContinueAsNew: 2,
      suborchestrationCalls: 1,
      activitySuccess: 1,
      activityAppErrors: 1,
      activeInstances: 0,
      providerErrors: 0,
    });
  });

  test('poison of turns and activities', async () => {
    const runtime = stepped({ maxAttempts: 1, unregisteredBackoff: { baseDelayMs: 1, maxDelayMs: 1 } });
    await runtime.run('nobody', 'Nobody');
    expect(runtime.core.metrics).toMatchObject({ orchPoison: 1, orchFailures: 1 });
  });

  test('R:OB-03 active instances: one more at the first start, one less at the end, unchanged in between', async () => {
    const runtime = stepped();
    const { metrics } = runtime.core;
    await runtime.client.startOrchestration('i', 'Talk');
    await runtime.parts.orchestrations.runOnce();
    expect(metrics.activeInstances).toBe(1);
    await runtime.client.startOrchestration('j', 'Again', 1);
    await runtime.parts.orchestrations.runOnce();
    expect(metrics.activeInstances).toBe(2);
    await runtime.parts.orchestrations.runOnce();
    expect(metrics.activeInstances).toBe(1);
  });

  test('R:OB-03 R:OB-04 gauges are read at start', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const clock = new FakeClock();
    const before = new SteppedRuntime(provider, clock, handlers);
    await before.client.startOrchestration('waiting', 'Talk');
    await before.parts.orchestrations.runOnce();
    const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off', workerConcurrency: 0 });
    await runtime.start();
    await waitFor('the gauges are read', () => runtime.metricsSnapshot()?.workerQueueDepth === 1);
    expect(runtime.metricsSnapshot()?.activeInstances).toBe(1);
    await runtime.shutdown();
  });
});

describe('promises that an activity leaves behind (C-33)', () => {
  const program = fileURLToPath(new URL('./programs/floating-rejection.ts', import.meta.url));
  const run = (...args: string[]) => execute(process.execPath, ['--import', 'tsx', program, ...args]);

  test('a rejection is reported with activity and instance, the worker lives, and the process can end', async () => {
    const { stdout } = await run();
    expect(JSON.parse(stdout)).toEqual({
      outputs: ['done', 'done'],
      reports: [
        { instance: 'first', activity: 'Leave' },
        { instance: 'second', activity: 'Leave' },
      ],
    });
  });

  test('a rejection of somebody else ends the process, as it would without us', async () => {
    await expect(run('--foreign')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('of somebody else'),
    });
  });
});
