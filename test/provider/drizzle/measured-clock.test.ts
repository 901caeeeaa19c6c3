import { describe, expect, test } from '@jest/globals';
import type { HostClock } from '../../../src/base/clock.js';
import { MeasuredClock } from '../../../src/provider/drizzle/measured-clock.js';
import { RecordingLogger } from '../../support/waiting.js';

/** A host and a database, each with its own idea of the time. */
class World implements HostClock {
  trueMs = 1_800_000_000_000;
  hostLeadMs = 0;
  databaseLeadMs = 0;
  roundTripMs = 0;
  reachable = true;
  measurements = 0;
  readonly logger = new RecordingLogger();
  private elapsedMs = 0;
  readonly clock = new MeasuredClock({ host: this, logger: this.logger, measure: () => this.measure() });

  nowMs(): number {
    return this.trueMs + this.hostLeadMs;
  }

  monotonicMs(): number {
    return this.elapsedMs;
  }

  pass(ms: number): void {
    this.trueMs += ms;
    this.elapsedMs += ms;
  }

  private async measure(): Promise<number> {
    this.measurements++;
    if (!this.reachable) throw new Error('no connection');
    this.pass(this.roundTripMs / 2);
    const answer = this.trueMs + this.databaseLeadMs;
    this.pass(this.roundTripMs / 2);
    return answer;
  }
}

/** Lets a measurement in the background finish. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the measured clock', () => {
  test.each([60_000, -60_000, 250])('C-07 tells the time of the database on a host that is off by %d ms', async (lead) => {
    const world = new World();
    world.hostLeadMs = lead;
    await world.clock.start();
    expect(world.clock.nowMs()).toBe(world.trueMs);
    world.pass(12_345);
    expect(world.clock.nowMs()).toBe(world.trueMs);
    world.clock.close();
  });

  test('takes the answer to be from the middle of the round trip, and the shortest of several', async () => {
    const world = new World();
    world.roundTripMs = 80;
    await world.clock.start();
    expect(world.clock.nowMs()).toBe(world.trueMs);
    expect(world.measurements).toBe(3);
    world.clock.close();
  });

  test('warns once above a second, and not below', async () => {
    const world = new World();
    world.hostLeadMs = 900;
    await world.clock.start();
    expect(world.logger.at('warn')).toEqual([]);
    world.databaseLeadMs = 5_000;
    await world.clock.remeasure();
    await world.clock.remeasure();
    expect(world.logger.at('warn')).toHaveLength(1);
    world.clock.close();
  });

  test('a host whose time is set does not take the clock along, and it is measured at once', async () => {
    const world = new World();
    await world.clock.start();
    world.pass(2_000);
    world.hostLeadMs = -3_600_000;
    expect(world.clock.nowMs()).toBe(world.trueMs);
    await settled();
    expect(world.measurements).toBe(6);
    world.pass(10);
    expect(world.clock.nowMs()).toBe(world.trueMs);
    await settled();
    // The new difference is known now.
    expect(world.measurements).toBe(6);
    world.clock.close();
  });

  test('a machine that slept catches up by a measurement at once', async () => {
    const world = new World();
    await world.clock.start();
    world.pass(2_000);
    // The monotonic clock stands still while the machine sleeps.
    world.trueMs += 600_000;
    expect(world.clock.nowMs()).toBe(world.trueMs - 600_000);
    await settled();
    expect(world.clock.nowMs()).toBe(world.trueMs);
    world.clock.close();
  });

  test('it never steps back: it runs slowly until the truth has caught up', async () => {
    const world = new World();
    await world.clock.start();
    const before = world.clock.nowMs();
    world.databaseLeadMs = -1_000;
    await world.clock.remeasure();
    const readings = [world.clock.nowMs()];
    for (let step = 0; step < 30; step++) {
      world.pass(100);
      readings.push(world.clock.nowMs());
    }
    expect(readings[0]).toBe(before);
    for (let at = 1; at < readings.length; at++) expect(readings[at]!).toBeGreaterThan(readings[at - 1]!);
    expect(readings.at(-1)).toBe(world.trueMs - 1_000);
    world.clock.close();
  });

  test('a measurement that fails keeps the old offset, and is not repeated in a hurry', async () => {
    const world = new World();
    world.hostLeadMs = 2_000;
    await world.clock.start();
    world.pass(2_000);
    world.reachable = false;
    world.hostLeadMs = 9_000;
    for (let reading = 0; reading < 50; reading++) {
      world.pass(10);
      expect(world.clock.nowMs()).toBe(world.trueMs);
      await settled();
    }
    expect(world.measurements).toBe(4);
    world.clock.close();
  });

  test('the first measurement must succeed', async () => {
    const world = new World();
    world.reachable = false;
    await expect(world.clock.start()).rejects.toThrow('no connection');
  });
});
