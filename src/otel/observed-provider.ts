import {
  type Link,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api';
import type {
  FetchedOrchestrationItems,
  OrchestrationLock,
  Provider,
  Result,
  TransactionScope,
} from '../provider/provider.js';
import type { Instruments } from './instruments.js';
import type { SdkGuard } from './sdk-guard.js';
import type { InstrumentSource } from './silence.js';

/** What a call of the store is observed with. */
export interface ProviderObserver {
  readonly guard: SdkGuard;
  readonly tracer: Tracer;
  /** Nobody gets spans. */
  readonly isSilent: () => boolean;
  readonly instruments: InstrumentSource;
  /** The span of a turn that is being acknowledged, by lock token. */
  readonly turnSpan: (lockToken: string) => SpanContext | undefined;
  readonly scope: (scope: TransactionScope) => TransactionScope;
}

/** How an operation is counted. */
interface Operation {
  /** Elements of the call, where it has any. */
  readonly batch?: 'parameters' | 'answer';
  /** A call that brings nothing is not worth a span: idle workers make them all the time. */
  readonly isPoll?: boolean;
  readonly renews?: 'orchestration' | 'activity';
}

const OPERATIONS: Readonly<Partial<Record<keyof Provider, Operation>>> = {
  fetchOrchestrationItems: { batch: 'answer', isPoll: true },
  ackOrchestrationItems: { batch: 'parameters' },
  abandonOrchestrationItems: { batch: 'parameters' },
  renewOrchestrationItemLocks: { batch: 'parameters', renews: 'orchestration' },
  fetchWorkItems: { batch: 'answer', isPoll: true },
  ackWorkItems: { batch: 'parameters' },
  abandonWorkItems: { batch: 'parameters' },
  renewWorkItemLocks: { batch: 'parameters', renews: 'activity' },
  enqueueForOrchestrator: { batch: 'parameters' },
  enqueueForWorker: { batch: 'parameters' },
  enqueueStartIfAbsent: {},
  loadHistory: {},
  due: { isPoll: true },
  read: {},
  readWithExecution: {},
  getCustomStatus: {},
  instanceStates: { isPoll: true },
  getKvValues: { isPoll: true },
  getKvValue: {},
  getKvAllValues: {},
  getInstanceStats: {},
};

/** Links of one acknowledgement at most: a batch may hold hundreds of turns. */
const MAX_LINKS = 32;

type AnyCall = (...parameters: unknown[]) => Promise<unknown>;

/** The same store; its operations make spans `duroxide.<operation>` and metrics. */
export function observedProvider(provider: Provider, observer: ProviderObserver): Provider {
  // The clock alone is read several times for each message: what is handed out is made once.
  const made = new Map<PropertyKey, { readonly value: unknown; readonly method: unknown }>();
  return new Proxy(provider, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const known = made.get(property);
      if (known?.value === value) return known.method;
      const method = observedMethod(target, observer, property, (value as AnyCall).bind(target));
      made.set(property, { value, method });
      return method;
    },
  });
}

function observedMethod(target: Provider, observer: ProviderObserver, property: PropertyKey, method: AnyCall): unknown {
  if (property === 'within') return (tx: unknown) => observer.scope(target.within(tx));
  const operation = OPERATIONS[property as keyof Provider];
  if (!operation) return method;
  return (...parameters: unknown[]) => {
    const instruments = observer.instruments.current();
    // Nobody measures and nobody gets spans: the call is as it was.
    if (!instruments && observer.isSilent()) return method(...parameters);
    return observed(observer, instruments, { name: String(property), operation, parameters, method });
  };
}

interface Call {
  readonly name: string;
  readonly operation: Operation;
  readonly parameters: unknown[];
  readonly method: AnyCall;
}

async function observed(
  observer: ProviderObserver,
  instruments: Instruments | undefined,
  { name, operation, parameters, method }: Call,
): Promise<unknown> {
  const { guard, tracer } = observer;
  const attributes = { 'duroxide.operation': name };
  const startTime = Date.now();
  const began = performance.now();
  const end = (size: number | undefined, error?: unknown) => {
    instruments?.operationDuration.record(performance.now() - began, attributes);
    if (error !== undefined) instruments?.operationErrors.add(1, attributes);
    if (size !== undefined && size > 0) instruments?.batchSize.record(size, attributes);
    if (observer.isSilent() || (operation.isPoll && error === undefined && (size ?? 0) === 0)) return;
    // Made when it is known to be worth it; a batch belongs to all of its turns, and to none of them.
    const options = {
      kind: SpanKind.CLIENT,
      startTime,
      links: linksOf(observer, name, parameters),
      attributes: { ...attributes, ...(size !== undefined && { 'duroxide.batch_size': size }) },
    };
    guard.end(guard.startSpan(tracer, `duroxide.${name}`, options, guard.active()), { status: statusOf(error) });
  };
  try {
    const answer = await method(...parameters);
    const elements: unknown = operation.batch === 'answer' ? elementsOf(answer) : parameters[0];
    end(operation.batch && Array.isArray(elements) ? elements.length : undefined);
    if (instruments) count(instruments, operation, answer);
    return answer;
  } catch (error) {
    end(undefined, error ?? 'unknown');
    throw error;
  }
}

function elementsOf(answer: unknown): unknown {
  return Array.isArray(answer) ? answer : (answer as FetchedOrchestrationItems).items;
}

function count(instruments: Instruments, { renews }: Operation, answer: unknown): void {
  // Some operations answer null: no status, no value.
  const { lost } = (answer ?? {}) as Partial<FetchedOrchestrationItems>;
  if (typeof lost === 'number' && lost > 0) instruments.lostCandidates.add(lost);
  if (!renews) return;
  const results = answer as readonly Result[];
  const renewed = results.filter(({ ok }) => ok).length;
  if (renewed > 0) instruments.lockRenewals.add(renewed, { kind: renews, renewed: true });
  if (results.length > renewed)
    instruments.lockRenewals.add(results.length - renewed, { kind: renews, renewed: false });
}

function linksOf({ turnSpan }: ProviderObserver, name: string, parameters: unknown[]): Link[] {
  if (name !== 'ackOrchestrationItems') return [];
  const turns = parameters[0] as readonly OrchestrationLock[];
  return turns.slice(0, MAX_LINKS).flatMap(({ lockToken }) => {
    const span = turnSpan(lockToken);
    return span ? [{ context: span }] : [];
  });
}

/** The status of a span; `undefined` without an error. */
export function statusOf(error: unknown): SpanStatus | undefined {
  return error === undefined ? undefined : { code: SpanStatusCode.ERROR, message: reasonOf(error) };
}

/** The kind of an error: its text may quote what it was given. */
export function reasonOf(error: unknown): string {
  const { name, reason } = (error ?? {}) as { name?: unknown; reason?: unknown };
  return typeof reason === 'string' ? reason : typeof name === 'string' ? name : typeof error;
}
