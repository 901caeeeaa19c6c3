import { type Command, Option } from 'commander';
import type { ScheduleInfo, ScheduleOptions } from '../../client/schedules.js';
import { confirm } from '../confirm.js';
import type { CliContext } from '../context.js';
import type { Act, DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { listedByDefault } from '../listed-by-default.js';
import { nextCommand } from '../output/command-line.js';
import { withoutControls } from '../output/text.js';
import { printSchedule, printSchedules, scheduleDocument } from '../schedule-text.js';
import type { Store } from '../store.js';
import { duration, payload, requireQueueOption, wholeNumber } from '../values.js';

const UPCOMING = 5;
/** Characters of an input unless `--full` is given. */
const INPUT_LENGTH = 100;

export const schedulesCommand: DefineCommand = (program, act) => {
  const schedules = program
    .command('schedules')
    .description('what is started at certain times: look, pause, resume, trigger, create, delete');
  schedules
    .command('list')
    .description('all schedules; the default')
    .argument('[prefix]', 'only ids that begin so')
    .action(act(list));
  listedByDefault(schedules, act(list));
  schedules
    .command('show')
    .description('one schedule, with its next fire times')
    .argument('<id>', 'the schedule')
    .option('--full', 'the input as long as it is')
    .action(act(show));
  defineCreate(schedules, act);
  schedules
    .command('pause')
    .description('stop firing; what comes due meanwhile is left out for good')
    .argument('<id>', 'the schedule')
    .action(act(pause));
  schedules
    .command('resume')
    .description('fire again, from now on')
    .argument('<id>', 'the schedule')
    .action(act(resume));
  schedules
    .command('trigger')
    .description('start an instance now, beside its times')
    .argument('<id>', 'the schedule')
    .option('--wait', 'watch it until it has ended')
    .option('--timeout <duration>', 'with --wait: give up after, e.g. 5m', duration)
    .action(act(trigger));
  schedules
    .command('delete')
    .description('remove a schedule; its instances stay')
    .argument('<id>', 'the schedule')
    .option('-y, --yes', 'do not ask')
    .action(act(remove));
};

interface CreateOptions {
  readonly cron?: string;
  readonly every?: number;
  readonly timeZone?: string;
  readonly catchUp?: ScheduleOptions['catchUp'];
  readonly overlap?: ScheduleOptions['overlap'];
  readonly orchestrationVersion?: string;
  readonly queue?: string;
  readonly key?: string;
  readonly priority?: number;
  readonly paused?: boolean;
  readonly update?: boolean;
}

function defineCreate(schedules: Command, act: Act): void {
  schedules
    .command('create')
    .description('a new schedule, by a cron expression or an interval')
    .argument('<id>', 'its id, and the beginning of the ids of its instances')
    .argument('<orchestration>', 'what is started')
    .argument('[input]', 'JSON; @FILE reads a file, - reads stdin')
    .option(
      '--cron <expression>',
      "five fields, six with seconds in front, or seven with a year behind, e.g. '0 2 * * *'",
    )
    .option('--every <duration>', 'an interval instead, e.g. 15m', duration)
    .option('--time-zone <name>', 'whose clocks the expression means, e.g. Europe/Berlin (default: UTC)')
    .addOption(
      new Option('--catch-up <what>', 'of fires that passed while no worker ran').choices(['one', 'all', 'skip']),
    )
    .addOption(new Option('--overlap <what>', 'while the one before still runs').choices(['allow', 'skip']))
    .option('--orchestration-version <version>', "version (default: the workers' policy)")
    .option('--queue <queue>', 'start queue that its instances go through')
    .option('--key <key>', 'with --queue: what limits per key count together')
    .option('--priority <number>', 'with --queue: higher is earlier (default: 0)', wholeNumber(-1_000_000, 1_000_000))
    .option('--paused', 'without firing until it is resumed')
    .option('--update', 'change the schedule of this id if there is one')
    .action(act(create));
}

async function list(ctx: CliContext, prefix: string | undefined): Promise<void> {
  const { client, schema } = await ctx.open();
  const found = (await client.schedules.list()).filter(({ id }) => id.startsWith(prefix ?? ''));
  ctx.print.answer({ schedules: found.map(scheduleDocument) }, () => {
    if (found.length > 0) {
      printSchedules(ctx, found);
      return;
    }
    const which = prefix === undefined ? '' : ` whose id begins with ${JSON.stringify(prefix)}`;
    ctx.print.note(`no schedules${which} in schema "${schema}"`);
  });
}

async function show(ctx: CliContext, id: string, { full }: { readonly full?: boolean }): Promise<void> {
  const store = await ctx.open();
  const schedule = await requireSchedule(store, id);
  const upcoming = await upcomingOf(store, id);
  const { lastInstanceId } = schedule;
  const instances = lastInstanceId === null ? [] : [lastInstanceId];
  const [last] = await store.provider.instanceStates({ instances, endedOnly: false });
  ctx.print.answer(
    { ...scheduleDocument(schedule), lastInstanceStatus: last?.status ?? null, nextFiresAtMs: upcoming },
    () =>
      printSchedule(ctx, schedule, { upcoming, lastStatus: last?.status, inputLength: full ? Infinity : INPUT_LENGTH }),
  );
}

/** The next fire times: from the one that is due, which another change of the clocks may have moved. */
async function upcomingOf({ provider }: Store, id: string): Promise<number[]> {
  const { nextFireOf } = await import('../../schedule/definition.js');
  const stored = await provider.schedules?.()?.find(id);
  const times: number[] = [];
  for (let next = stored?.nextFireMs ?? null; next !== null && stored && times.length < UPCOMING;) {
    times.push(next);
    next = nextFireOf(id, stored, next);
  }
  return times;
}

async function create(
  ctx: CliContext,
  id: string,
  orchestration: string,
  inputText: string | undefined,
  options: CreateOptions,
): Promise<void> {
  if ((options.cron === undefined) === (options.every === undefined)) {
    const given = options.cron === undefined ? 'neither --cron nor --every was' : 'both --cron and --every were';
    throw new CliError(ExitCode.usage, `${given} given; expected one of them`);
  }
  const { queue, key, priority } = options;
  requireQueueOption(options);
  const input = await payload('the input', inputText, ctx.io);
  const { client, schema } = await ctx.open();
  if (!options.update && (await client.schedules.list()).some((schedule) => schedule.id === id)) {
    const what = `there is a schedule ${JSON.stringify(id)} in schema "${schema}" already`;
    throw new CliError(ExitCode.refused, what, 'choose another id, or pass --update to change it');
  }
  const created = await client.schedules.create({
    id,
    orchestration,
    input,
    cron: options.cron,
    everyMs: options.every,
    timeZone: options.timeZone,
    catchUp: options.catchUp,
    overlap: options.overlap,
    version: options.orchestrationVersion,
    ...{ queue, key, priority },
    paused: options.paused,
    ifExists: options.update ? 'update' : 'error',
  });
  ctx.print.answer(scheduleDocument(created), () => {
    ctx.print.line(options.update ? `${withoutControls(id)} is as you said` : `created ${withoutControls(id)}`);
    tellNext(ctx, created);
  });
}

async function pause(ctx: CliContext, id: string): Promise<void> {
  const store = await ctx.open();
  const { isPaused } = await requireSchedule(store, id);
  await store.client.schedules.pause(id);
  ctx.print.answer(scheduleDocument(await requireSchedule(store, id)), () => {
    ctx.print.line(isPaused ? 'it was paused already' : 'paused');
    ctx.print.note(ctx.print.colors.dim(`let it fire again with: ${nextCommand(ctx, 'schedules resume', id)}`));
  });
}

async function resume(ctx: CliContext, id: string): Promise<void> {
  const store = await ctx.open();
  const { isPaused } = await requireSchedule(store, id);
  await store.client.schedules.resume(id);
  const schedule = await requireSchedule(store, id);
  ctx.print.answer(scheduleDocument(schedule), () => {
    ctx.print.line(isPaused ? 'resumed' : 'it was not paused');
    tellNext(ctx, schedule);
  });
}

interface TriggerOptions {
  readonly wait?: boolean;
  readonly timeout?: number;
}

async function trigger(ctx: CliContext, id: string, { wait, timeout }: TriggerOptions): Promise<ExitCode> {
  if (timeout !== undefined && !wait) {
    throw new CliError(ExitCode.usage, '--timeout was given without --wait; expected both');
  }
  const store = await ctx.open();
  await requireSchedule(store, id);
  const instanceId = await store.client.schedules.trigger(id);
  if (!wait) {
    ctx.print.answer({ id, instanceId }, () => {
      ctx.print.line(withoutControls(instanceId));
      ctx.print.note(ctx.print.colors.dim(`follow it with: ${nextCommand(ctx, 'watch', instanceId)}`));
    });
    return ExitCode.ok;
  }
  ctx.print.note(`started ${withoutControls(instanceId)}`);
  const { follow } = await import('./watch.js');
  return follow(ctx, store, instanceId, {
    ...(timeout === undefined ? {} : { timeout }),
    interval: 200,
    history: true,
  });
}

async function remove(ctx: CliContext, id: string, { yes }: { readonly yes?: boolean }): Promise<void> {
  const store = await ctx.open();
  const { orchestration } = await requireSchedule(store, id);
  await confirm(ctx, `Delete schedule ${JSON.stringify(id)} of ${orchestration}, for good?`, yes, { hasDryRun: false });
  const deleted = await store.client.schedules.delete(id);
  if (!deleted) throw unknown(store, id);
  ctx.print.answer({ id, deleted }, () => ctx.print.line(`deleted ${withoutControls(id)}; its instances stay`));
}

function tellNext({ print }: CliContext, { nextFireAt }: ScheduleInfo): void {
  if (nextFireAt) print.line(`it fires next at ${nextFireAt.toISOString()}`);
}

/** A schedule that must exist. @throws CliError naming it and the schema */
async function requireSchedule(store: Store, id: string): Promise<ScheduleInfo> {
  try {
    return await store.client.schedules.get(id);
  } catch (error) {
    throw error instanceof Error && error.message.includes('there is no schedule') ? unknown(store, id) : error;
  }
}

function unknown({ schema }: Store, id: string): CliError {
  return new CliError(
    ExitCode.notFound,
    `there is no schedule ${JSON.stringify(id)} in schema "${schema}"`,
    'find them with: npx duroxide-drizzle schedules',
  );
}
