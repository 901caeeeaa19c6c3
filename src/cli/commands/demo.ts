import { randomUUID } from 'node:crypto';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { targetOf } from '../target.js';

/** Where the demo keeps its tables on a server, unless `--schema` says something else. */
const DEMO_SCHEMA = 'duroxide_demo';

export const demoCommand: DefineCommand = (program, act) => {
  program
    .command('demo')
    .description('an order that survives its worker: in memory, or in the database that is given')
    .option('--keep', 'on a server: leave the schema there, to look at')
    .action(act(demo));
};

async function demo(ctx: CliContext, { keep }: { readonly keep?: boolean }): Promise<ExitCode> {
  const { DrizzleProvider } = await import('../../provider/drizzle/drizzle-provider.js');
  const { silentLogger } = await import('../../base/logger.js');
  const { runDemo } = await import('../demo/run-demo.js');
  const inMemory = ctx.options.url === undefined && ctx.options.pglite === undefined && !ctx.io.env['DATABASE_URL'];
  const schema = ctx.options.schema === 'public' ? DEMO_SCHEMA : ctx.options.schema;
  const options = { schema, logger: silentLogger };
  const target = inMemory ? undefined : targetOf(ctx.options, ctx.io);
  const provider =
    target === undefined
      ? await DrizzleProvider.embedded(options)
      : target.kind === 'pglite'
        ? await DrizzleProvider.embedded({ ...options, directory: target.directory })
        : await DrizzleProvider.connect(target.url, options);
  const steps: string[] = [];
  const say = (text: string) => {
    steps.push(text);
    if (!ctx.print.json) ctx.print.line(`  ${text}`);
  };
  const instanceId = `order-${randomUUID()}`;
  // Also where it is broken off, the schema goes.
  ctx.handlesInterrupt();
  try {
    const { status, output, error } = await runDemo({ provider, instanceId, say, signal: ctx.io.signal });
    if (status !== 'Completed') throw new CliError(ExitCode.negative, `the order ended as ${status}: ${error ?? ''}`);
    ctx.print.answer({ instanceId, schema, steps, output }, () => {
      ctx.print.line(ctx.print.colors.green(String(output)));
      if (keep) ctx.print.note(`look at it with: npx duroxide-drizzle show ${instanceId} --schema ${schema}`);
    });
    return ExitCode.ok;
  } finally {
    if (target !== undefined && !keep && schema === DEMO_SCHEMA) await provider.asManagement().cleanupSchema();
    await provider.close();
  }
}
