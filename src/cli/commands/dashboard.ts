import { randomBytes } from 'node:crypto';
import { errorText } from '../../base/error-text.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { wholeNumber } from '../values.js';

interface DashboardCommandOptions {
  readonly host: string;
  readonly port: number;
  readonly token?: string;
  readonly readOnly?: boolean;
  readonly allowHost?: readonly string[];
}

export const dashboardCommand: DefineCommand = (program, act) => {
  program
    .command('dashboard')
    .description('a web page on this schema, until interrupted')
    .option('--host <address>', 'address to listen on; others than loopback need a token', '127.0.0.1')
    .option('--port <number>', 'port; 0: any that is free', wholeNumber(0, 65_535), 4600)
    .option('--token <token>', 'what viewers have to present (default: DUROXIDE_DASHBOARD_TOKEN)')
    .option('--allow-host <names...>', 'names under which it is reached, besides localhost and addresses')
    .option('--read-only', 'nobody may change anything')
    .action(act(dashboard));
};

async function dashboard(ctx: CliContext, options: DashboardCommandOptions): Promise<ExitCode> {
  const { provider } = await ctx.open();
  const { startDashboard } = await import('../../dashboard/index.js');
  const given = options.token ?? ctx.io.env['DUROXIDE_DASHBOARD_TOKEN'];
  const isLocal = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/.test(options.host);
  const token = given ?? (isLocal ? undefined : randomBytes(24).toString('base64url'));
  ctx.handlesInterrupt();
  const running = await startDashboard({
    provider,
    host: options.host,
    port: options.port,
    ...(token === undefined ? {} : { token }),
    ...(options.readOnly ? { readOnly: true } : {}),
    ...(options.allowHost === undefined ? {} : { allowedHosts: options.allowHost }),
  }).catch((error: unknown) => {
    const message = errorText(error);
    const isUsage = error instanceof RangeError;
    throw message.startsWith('dashboard: ')
      ? new CliError(isUsage ? ExitCode.usage : ExitCode.refused, message)
      : error;
  });
  // A token of our own making is shown once; one that was given is known already.
  const generated = given === undefined && token !== undefined;
  const url = generated ? `${running.url}?token=${token}` : running.url;
  ctx.print.answer({ url, port: running.port, readOnly: options.readOnly === true }, () => {
    ctx.print.line(`the dashboard is at ${url}`);
    ctx.print.note(ctx.print.colors.dim('Ctrl-C ends it'));
  });
  await aborted(ctx.io.signal);
  await running.close();
  return ExitCode.ok;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
