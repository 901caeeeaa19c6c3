import { expect, test } from '@jest/globals';
import { Gate } from '../../src/base/gate.js';
import { FakeClock } from '../../src/base/clock.js';
import { UnsupportedError } from '../../src/provider/provider-error.js';
import type { RuntimeCore } from '../../src/runtime/core.js';
import { newMetrics } from '../../src/runtime/metrics.js';
import { runSideLoop } from '../../src/runtime/side-loop.js';
import { RecordingLogger, waitFor } from '../support/runtime-harness.js';

/** A loop whose steps end as the list says: `ok`, or with an error. */
function loopOf(ends: readonly ('ok' | Error)[]) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const logger = new RecordingLogger();
  const core = { clock, logger, metrics: newMetrics(), stopping: stop.signal } as unknown as RuntimeCore;
  const state = { steps: 0, isOver: false };
  const step = async () => {
    const end = ends[state.steps++] ?? 'ok';
    if (end !== 'ok') throw end;
    if (state.steps >= ends.length) stop.abort();
  };
  const done = runSideLoop(core, { gate: new Gate(clock), failure: 'it failed', listen: () => [], step }).then(
    () => (state.isOver = true),
  );
  return { clock, logger, state, done };
}

test('a loop without its tables ends quietly', async () => {
  const { logger, state, done } = loopOf([new UnsupportedError('no tables'), 'ok']);
  await done;
  expect([state.steps, logger.lines]).toEqual([1, []]);
});

test('tables that were there and are gone are told of, and looked for again', async () => {
  const { clock, logger, state, done } = loopOf(['ok', new UnsupportedError('gone'), 'ok']);
  await waitFor('it is told', () => logger.matching('it failed').length === 1);
  expect(state).toEqual({ steps: 2, isOver: false });
  clock.advance(60_000);
  await done;
  expect(state.steps).toBe(3);
});
