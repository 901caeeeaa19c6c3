import { handOverToNative, inspectSchema, migrate, SchemaError, silentLogger } from '../../../../src/index.js';
import { NATIVE_MIGRATIONS } from '../../../../src/provider/drizzle/migrate/native-levels.js';
import { PATIENCE_MS, persist } from '../persist.js';
import { pause } from '../random.js';
import { type Deed, type Stage, tableOf } from './deed.js';

/** Tries of a hand-over while everybody works, which as a rule find something locked. */
const BUSY_TRIES = 5;

/**
 * While workers work the schema gets triggers, and is handed over to native: all of it
 * stands there in the end, each record once, and nothing that was under way is lost.
 */
export class Migrations implements Deed {
  private isDone = false;
  private isUnderWay = false;

  constructor(
    private readonly stage: Stage,
    /** At which number the schema is handed over. */
    private readonly handOverAt: number,
  ) {}

  async begin(number: number): Promise<void> {
    const { db, schema } = this.stage;
    await persist(() => migrate(db, { schema, logger: silentLogger, notifyTriggers: true }), isBroken);
    if (number >= this.handOverAt) await this.handOver();
  }

  tend(): Promise<void> {
    return this.handOver();
  }

  open(): readonly string[] {
    return this.isDone ? [] : ['the hand-over of the schema'];
  }

  async problems(): Promise<string[]> {
    const { db, schema, administrator } = this.stage;
    const { value: status } = await persist(() => inspectSchema(db, { schema, logger: silentLogger }), isBroken);
    const problems: string[] = [];
    if (status.origin !== 'handedOver' || status.refusal)
      problems.push(`the schema is ${status.origin}: ${status.refusal?.message}`);
    if (!status.notifyTriggers) problems.push('the schema has no triggers');
    const versions = await administrator.query(`select version from ${tableOf(this.stage, '_duroxide_migrations')}`);
    if (versions.length !== NATIVE_MIGRATIONS.length) problems.push(`native's bookkeeping has ${versions.length} rows`);
    return problems;
  }

  private async handOver(): Promise<void> {
    if (this.isDone || this.isUnderWay) return;
    this.isUnderWay = true;
    const giveUpAtMs = performance.now() + PATIENCE_MS;
    try {
      for (let tries = 0; !this.isDone; tries++) {
        if (tries < BUSY_TRIES) await this.tryOnce();
        else await this.stage.whileStopped(() => this.tryOnce());
        if (!this.isDone && performance.now() > giveUpAtMs) throw new Error('the schema could not be handed over');
        await pause(20);
      }
    } finally {
      this.isUnderWay = false;
    }
  }

  private async tryOnce(): Promise<void> {
    const { db, schema } = this.stage;
    try {
      await persist(() => handOverToNative(db, { schema, logger: silentLogger }), isBroken);
      this.isDone = true;
    } catch (error) {
      if (!(error instanceof SchemaError) || error.kind !== 'busy') throw error;
    }
  }
}

/** A migration is repeated by who called for it: its driver's errors come as they are. */
function isBroken(error: unknown): boolean {
  return !(error instanceof SchemaError || error instanceof RangeError);
}
