import type { InstanceState } from '../../provider/provider.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { momentText, payloadText } from '../output/text.js';
import type { Store } from '../store.js';
import { duration } from '../values.js';

interface WatchOptions {
  readonly timeout?: number;
  readonly interval: number;
  readonly history: boolean;
}

const PAYLOAD_LENGTH = 100;

export const watchCommand: DefineCommand = (program, act) => {
  program
    .command('watch')
    .description('an instance, live until it has ended; exits with 7 when it failed')
    .argument('<id>', 'the instance')
    .option('--timeout <duration>', 'give up after, e.g. 5m (exit code 8)', duration)
    .option('--interval <duration>', 'look so often', duration, 1_000)
    .option('--no-history', 'only changes of its status')
    .action(act(watch));
};

/** Also what `start --wait` ends with. */
export async function watch(ctx: CliContext, id: string, options: WatchOptions): Promise<ExitCode> {
  const store = await ctx.open();
  const { noteIfNotBegun, requireKnown } = await import('../instances.js');
  noteIfNotBegun(ctx.print, await requireKnown(store, id));
  return follow(ctx, store, id, options);
}

/** Follows an instance that need not have begun yet. */
export async function follow(ctx: CliContext, store: Store, id: string, options: WatchOptions): Promise<ExitCode> {
  const startedAt = performance.now();
  const seen: Seen = { executionId: 0, eventId: 0, customStatusVersion: 0, updatedAtMs: undefined };
  for (;;) {
    ctx.io.signal.throwIfAborted();
    const [state] = await store.provider.instanceStates({ instances: [id], endedOnly: false });
    if (state?.unreadable) throw state.unreadable;
    if (state) await report(ctx, store, { state, seen, withHistory: options.history });
    else await requireStart(store, id, seen);
    if (state?.status === 'Completed' || state?.status === 'Failed') return ended(ctx, state);
    const leftMs = options.timeout === undefined ? Infinity : options.timeout - (performance.now() - startedAt);
    if (leftMs <= 0) throw await timedOut(store, id);
    await pause(Math.min(options.interval, leftMs), ctx.io.signal);
  }
}

/** One that was seen is gone; of one that was not, the start may have been taken away. @throws CliError */
async function requireStart(store: Store, id: string, seen: Seen): Promise<void> {
  const deleted = new CliError(ExitCode.notFound, `instance ${JSON.stringify(id)} was deleted`);
  if (seen.executionId > 0) throw deleted;
  const { requireKnown } = await import('../instances.js');
  await requireKnown(store, id).catch((error: unknown) => {
    throw error instanceof CliError ? deleted : error;
  });
}

/** Why it has not ended, as `show` says it. */
async function timedOut(store: Store, id: string): Promise<CliError> {
  const { requireKnown } = await import('../instances.js');
  const known = await requireKnown(store, id);
  if ('pending' in known) {
    const { notBegun } = await import('../pending-start.js');
    return notBegun(ExitCode.timeout, known.pending);
  }
  const { waitingOf, waitingText } = await import('../waiting.js');
  const waiting = await waitingOf(store, id);
  const still = `instance ${JSON.stringify(id)} is ${known.info.status} still`;
  return waiting
    ? new CliError(ExitCode.timeout, `${still}: ${waitingText(waiting)}`, waiting.advice)
    : new CliError(ExitCode.timeout, still);
}

interface Seen {
  executionId: number;
  eventId: number;
  customStatusVersion: number;
  /** Of the instance, when its history was read last. */
  updatedAtMs: number | undefined;
}

interface Look {
  readonly state: InstanceState;
  /** How far it was reported. */
  readonly seen: Seen;
  readonly withHistory: boolean;
}

async function report(ctx: CliContext, store: Store, { state, seen, withHistory }: Look): Promise<void> {
  const { print, io } = ctx;
  if (withHistory && (await isNews(store, state, seen))) {
    // What happened in executions that came and went between two looks is told, too.
    const from = seen.executionId === 0 ? state.executionId : seen.executionId;
    for (let executionId = from; executionId <= state.executionId; executionId++) {
      if (executionId !== seen.executionId) Object.assign(seen, { executionId, eventId: 0 });
      const events = await store.provider.readWithExecution(state.instance, executionId);
      const { eventText } = await import('../output/event-text.js');
      const { encodeEvent } = await import('../../wire/event.js');
      for (const event of events.filter(({ eventId }) => eventId > seen.eventId)) {
        seen.eventId = event.eventId;
        if (print.json) io.stdout.write(`{"type":"event","event":${encodeEvent(event)}}\n`);
        else {
          const line = eventText(event, PAYLOAD_LENGTH);
          const when = print.colors.dim(momentText(event.timestampMs));
          print.line(`${when}  ${event.kind.endsWith('Failed') ? print.colors.red(line) : line}`);
        }
      }
    }
  }
  if (state.customStatusVersion > seen.customStatusVersion) {
    seen.customStatusVersion = state.customStatusVersion;
    if (print.json) io.stdout.write(`${JSON.stringify({ type: 'customStatus', customStatus: state.customStatus })}\n`);
    else if (!withHistory)
      print.line(`custom status: ${payloadText(state.customStatus ?? '(cleared)', PAYLOAD_LENGTH)}`);
  }
  seen.executionId = state.executionId;
}

/** A long history is not read again and again while nothing happens. */
async function isNews({ admin }: Store, { instance, status }: InstanceState, seen: Seen): Promise<boolean> {
  const { updatedAtMs } = await admin.getInstanceInfo(instance);
  const isNew = updatedAtMs !== seen.updatedAtMs || status === 'Completed' || status === 'Failed';
  seen.updatedAtMs = updatedAtMs;
  return isNew;
}

function ended({ print, io }: CliContext, { instance, status, output }: InstanceState): ExitCode {
  if (print.json) io.stdout.write(`${JSON.stringify({ type: 'end', instanceId: instance, status, output })}\n`);
  else print.line(`${print.status(status)}${output === null ? '' : `: ${payloadText(output, 2 * PAYLOAD_LENGTH)}`}`);
  return status === 'Completed' ? ExitCode.ok : ExitCode.negative;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
