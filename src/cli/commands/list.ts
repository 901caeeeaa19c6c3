import { Option } from 'commander';
import type { InstancePageQuery, InstanceSummary } from '../../provider/instance-pages.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { countText, momentText, payloadText, shellQuoted } from '../output/text.js';
import { pastMoment, STATUSES, statusName, wholeNumber } from '../values.js';

interface ListOptions {
  readonly status?: string;
  readonly name?: string;
  readonly parent?: string;
  readonly roots?: boolean;
  readonly prefix?: string;
  readonly customStatus?: string;
  readonly since?: number;
  readonly until?: number;
  readonly updatedSince?: number;
  readonly updatedUntil?: number;
  readonly limit: number;
  readonly after?: string;
  readonly all?: boolean;
}

/** Rows that a page of the store brings at most. */
const STORE_PAGE = 1_000;

const LOOKING = { doing: 'looking', done: 'looked', failed: 'stopped' };

export const listCommand: DefineCommand = (program, act) => {
  program
    .command('list')
    .description('instances, newest first')
    .addOption(new Option('--status <status>', 'of this status').choices(STATUSES).argParser(statusName))
    .option('--name <orchestration>', 'of this orchestration')
    .option('--parent <id>', 'children of this instance')
    .option('--roots', 'only instances without a parent')
    .option('--prefix <text>', 'ids that begin so')
    .option('--custom-status <text>', 'custom statuses that begin so')
    .option('--since <moment>', 'created at or after, e.g. 2030-05-01 or 2h', pastMoment)
    .option('--until <moment>', 'created before', pastMoment)
    .option('--updated-since <moment>', 'that did something, or ended, at or after', pastMoment)
    .option('--updated-until <moment>', 'that did nothing since', pastMoment)
    .option('--limit <count>', 'so many', wholeNumber(1, 100_000), 50)
    .option('--after <cursor>', 'go on behind the page that gave this cursor')
    .option('--all', 'all pages; with --json one document per line')
    .action(act(list));
};

async function list(ctx: CliContext, options: ListOptions): Promise<void> {
  const query = queryOf(options);
  const store = await ctx.open();
  if (options.all) return listAll(ctx, options);

  // What matches rarely, and long ago, takes many pages of the store.
  const { withSpinner } = await import('../progress.js');
  const { rows, next } = await withSpinner(ctx, LOOKING, async ({ say }) => {
    const found: InstanceSummary[] = [];
    let after = options.after;
    for (;;) {
      ctx.io.signal.throwIfAborted();
      const limit = Math.min(options.limit - found.length, STORE_PAGE);
      const page = await store.admin.listInstancesPage({ ...query, after, limit });
      found.push(...page.instances);
      say(`${countText(found.length)} found`);
      if (page.next === null || found.length === options.limit) return { rows: found, next: page.next };
      after = page.next;
    }
  });

  ctx.print.answer({ instances: rows, next }, () => {
    if (rows.length === 0) ctx.print.note('no instances');
    else printRows(ctx, rows);
    if (next !== null) ctx.print.note(ctx.print.colors.dim(`more with: --after ${shellQuoted(next)}`));
  });
}

async function listAll(ctx: CliContext, options: ListOptions): Promise<void> {
  const { instancesOf } = await import('../instances.js');
  const { withSpinner } = await import('../progress.js');
  const store = await ctx.open();
  await withSpinner(ctx, LOOKING, async ({ say, above }) => {
    let batch: InstanceSummary[] = [];
    let count = 0;
    for await (const row of instancesOf(store, { ...queryOf(options), after: options.after }, STORE_PAGE)) {
      // The terminal may be gone, or the user may have had enough.
      ctx.io.signal.throwIfAborted();
      count += 1;
      say(`${countText(count)} found`);
      if (ctx.print.json) ctx.io.stdout.write(`${JSON.stringify(row)}\n`);
      else if (batch.push(row) === STORE_PAGE) {
        above(() => printRows(ctx, batch));
        batch = [];
      }
    }
    if (!ctx.print.json && (batch.length > 0 || count === 0)) above(() => printRows(ctx, batch));
  });
}

function queryOf(options: ListOptions): Omit<InstancePageQuery, 'limit' | 'after'> {
  if (options.roots && options.parent !== undefined) {
    throw new CliError(ExitCode.usage, 'both --roots and --parent were given; expected one of them');
  }
  return {
    status: options.status,
    name: options.name,
    parent: options.roots ? null : options.parent,
    idPrefix: options.prefix,
    customStatusPrefix: options.customStatus,
    createdAfterMs: options.since,
    createdBeforeMs: options.until,
    updatedAfterMs: options.updatedSince,
    updatedBeforeMs: options.updatedUntil,
  };
}

function printRows({ print }: CliContext, rows: readonly InstanceSummary[]): void {
  print.table(
    ['INSTANCE', 'ORCHESTRATION', 'STATUS', 'CREATED', 'UPDATED', 'CUSTOM STATUS'],
    rows.map((row) => [
      row.instanceId,
      `${row.orchestrationName} ${row.orchestrationVersion}`,
      row.status,
      momentText(row.createdAtMs),
      momentText(row.updatedAtMs),
      payloadText(row.customStatus ?? (row.status === 'Failed' ? (row.outputPreview ?? '') : ''), 60),
    ]),
    { canMiss: ['UPDATED', 'CREATED', 'CUSTOM STATUS', 'ORCHESTRATION'] },
  );
}
