import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { nextCommand } from '../output/command-line.js';
import { shellQuoted } from '../output/text.js';
import { duration, payload, requireOrchestration, requireQueueOption, wholeNumber } from '../values.js';

interface StartOptions {
  readonly id?: string;
  readonly version?: string;
  readonly queue?: string;
  readonly key?: string;
  readonly priority?: number;
  readonly wait?: boolean;
  readonly timeout?: number;
}

export const startCommand: DefineCommand = (program, act) => {
  program
    .command('start')
    .description('start an orchestration')
    .argument('<orchestration>', 'its name')
    .argument('[input]', 'JSON; @FILE reads a file, - reads stdin')
    .option('--id <id>', 'id of the instance (default: a new UUID)')
    .option('--orchestration-version <version>', "version (default: the workers' policy)")
    .option('--queue <queue>', 'start queue whose limits say when it begins')
    .option('--key <key>', 'with --queue: what limits per key count together')
    .option('--priority <number>', 'with --queue: higher is earlier (default: 0)', wholeNumber(-1_000_000, 1_000_000))
    .option('--wait', 'watch it until it has ended')
    .option('--timeout <duration>', 'with --wait: give up after, e.g. 5m', duration)
    .action(act(start));
};

async function start(
  ctx: CliContext,
  name: string,
  inputText: string | undefined,
  options: StartOptions & { readonly orchestrationVersion?: string },
): Promise<ExitCode> {
  if (options.timeout !== undefined && !options.wait) {
    throw new CliError(ExitCode.usage, '--timeout was given without --wait; expected both');
  }
  requireOrchestration(name);
  const { queue, key, priority } = options;
  requireQueueOption(options);
  const input = await payload('the input', inputText, ctx.io);
  const store = await ctx.open();
  const id = options.id ?? (await import('uuid')).v7();
  const [existing] = await store.provider.instanceStates({ instances: [id], endedOnly: false });
  if (existing) {
    throw new CliError(
      ExitCode.refused,
      `instance ${JSON.stringify(id)} exists already (${existing.orchestrationName}, ${existing.status}); expected an id that is free`,
    );
  }
  const definition = (await import('../../typed/definitions.js')).declareOrchestration<unknown, unknown>(name);
  const version = options.orchestrationVersion;
  // Somebody else may start the id at this moment: of two exactly one does.
  await store.client.start(definition, input, { id, version, ifExists: 'error', queue, key, priority });
  if (!options.wait) {
    ctx.print.answer({ instanceId: id }, () => {
      ctx.print.line(id);
      ctx.print.note(ctx.print.colors.dim(`follow it with: ${nextCommand(ctx, 'watch', id)}`));
    });
    return ExitCode.ok;
  }
  const { follow } = await import('./watch.js');
  ctx.print.note(`started ${shellQuoted(id)}`);
  return follow(ctx, store, id, {
    ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
    interval: 200,
    history: true,
  });
}
