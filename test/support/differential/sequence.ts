import { isDeepStrictEqual } from 'node:util';
import type {
  Abandon,
  FetchWorkItems,
  LockedOrchestrationItem,
  LockedWorkItem,
  Result,
  TagFilter,
  VersionFilter,
} from '../../../src/provider/provider.js';
import { only } from '../../../src/provider/single-forms.js';
import type { WorkItem } from '../../../src/wire/work-item.js';
import { emptyTables } from '../storage-helpers.js';
import { INSTANCES, KEYS, OWNERS, RandomContent, type RandomTurn, TAGS } from './content.js';
import { differences } from './difference.js';
import { SeededRandom } from './random.js';
import type { Sides } from './sides.js';
import { comparableItems, comparableWork, outcomeOf, TokenPairs } from './sides.js';
import { dumpTables } from './table-dump.js';

/** All tables are compared after so many operations, and at the end. */
const COMPARE_EVERY = 5;
/** Beyond ten eligible rows the orders may differ by intention. */
const MAX_WORKER_ROWS = 9;
/** More instances than a sequence has. */
const EVERYTHING = 50;
const SESSION_LOCK_MS = 8_000;

const weights = {
  start: 4,
  message: 6,
  fetch: 10,
  ack: 12,
  abandon: 2,
  renew: 2,
  schedule: 3,
  fetchWork: 7,
  ackWork: 5,
  abandonWork: 2,
  renewWork: 1,
  renewSessions: 1,
  sweepSessions: 1,
  unknownToken: 1,
  look: 5,
  remove: 2,
  removeBulk: 1,
  prune: 2,
  pruneBulk: 1,
  wait: 4,
};

/** Runs random operations on both sides and compares every answer and all tables. */
export class Sequence {
  private readonly random: SeededRandom;
  private readonly content: RandomContent;
  private readonly tokens = new TokenPairs();
  private readonly log: string[] = [];
  private items: LockedOrchestrationItem[] = [];
  private works: LockedWorkItem[] = [];

  constructor(
    private readonly sides: Sides,
    private readonly seed: number,
  ) {
    this.random = new SeededRandom(seed);
    this.content = new RandomContent(this.random, () => sides.clock.nowMs());
  }

  /** @throws Error with the seed and the operations so far, at the first difference. */
  async run(operations: number): Promise<void> {
    const { client, schemas } = this.sides;
    for (const schema of Object.values(schemas)) {
      await client.query({
        name: `empty ${schema}`,
        text: emptyTables.replaceAll('delete from ', `delete from ${schema}.`),
      });
    }
    try {
      for (let count = 1; count <= operations; count++) {
        await this[this.random.weighted(weights)]();
        if (count % COMPARE_EVERY === 0 || count === operations) await this.compareTables();
      }
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`seed ${this.seed}: ${why}\n\nafter:\n${this.log.join('\n')}`, { cause });
    }
  }

  // Comparing

  /** Runs both sides and compares what they answer; the common answer. */
  private async both(what: string, ours: () => Promise<unknown>, native: () => Promise<unknown>) {
    this.log.push(what);
    const [one, two] = [await outcomeOf(ours), await outcomeOf(native)];
    if (!isDeepStrictEqual(one, two)) throw difference(`${what} was answered differently`, one, two);
    return one;
  }

  private async compareTables(): Promise<void> {
    const { client, schemas } = this.sides;
    const ours = await dumpTables(client, schemas.ours, this.tokens.name);
    const native = await dumpTables(client, schemas.native, this.tokens.name);
    for (const [table, rows] of Object.entries(ours)) {
      const theirs = native[table as keyof typeof native];
      if (!isDeepStrictEqual(rows, theirs)) throw difference(`table ${table} differs`, rows, theirs);
    }
  }

  // Orchestrations

  private start() {
    return this.enqueue(this.content.start());
  }

  private message() {
    return this.enqueue(this.content.message());
  }

  private async enqueue(item: WorkItem): Promise<void> {
    const { ours, native } = this.sides;
    const delayMs = this.random.chance(0.2) ? this.random.pick([700, 5_000]) : undefined;
    await this.both(
      `enqueue ${JSON.stringify(item)} after ${delayMs}`,
      async () => only(await ours.enqueueForOrchestrator([{ item, delayMs }])),
      () => native.enqueueForOrchestrator(item, delayMs),
    );
  }

  private async fetch(): Promise<void> {
    const { ours, native, reconcile } = this.sides;
    const wanted = this.random.between(1, 3);
    const limit = (await this.hasExpiredMessages()) ? EVERYTHING : wanted;
    const lockTimeoutMs = this.random.pick([3_000, 10_000, 60_000]);
    const filter = this.filter();
    let fetched: readonly LockedOrchestrationItem[] = [];
    const theirs: LockedOrchestrationItem[] = [];
    await this.both(
      `fetch ${limit} for ${lockTimeoutMs} ms with ${JSON.stringify(filter)}`,
      async () => {
        const answer = await ours.fetchOrchestrationItems({ limit, lockTimeoutMs, filter });
        fetched = answer.items;
        return { items: comparableItems(fetched), lost: answer.lost };
      },
      () =>
        reconcile.withoutGhosts(async () => {
          while (theirs.length < limit) {
            const before = native.passedOver;
            const item = await native.fetchOrchestrationItem(lockTimeoutMs, filter);
            if (item) theirs.push(item);
            else if (native.passedOver === before) break;
          }
          await native.releaseEmptyItems();
          return { items: comparableItems(theirs), lost: 0 };
        }),
    );
    for (const { instance, lockToken } of fetched) {
      const theirOwn = theirs.find((item) => item.instance === instance);
      if (theirOwn) this.tokens.pair(lockToken, theirOwn.lockToken);
    }
    this.items.push(...fetched);
  }

  /** Whether a message is ready whose lock has ended. */
  private async hasExpiredMessages(): Promise<boolean> {
    const { client, schemas, clock } = this.sides;
    const { rows } = await client.query({
      name: `expired ${schemas.ours}`,
      text: `select 1 from ${schemas.ours}.orchestrator_queue where locked_until <= $1 limit 1`,
      values: [clock.nowMs()],
    });
    return rows.length > 0;
  }

  private filter(): VersionFilter | undefined {
    const range = (major: number) => ({
      min: { major, minor: 0, patch: 0 },
      max: { major, minor: 999, patch: 999 },
    });
    const { random } = this;
    switch (random.weighted({ none: 6, one: 3, two: 1, empty: 1 })) {
      case 'none':
        return undefined;
      case 'one':
        return { ranges: [range(random.below(3))] };
      case 'two':
        return { ranges: [range(1), range(2)] };
      case 'empty':
        return { ranges: [] };
    }
  }

  /** Some of the held instances, which stop being held. */
  private someItems(most: number): LockedOrchestrationItem[] {
    const chosen: LockedOrchestrationItem[] = [];
    for (let count = this.random.between(1, most); count > 0 && this.items.length > 0; count--) {
      chosen.push(...this.items.splice(this.random.below(this.items.length), 1));
    }
    return chosen;
  }

  private async ack(): Promise<void> {
    const { ours, native, reconcile } = this.sides;
    const turns = this.someItems(3).map((item) => ({
      instance: item.instance,
      lockToken: item.lockToken,
      ...this.content.turn(item),
    }));
    if (turns.length === 0) return this.fetch();
    if (!(await this.hasRoomFor(turns.flatMap(({ workerItems }) => workerItems).length))) return;
    await this.both(
      `ack ${JSON.stringify(turns)}`,
      async () => settled(await ours.ackOrchestrationItems(turns)),
      () =>
        oneByOne(turns, (turn) => {
          const ack = () => native.ackOrchestrationItem({ ...turn, lockToken: this.tokens.native(turn.lockToken) });
          return saysSomething(turn) ? ack() : reconcile.withoutGhosts(ack);
        }),
    );
  }

  private async abandon(): Promise<void> {
    const { ours, native } = this.sides;
    const elements = this.someItems(2).map(({ instance, lockToken }) => ({
      instance,
      lockToken,
      ...this.howToAbandon(),
    }));
    await this.both(
      `abandon ${JSON.stringify(elements)}`,
      async () => settled(await ours.abandonOrchestrationItems(elements)),
      () => oneByOne(elements, (one) => native.abandonOrchestrationItem(this.tokens.native(one.lockToken), one)),
    );
  }

  private howToAbandon(): Abandon {
    return {
      ...(this.random.chance(0.5) ? { delayMs: this.random.pick([0, 700, 4_000]) } : {}),
      ...(this.random.chance(0.5) ? { ignoreAttempt: this.random.chance(0.5) } : {}),
    };
  }

  private async renew(): Promise<void> {
    const { ours, native } = this.sides;
    if (this.items.length === 0) return;
    const { instance, lockToken } = this.random.pick(this.items);
    const extendMs = this.random.pick([1_000, 7_000]);
    await this.both(
      `renew ${lockToken} by ${extendMs}`,
      async () => settled(await ours.renewOrchestrationItemLocks([{ instance, lockToken, extendMs }])),
      () => oneByOne([lockToken], (token) => native.renewOrchestrationItemLock(this.tokens.native(token), extendMs)),
    );
  }

  // Activities

  /** Whether the worker queue stays as short as it must with so many more. */
  private async hasRoomFor(more: number): Promise<boolean> {
    const { client, schemas } = this.sides;
    const { rows } = await client.query<{ count: string }>({
      name: `room ${schemas.ours}`,
      text: `select count(*) from ${schemas.ours}.worker_queue`,
    });
    return Number(rows[0]?.count) + more <= MAX_WORKER_ROWS;
  }

  private async schedule(): Promise<void> {
    const { ours, native } = this.sides;
    const items = this.random.several(1, 2, () =>
      this.random.chance(0.9) ? this.content.activity() : this.content.message(),
    );
    if (!(await this.hasRoomFor(items.length))) return;
    await this.both(
      `schedule ${JSON.stringify(items)}`,
      async () => settled(await ours.enqueueForWorker(items)),
      () => oneByOne(items, (item) => native.enqueueForWorker(item)),
    );
  }

  private async fetchWork(): Promise<void> {
    const { ours, native } = this.sides;
    const limit = this.random.between(1, 3);
    const params: Omit<FetchWorkItems, 'limit'> = {
      lockTimeoutMs: this.random.pick([3_000, 10_000, 60_000]),
      tagFilter: this.tagFilter(),
      ...(this.random.chance(0.6)
        ? { session: { ownerId: this.random.pick(OWNERS), lockTimeoutMs: SESSION_LOCK_MS } }
        : {}),
    };
    let fetched: LockedWorkItem[] = [];
    const theirs: LockedWorkItem[] = [];
    await this.both(
      `fetch ${limit} worker items with ${JSON.stringify(params)}`,
      async () => {
        fetched = await ours.fetchWorkItems({ limit, ...params });
        return fetched.map(comparableWork);
      },
      async () => {
        while (theirs.length < limit) {
          const work = await native.fetchWorkItem(params);
          if (!work) break;
          theirs.push(work);
        }
        return theirs.map(comparableWork);
      },
    );
    fetched.forEach((work, index) => this.tokens.pair(work.lockToken, theirs[index]?.lockToken ?? ''));
    this.works.push(...fetched);
  }

  private tagFilter(): TagFilter {
    const { random } = this;
    switch (random.weighted({ any: 5, defaultOnly: 2, tags: 1, defaultAnd: 2, none: 0.3 })) {
      case 'any':
        return { kind: 'any' };
      case 'defaultOnly':
        return { kind: 'defaultOnly' };
      case 'tags':
        return { kind: 'tags', tags: random.chance(0.5) ? [...TAGS] : [random.pick(TAGS)] };
      case 'defaultAnd':
        return { kind: 'defaultAnd', tags: [random.pick(TAGS)] };
      case 'none':
        return { kind: 'none' };
    }
  }

  private someWorks(most: number): LockedWorkItem[] {
    const chosen: LockedWorkItem[] = [];
    for (let count = this.random.between(1, most); count > 0 && this.works.length > 0; count--) {
      chosen.push(...this.works.splice(this.random.below(this.works.length), 1));
    }
    return chosen;
  }

  private async ackWork(): Promise<void> {
    const { ours, native } = this.sides;
    const elements = this.someWorks(3).map(({ item, instance, lockToken }) => ({
      instance,
      lockToken,
      completion: this.random.weighted({ result: 8, none: 2, wrong: 0.3 }),
      item,
    }));
    const acks = elements.map(({ item, completion, ...lock }) => ({
      ...lock,
      completion:
        completion === 'none'
          ? undefined
          : completion === 'wrong'
            ? this.content.start()
            : this.content.completion(item),
    }));
    await this.both(
      `ack work ${JSON.stringify(acks)}`,
      async () => settled(await ours.ackWorkItems(acks)),
      () => oneByOne(acks, (ack) => native.ackWorkItem(this.tokens.native(ack.lockToken), ack.completion)),
    );
  }

  private async abandonWork(): Promise<void> {
    const { ours, native } = this.sides;
    const elements = this.someWorks(2).map(({ instance, lockToken }) => ({
      instance,
      lockToken,
      ...this.howToAbandon(),
    }));
    await this.both(
      `abandon work ${JSON.stringify(elements)}`,
      async () => settled(await ours.abandonWorkItems(elements)),
      () => oneByOne(elements, (one) => native.abandonWorkItem(this.tokens.native(one.lockToken), one)),
    );
  }

  private async renewWork(): Promise<void> {
    const { ours, native } = this.sides;
    if (this.works.length === 0) return;
    const { instance, lockToken } = this.random.pick(this.works);
    const extendMs = this.random.pick([1_000, 7_000]);
    await this.both(
      `renew work ${lockToken} by ${extendMs}`,
      async () => settled(await ours.renewWorkItemLocks([{ instance, lockToken, extendMs }])),
      () => oneByOne([lockToken], (token) => native.renewWorkItemLock(this.tokens.native(token), extendMs)),
    );
  }

  private async renewSessions(): Promise<void> {
    const { ours, native } = this.sides;
    const ownerIds = this.random.pick([[], [OWNERS[0]], [...OWNERS]]);
    const [extendMs, idleTimeoutMs] = [this.random.pick([500, 9_000]), this.random.pick([0, 2_000, 300_000])];
    await this.both(
      `renew sessions of ${JSON.stringify(ownerIds)} by ${extendMs}, idle ${idleTimeoutMs}`,
      () => ours.renewSessionLock({ ownerIds, extendMs, idleTimeoutMs }),
      () => native.renewSessionLock(ownerIds, extendMs, idleTimeoutMs),
    );
  }

  private async sweepSessions(): Promise<void> {
    const { ours, native } = this.sides;
    await this.both(
      'sweep sessions',
      () => ours.cleanupOrphanedSessions(300_000),
      () => native.cleanupOrphanedSessions(),
    );
  }

  private async unknownToken(): Promise<void> {
    const { ours, native } = this.sides;
    const lock = { instance: this.content.instance(), lockToken: 'lock_unknown' };
    const { instance, lockToken } = lock;
    const [abandon, extendMs] = [this.howToAbandon(), 1_000];
    await this.both(
      'abandon with an unknown token',
      async () => settled(await ours.abandonOrchestrationItems([{ ...lock, ...abandon }])),
      () => oneByOne([lockToken], (token) => native.abandonOrchestrationItem(token, abandon)),
    );
    await this.both(
      'renew with an unknown token',
      async () => settled(await ours.renewOrchestrationItemLocks([{ ...lock, extendMs }])),
      () => oneByOne([lockToken], (token) => native.renewOrchestrationItemLock(token, extendMs)),
    );
    await this.both(
      'ack work with an unknown token',
      async () => settled(await ours.ackWorkItems([{ instance, lockToken }])),
      () => oneByOne([lockToken], (token) => native.ackWorkItem(token)),
    );
  }

  // Reading

  private async look(): Promise<void> {
    const { ours, native } = this.sides;
    const admin = ours.asManagement();
    const instance = this.content.instance();
    const [executionId, key, seen] = [this.random.between(1, 3), this.random.pick(KEYS), this.random.below(3)];
    const status = this.random.pick(['Running', 'Completed', 'Failed', 'ContinuedAsNew']);
    const sorted = async (list: Promise<string[]>) => (await list).sort();
    const questions: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
      ['read', () => ours.read(instance), () => native.read(instance)],
      [
        'readWithExecution',
        () => ours.readWithExecution(instance, executionId),
        () => native.readWithExecution(instance, executionId),
      ],
      ['getCustomStatus', () => ours.getCustomStatus(instance, seen), () => native.getCustomStatus(instance, seen)],
      ['getKvValue', () => ours.getKvValue(instance, key), () => native.getKvValue(instance, key)],
      ['getKvAllValues', () => ours.getKvAllValues(instance), () => native.getKvAllValues(instance)],
      ['getInstanceStats', () => ours.getInstanceStats(instance), () => native.getInstanceStats(instance)],
      // Instances of one millisecond have no order among them.
      ['listInstances', () => sorted(admin.listInstances()), () => sorted(native.admin.listInstances())],
      [
        'listInstancesByStatus',
        () => sorted(admin.listInstancesByStatus(status)),
        () => sorted(native.admin.listInstancesByStatus(status)),
      ],
      ['listExecutions', () => admin.listExecutions(instance), () => native.admin.listExecutions(instance)],
      ['latestExecutionId', () => admin.latestExecutionId(instance), () => native.admin.latestExecutionId(instance)],
      ['getInstanceInfo', () => admin.getInstanceInfo(instance), () => native.admin.getInstanceInfo(instance)],
      [
        'getExecutionInfo',
        () => admin.getExecutionInfo(instance, executionId),
        () => native.admin.getExecutionInfo(instance, executionId),
      ],
      ['getSystemMetrics', () => admin.getSystemMetrics(), () => native.admin.getSystemMetrics()],
      ['getQueueDepths', () => admin.getQueueDepths(), () => native.admin.getQueueDepths()],
      ['listChildren', () => sorted(admin.listChildren(instance)), () => sorted(native.admin.listChildren(instance))],
      ['getParentId', () => admin.getParentId(instance), () => native.admin.getParentId(instance)],
      [
        'getInstanceTree',
        () => sorted(admin.getInstanceTree(instance).then(({ allIds }) => [...allIds])),
        () => sorted(native.admin.getInstanceTree(instance).then(({ allIds }) => [...allIds])),
      ],
    ];
    for (const [name, one, two] of [this.random.pick(questions), this.random.pick(questions)]) {
      await this.both(`${name} of ${instance}`, one, two);
    }
  }

  // Removing

  /** Statuses of the current executions of these instances, and of all below them. */
  private async statusesBelow(roots: readonly string[]): Promise<Map<string, string>> {
    const statuses = new Map<string, string>();
    for (const root of roots) {
      const { allIds } = await this.sides.native.admin.getInstanceTree(root);
      for (const id of allIds) {
        const outcome = await outcomeOf(async () => (await this.sides.native.admin.getInstanceInfo(id)).status);
        if ('value' in outcome) statuses.set(id, String(outcome.value));
      }
    }
    return statuses;
  }

  private async remove(): Promise<void> {
    const { ours, native, reconcile } = this.sides;
    const admin = ours.asManagement();
    const force = this.random.chance(0.5);
    const isAtomic = this.random.chance(0.4);
    const ids = isAtomic ? [...new Set(this.random.several(0, 3, () => this.content.instance()))] : [];
    const instance = this.content.instance();
    const statuses = await this.statusesBelow(isAtomic ? ids : [instance]);
    if (!force && [...statuses.values()].includes('ContinuedAsNew')) return;
    const listed = isAtomic ? ids : [...statuses.keys(), instance];
    await this.both(
      `delete ${JSON.stringify(isAtomic ? ids : instance)}, force ${force}`,
      () => (isAtomic ? admin.deleteInstancesAtomic(ids, force) : admin.deleteInstance(instance, force)),
      async () => {
        const counts = await (isAtomic
          ? native.admin.deleteInstancesAtomic(ids, force)
          : native.admin.deleteInstance(instance, force));
        const children = await reconcile.removeQueuedChildren(listed);
        return { ...counts, queueMessagesDeleted: counts.queueMessagesDeleted + children };
      },
    );
  }

  private async removeBulk(): Promise<void> {
    const { ours, native, reconcile } = this.sides;
    const candidates = new Set(this.random.several(0, 4, () => this.content.instance()));
    for (const id of candidates) {
      const statuses = [...(await this.statusesBelow([id])).values()];
      if (statuses.some((status) => status === 'ContinuedAsNew' || status === 'Running')) candidates.delete(id);
    }
    const filter = {
      instanceIds: [...candidates],
      ...(this.random.chance(0.4) ? { completedBeforeMs: this.pastMoment() } : {}),
    };
    await this.both(
      `delete in bulk ${JSON.stringify(filter)}`,
      () => ours.asManagement().deleteInstanceBulk(filter),
      async () => {
        const before = await native.admin.listInstances();
        const counts = await native.admin.deleteInstanceBulk(filter);
        const after = new Set(await native.admin.listInstances());
        const children = await reconcile.removeQueuedChildren(before.filter((id) => !after.has(id)));
        return { ...counts, queueMessagesDeleted: counts.queueMessagesDeleted + children };
      },
    );
  }

  private pastMoment(): number {
    return this.sides.clock.nowMs() - this.random.pick([-1, 0, 3_000, 20_000]);
  }

  private pruneOptions() {
    return {
      ...(this.random.chance(0.5) ? { keepLast: this.random.below(3) } : {}),
      ...(this.random.chance(0.4) ? { completedBeforeMs: this.pastMoment() } : {}),
    };
  }

  private async prune(): Promise<void> {
    const { ours, native, reconcile } = this.sides;
    const [instance, options] = [this.content.instance(), this.pruneOptions()];
    await this.both(
      `prune ${instance} ${JSON.stringify(options)}`,
      () => ours.asManagement().pruneExecutions(instance, options),
      () => reconcile.withCompletionTimes(() => native.admin.pruneExecutions(instance, options)),
    );
  }

  private async pruneBulk(): Promise<void> {
    const { ours, native, reconcile } = this.sides;
    const filter = this.random.chance(0.5) ? {} : { instanceIds: [this.content.instance(), INSTANCES[0]] };
    const options = this.pruneOptions();
    await this.both(
      `prune in bulk ${JSON.stringify(filter)} ${JSON.stringify(options)}`,
      () => ours.asManagement().pruneExecutionsBulk(filter, options),
      () => reconcile.withCompletionTimes(() => native.admin.pruneExecutionsBulk(filter, options)),
    );
  }

  private async wait(): Promise<void> {
    const ms = this.random.pick([1, 500, 3_000, 10_000]);
    this.log.push(`wait ${ms} ms`);
    this.sides.clock.advance(ms);
  }
}

/** Whether the turn makes an execution row of its own right. */
function saysSomething({ historyDelta, metadata }: RandomTurn): boolean {
  return historyDelta.length > 0 || metadata.status !== undefined || metadata.orchestrationName !== undefined;
}

/** Results of a batch, as outcomes. */
function settled(results: readonly Result[]): Promise<unknown[]> {
  return Promise.all(results.map((result) => outcomeOf(async () => only([result]))));
}

/** The same for calls one after another. */
async function oneByOne<T>(elements: readonly T[], call: (element: T) => Promise<unknown>): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  for (const element of elements) outcomes.push(await outcomeOf(() => call(element)));
  return outcomes;
}

function difference(what: string, ours: unknown, native: unknown): Error {
  return new Error(`${what} (ours ≠ native)\n${differences(ours, native).join('\n')}`);
}
