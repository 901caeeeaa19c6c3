import type { CreateDriver, EnginePort, ExecutionInfo, OrchestrationDriver, Token } from '../replay/driver.js';
import type { TraceLevel, WriteTrace } from '../tracing/trace-record.js';
import type { Outcome, Scheduler, StartBranch } from './branches.js';
import { OrchestrationContext } from './orchestration-context.js';
import { decodeTwice, fromPayload, toPayload } from './payload.js';
import type { Task } from './scheduled-task.js';
import type { Resume } from './task-branches.js';
import { branchOf } from './task-branches.js';
import { InvalidTaskError, readTask } from './task-reader.js';

/** A generator function of the drop-in API; what it yields are descriptors of its context. */
export type GeneratorOrchestration = (
  ctx: OrchestrationContext,
  input: never,
) => Iterator<unknown, unknown, never> | Generator<unknown, unknown, never>;

export interface GeneratorOptions {
  readonly writeTrace: WriteTrace;
}

/** Runs a generator function as an orchestration (node-api.md 6). */
export function generatorOrchestration(fn: GeneratorOrchestration, { writeTrace }: GeneratorOptions): CreateDriver {
  return (port, info) => new GeneratorDriver({ fn: fn as AnyFunction, port, info, writeTrace });
}

/** What registered functions turn out to be at run time. */
type AnyFunction = (ctx: OrchestrationContext, input: unknown) => unknown;

interface Parts {
  readonly fn: AnyFunction;
  readonly port: EnginePort;
  readonly info: ExecutionInfo;
  readonly writeTrace: WriteTrace;
}

/** An application failure that the generator cannot catch. */
class UncatchableError extends Error {
  override readonly name = 'UncatchableError';
}

class GeneratorDriver implements OrchestrationDriver {
  private readonly waiting = new Map<Token, (outcome: Outcome) => void>();
  private readonly scheduler: Scheduler;
  private generator: Iterator<unknown, unknown, unknown> | undefined;
  /** Nothing resumes the generator any more; its `finally` blocks do not run, as in native. */
  private isOver = false;

  constructor(private readonly parts: Parts) {
    const { port } = parts;
    this.scheduler = {
      schedule: (action, onOutcome) => {
        const token = port.emit(action);
        this.waiting.set(token, onOutcome);
        return token;
      },
      decide: (action) => void port.emit(action),
      drop: (token) => {
        this.waiting.delete(token);
        port.drop(token);
      },
      panic: (message) => {
        this.isOver = true;
        port.done({ kind: 'panic', message });
      },
      warn: (message) => {
        if (!port.replaying) this.trace('warn', message);
      },
    };
  }

  start(): void {
    const { fn, port, info } = this.parts;
    const context = new OrchestrationContext({ info, port, trace: (level, message) => this.trace(level, message) });
    this.guard(() => {
      const made = fn(context, info.input === '' ? undefined : fromPayload(info.input));
      this.generator = asIterator(made, info.name);
      this.advance({ kind: 'next', value: undefined });
    });
  }

  deliver(token: Token, value: string | null, failed: boolean): void {
    const onOutcome = this.waiting.get(token);
    this.waiting.delete(token);
    this.guard(() => onOutcome?.({ ok: !failed, text: value ?? 'null' }));
  }

  /** Whatever the user's code throws ends the instance; nothing of it reaches the engine. */
  private guard(step: () => void): void {
    if (this.isOver) return;
    try {
      step();
    } catch (error) {
      if (this.isOver) return;
      this.isOver = true;
      const message = error instanceof UncatchableError ? error.message : textOfThrown(error);
      this.parts.port.done({ kind: 'error', message });
    }
  }

  /** Resumes the generator until it waits for something that has no result yet. */
  private advance(first: Resume): void {
    let resume: Resume | undefined = first;
    while (resume && !this.isOver) {
      const { done, value } = this.step(resume);
      if (done) {
        const output = outputOf(value); // may throw, which fails the instance
        this.isOver = true;
        this.parts.port.done({ kind: 'output', output });
        return;
      }
      resume = this.begin(value);
    }
  }

  private step(resume: Resume): IteratorResult<unknown, unknown> {
    const { generator } = this;
    if (!generator) throw new TypeError('the generator does not exist');
    let step: unknown;
    if (resume.kind === 'next') step = generator.next(resume.value);
    else if (generator.throw) step = generator.throw(new Error(resume.message));
    else throw new TypeError('gen.throw is not a function');
    if (isThenable(step)) {
      step.then(undefined, () => undefined);
      throw new UncatchableError(
        `Invalid generator step result: missing field \`task\` (an async generator cannot be an orchestration)`,
      );
    }
    return step as IteratorResult<unknown, unknown>;
  }

  /** Starts what was yielded. Answers at once when its result is there already. */
  private begin(yielded: unknown): Resume | undefined {
    const isTyped = Boolean((yielded as { _typed?: unknown } | null | undefined)?._typed);
    const start = this.taskOf(yielded);
    let isStarting = true;
    let atOnce: Resume | undefined;
    start((resume) => {
      const decoded =
        isTyped && resume.kind === 'next' ? { ...resume, value: decodedTyped(resume.value, yielded) } : resume;
      if (isStarting) atOnce = decoded;
      else this.advance(decoded);
    });
    isStarting = false;
    return atOnce;
  }

  private taskOf(yielded: unknown): StartBranch<Resume> {
    let task: Task;
    try {
      task = readTask(yielded);
    } catch (error) {
      if (!(error instanceof InvalidTaskError)) throw error;
      throw new UncatchableError(`Invalid generator step result: ${error.message}`);
    }
    return branchOf(task, this.scheduler);
  }

  private trace(level: TraceLevel, message: string): void {
    const { info, writeTrace } = this.parts;
    writeTrace({
      level,
      target: 'duroxide::orchestration',
      message,
      fields: {
        instance_id: info.instance,
        execution_id: String(info.executionId),
        orchestration_name: info.name,
        orchestration_version: info.version,
      },
    });
  }
}

/** Types whose typed variant decodes a string once more; on events and mailboxes the flag has no effect. */
const DECODED_TYPES: ReadonlySet<unknown> = new Set<Task['type']>([
  'activity',
  'activityWithRetry',
  'subOrchestration',
  'subOrchestrationWithId',
  'subOrchestrationVersioned',
  'subOrchestrationVersionedWithId',
]);

function decodedTyped(value: unknown, yielded: unknown): unknown {
  const { type } = yielded as { type?: unknown };
  if (DECODED_TYPES.has(type)) return decodeTwice(value);
  if (type === 'join' && Array.isArray(value)) return value.map(decodedElement);
  if (type === 'select') {
    const { index, value: won } = value as { index: number; value: unknown };
    return { index, value: decodeTwice(won) };
  }
  return value;
}

function decodedElement(element: unknown): unknown {
  if (typeof element !== 'object' || element === null) return element;
  if ('ok' in element) return { ok: decodeTwice(element.ok) };
  return 'err' in element ? { err: decodeTwice(element.err) } : element;
}

function outputOf(value: unknown): string {
  // A function has no JSON text; native stores what is then missing as null, too.
  return toPayload(value) ?? 'null';
}

/** What a thrown value is stored as: the stack of an error, which begins with its name and message. */
function textOfThrown(error: unknown): string {
  try {
    const stack: unknown = (error as { stack?: unknown } | null | undefined)?.stack;
    return String(stack || error);
  } catch {
    return 'an error that cannot be printed was thrown';
  }
}

function asIterator(made: unknown, name: string): Iterator<unknown, unknown, unknown> {
  if (typeof (made as { next?: unknown } | null | undefined)?.next === 'function') {
    return made as Iterator<unknown, unknown, unknown>;
  }
  if (isThenable(made)) {
    made.then(undefined, () => undefined); // its rejection is nobody's: the instance fails here
    throw new UncatchableError(
      `TypeError: gen.next is not a function: orchestration '${name}' is an async function; ` +
        `define it with orchestration(name, async (ctx, input) => …) instead of registerOrchestration`,
    );
  }
  throw new UncatchableError(
    `TypeError: gen.next is not a function: orchestration '${name}' is not a generator function`,
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
