import type { ExecutionInfo, InstanceInfo } from '../../provider/admin.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { isNotFound, requireExecution, requireInstance } from '../instances.js';
import {
  counted,
  countText,
  durationText,
  momentText,
  payloadText,
  prettyPayload,
  withoutControls,
} from '../output/text.js';
import type { Store } from '../store.js';
import { wholeNumber } from '../values.js';
import { type Waiting, waitingOf, waitingText } from '../waiting.js';

interface ShowOptions {
  readonly execution?: number;
  readonly events: number;
  readonly full?: boolean;
}

/** Instances of a tree that are shown. */
const MAX_TREE = 200;
const MAX_EXECUTIONS = 20;
/** Characters of payloads unless `--full` is given. */
const PAYLOAD_LENGTH = 100;

export const showCommand: DefineCommand = (program, act) => {
  program
    .command('show')
    .description('one instance: details, tree, executions, key-values and history')
    .argument('<id>', 'the instance')
    .option('--execution <number>', 'history of this execution (default: the current one)', wholeNumber(1))
    .option('--events <count>', 'at most so many events, the latest', wholeNumber(0), 100)
    .option('--full', 'payloads as long as they are')
    .action(act(show));
};

interface TreeNode {
  readonly instanceId: string;
  readonly parentInstanceId: string | null;
  readonly orchestrationName: string;
  readonly status: string;
}

async function show(ctx: CliContext, id: string, options: ShowOptions): Promise<void> {
  const store = await ctx.open();
  const info = await requireInstance(store, id);
  const waiting = await waitingOf(store, id);
  if (options.execution !== undefined) await requireExecution(store, id, options.execution);
  const executionId = options.execution ?? info.currentExecutionId;
  const history = await store.provider.readWithExecution(id, executionId);
  const shown = options.events === 0 ? [] : history.slice(-options.events);
  const state = (await store.provider.instanceStates({ instances: [id], endedOnly: false }))[0];
  const { executions, totalExecutions } = await executionsOf(store, id);
  const { tree, treeSize } = await treeOf(store, info);
  const keyValues = Object.fromEntries(await store.provider.getKvAllValues(id));
  const { encodeEvent } = await import('../../wire/event.js');
  const { eventText } = await import('../output/event-text.js');
  ctx.print.answer(
    {
      instance: { ...info, customStatus: state?.customStatus ?? null },
      waiting,
      executions,
      totalExecutions,
      tree,
      treeSize,
      keyValues,
      history: {
        executionId,
        totalEvents: history.length,
        events: shown.map((event) => JSON.parse(encodeEvent(event)) as unknown),
      },
    },
    () => {
      const { print } = ctx;
      const length = options.full ? Infinity : PAYLOAD_LENGTH;
      printDetails(ctx, info, state?.customStatus ?? null, length);
      if (waiting) printWaiting(ctx, waiting);
      if (executions.length > 1) printExecutions(ctx, executions, totalExecutions);
      if (tree.length > 1) printTree(ctx, { tree, treeSize, shown: id });
      if (Object.keys(keyValues).length > 0) {
        print.line(`\n${print.colors.bold('Key-values')}`);
        for (const [key, value] of Object.entries(keyValues)) {
          print.line(`  ${withoutControls(key)} = ${payloadText(value, length)}`);
        }
      }
      printHistory(ctx, { executionId, history, shown }, (event) => eventText(event, length));
    },
  );
}

function printDetails({ print }: CliContext, info: InstanceInfo, customStatus: string | null, length: number): void {
  const { bold } = print.colors;
  const line = (name: string, value: string) => print.line(`  ${name.padEnd(15)}${value}`);
  print.line(`${bold(withoutControls(info.instanceId))}  ${print.status(info.status)}`);
  line('orchestration', withoutControls(`${info.orchestrationName} ${info.orchestrationVersion}`));
  line('execution', String(info.currentExecutionId));
  line('created', momentText(info.createdAtMs));
  line('updated', `${momentText(info.updatedAtMs)} (after ${durationText(info.updatedAtMs - info.createdAtMs)})`);
  if (info.parentInstanceId !== null) line('parent', withoutControls(info.parentInstanceId));
  if (customStatus !== null) line('custom status', payloadText(customStatus, length));
  if (info.output === null) return;
  if (info.status === 'Failed') line('error', print.colors.red(payloadText(info.output, length)));
  else if (length === Infinity)
    print.line(`  output\n${prettyPayload(info.output).split('\n').map(withoutControls).join('\n')}`);
  else line('output', payloadText(info.output, length));
}

function printWaiting({ print }: CliContext, waiting: Waiting): void {
  print.line(`  ${'waiting'.padEnd(15)}${print.colors.yellow(waitingText(waiting))}`);
  print.line(`  ${' '.repeat(15)}${print.colors.dim(`→ ${withoutControls(waiting.advice)}`)}`);
}

/** The latest executions. */
async function executionsOf({ admin }: Store, id: string) {
  const ids = await admin.listExecutions(id);
  const executions: ExecutionInfo[] = [];
  for (const executionId of ids.slice(-MAX_EXECUTIONS)) executions.push(await admin.getExecutionInfo(id, executionId));
  return { executions, totalExecutions: ids.length };
}

function printExecutions({ print }: CliContext, executions: readonly ExecutionInfo[], total: number): void {
  print.line(`\n${print.colors.bold('Executions')}`);
  const earlier = total - executions.length;
  if (earlier > 0) print.line(print.colors.dim(`  … ${counted(earlier, 'earlier execution')}; --execution shows one`));
  print.table(
    ['  EXECUTION', 'STATUS', 'STARTED', 'EVENTS'],
    executions.map(({ executionId, status, startedAtMs, eventCount }) => [
      `  ${executionId}`,
      status,
      momentText(startedAtMs),
      String(eventCount),
    ]),
  );
}

/** The whole tree that the instance is part of, from its root. */
async function treeOf({ admin }: Store, info: InstanceInfo): Promise<{ tree: TreeNode[]; treeSize: number }> {
  let root = info;
  for (let climbs = 0; root.parentInstanceId !== null && climbs < 100; climbs++) {
    const parent = await admin.getInstanceInfo(root.parentInstanceId).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    // A parent that was deleted, or never was: the tree begins here.
    if (!parent) break;
    root = parent;
  }
  const { allIds } = await admin.getInstanceTree(root.instanceId);
  const nodes: TreeNode[] = [];
  for (const instanceId of allIds.slice(0, MAX_TREE)) {
    const node = instanceId === info.instanceId ? info : await admin.getInstanceInfo(instanceId);
    const { parentInstanceId, orchestrationName, status } = node;
    nodes.push({ instanceId, parentInstanceId, orchestrationName, status });
  }
  return { tree: nodes, treeSize: allIds.length };
}

interface ShownTree {
  readonly tree: readonly TreeNode[];
  readonly treeSize: number;
  /** The instance that was asked for. */
  readonly shown: string;
}

function printTree({ print }: CliContext, { tree, treeSize, shown }: ShownTree): void {
  print.line(`\n${print.colors.bold('Tree')}`);
  const walk = (node: TreeNode, before: string, mark: string) => {
    const id = withoutControls(node.instanceId);
    const name = node.instanceId === shown ? print.colors.bold(id) : id;
    print.line(`  ${before}${mark}${name}  ${withoutControls(node.orchestrationName)}  ${print.status(node.status)}`);
    const children = tree.filter((child) => child !== node && child.parentInstanceId === node.instanceId);
    const inside = mark === '' ? '' : mark.startsWith('└') ? '   ' : '│  ';
    children.forEach((child, index) => walk(child, before + inside, index === children.length - 1 ? '└─ ' : '├─ '));
  };
  const [root] = tree;
  if (root) walk(root, '', '');
  if (treeSize > tree.length) {
    print.line(print.colors.dim(`  … and ${countText(treeSize - tree.length)} more; list --parent shows children`));
  }
}

interface ShownHistory {
  readonly executionId: number;
  readonly history: readonly HistoryEvent[];
  readonly shown: readonly HistoryEvent[];
}

function printHistory(
  { print }: CliContext,
  { executionId, history, shown }: ShownHistory,
  text: (event: HistoryEvent) => string,
): void {
  print.line(`\n${print.colors.bold(`History of execution ${executionId}`)}`);
  if (shown.length < history.length) {
    print.line(
      print.colors.dim(`  … ${history.length - shown.length} earlier events; --events ${history.length} shows them`),
    );
  }
  for (const event of shown) {
    const failed = event.kind.endsWith('Failed');
    const line = text(event);
    const id = String(event.eventId).padStart(5);
    print.line(`${id}  ${print.colors.dim(momentText(event.timestampMs))}  ${failed ? print.colors.red(line) : line}`);
  }
}
