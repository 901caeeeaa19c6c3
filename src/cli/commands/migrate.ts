import type { MigrateOptions, MigrationReport, SchemaStatus } from '../../provider/drizzle/migrate/index.js';
import { confirm } from '../confirm.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { withSpinner } from '../progress.js';
import type { OpenDatabase } from '../store.js';
import { type Target, targetOf, targetText } from '../target.js';

interface MigrateCommandOptions {
  readonly dryRun?: boolean;
  readonly adoptIndexes?: boolean;
  readonly adoptTables?: boolean;
  readonly notifyTriggers?: boolean;
  readonly storedFunctions?: boolean;
  readonly handOverToNative?: boolean;
  readonly yes?: boolean;
}

export const migrateCommand: DefineCommand = (program, act) => {
  program
    .command('migrate')
    .description('create or update the tables, or add to those of native duroxide')
    .option('--dry-run', 'print the SQL, and change nothing')
    .option('--adopt-indexes', 'our indexes in a schema that native made, without locking writers out')
    .option('--adopt-tables', 'our own tables in a schema that native made')
    .option('--notify-triggers', "triggers that tell our workers of native's enqueues")
    .option('--stored-functions', 'the functions of StoredFunctionProvider')
    .option('--hand-over-to-native', 'give a schema of this package to native duroxide; stop all workers before')
    .option('-y, --yes', 'do not ask before a hand-over')
    .action(act(migrate));
};

async function migrate(ctx: CliContext, options: MigrateCommandOptions): Promise<void> {
  if (options.handOverToNative) refuseOthers(options);
  const target = targetOf(ctx.options, ctx.io);
  const { openDatabase } = await import('../store.js');
  const database = await openDatabase(target, options.dryRun !== true);
  try {
    const { schema, allowNewer } = ctx.options;
    if (options.handOverToNative) {
      await handOver(ctx, database, options, targetText(target));
      return;
    }
    const { migrateSchema } = await import('../../provider/drizzle/migrate/index.js');
    const report = await building(ctx, target, () =>
      migrateSchema(database.driver, { ...asked(options), schema, allowNewer }),
    );
    print(ctx, report, options.dryRun === true);
  } finally {
    await database.close();
  }
}

function asked({
  dryRun,
  adoptIndexes,
  adoptTables,
  notifyTriggers,
  storedFunctions,
}: MigrateCommandOptions): MigrateOptions {
  return { dryRun, adoptIndexes, adoptTables, notifyTriggers, storedFunctions };
}

function refuseOthers(options: MigrateCommandOptions): void {
  const others = Object.entries(asked(options)).filter(([name, given]) => given && name !== 'dryRun');
  if (others.length > 0) {
    throw new CliError(ExitCode.usage, '--hand-over-to-native was given with other additions; expected it alone');
  }
}

async function handOver(ctx: CliContext, { driver }: OpenDatabase, options: MigrateCommandOptions, where: string) {
  const { handOverToNative, inspectSchema, SchemaError } = await import('../../provider/drizzle/migrate/index.js');
  const { schema, allowNewer } = ctx.options;
  if (options.dryRun) {
    const status = await inspectSchema(driver, { schema, allowNewer });
    if (status.refusal) throw status.refusal;
    if (status.origin !== 'ours' && status.origin !== 'handedOver') {
      throw new SchemaError('occupied', schema, 'only a schema of this package can be handed over');
    }
    const done = status.origin === 'handedOver';
    ctx.print.answer({ schema, origin: status.origin, wouldHandOver: !done }, () =>
      ctx.print.line(done ? 'handed over already' : `would hand schema "${schema}" over to native duroxide`),
    );
    return;
  }
  await confirm(
    ctx,
    `Hand schema "${schema}" of ${where} over to native duroxide? All workers must be stopped.`,
    options.yes,
  );
  print(ctx, await handOverToNative(driver, { schema, allowNewer }), false);
}

/** Building indexes takes its time: a terminal is told how far PostgreSQL is with them. */
async function building(
  ctx: CliContext,
  target: Target,
  work: () => Promise<MigrationReport>,
): Promise<MigrationReport> {
  const labels = { doing: 'migrating', done: 'migrated', failed: 'not migrated' };
  return withSpinner(ctx, labels, async ({ say }) => {
    // PGlite has one connection, and that is at work.
    if (!ctx.print.isInteractive || target.kind !== 'postgres') return work();
    const { withIndexProgress } = await import('../index-progress.js');
    const report = await withIndexProgress({ target, schema: ctx.options.schema, say }, work);
    say('');
    return report;
  });
}

function print(ctx: CliContext, { status, applied, sql }: MigrationReport, dryRun: boolean): void {
  const summary = {
    schema: status.schema,
    origin: status.origin,
    nativeLevel: status.nativeLevel,
    applied,
    missingIndexes: status.missingIndexes,
    missingTables: status.missingTables,
    notifyTriggers: status.notifyTriggers,
    storedFunctions: status.storedFunctions,
  };
  ctx.print.answer(dryRun ? { ...summary, dryRun, sql } : summary, () => {
    if (dryRun) for (const statement of sql) ctx.print.line(`${statement};`);
    else if (applied.length === 0) ctx.print.line(`schema "${status.schema}" is up to date`);
    else for (const what of applied) ctx.print.line(`applied ${what}`);
    if (dryRun && sql.length === 0) ctx.print.note(`nothing to do: schema "${status.schema}" is up to date`);
    for (const hint of hints(status)) ctx.print.note(ctx.print.colors.dim(hint));
  });
}

function hints({ missingIndexes, missingTables, origin }: SchemaStatus): string[] {
  if (origin === 'absent') return [];
  return [
    ...(missingIndexes.length > 0 ? [`missing indexes of ours: ${missingIndexes.join(', ')} (--adopt-indexes)`] : []),
    ...(missingTables.length > 0 ? [`missing tables of ours: ${missingTables.join(', ')} (--adopt-tables)`] : []),
  ];
}
