import type { WorkItem } from '../wire/work-item.js';
import type {
  Abandon,
  AckOrchestrationItem,
  FetchOrchestrationItems,
  FetchWorkItems,
  LockedOrchestrationItem,
  LockedWorkItem,
  Ms,
  Provider,
  Result,
} from './provider.js';

/**
 * The instance of an orchestration lock token of our form, `lock_<uuid>:<instance>`.
 * `undefined` for a token of another form, such as native's.
 */
export function instanceOfToken(lockToken: string): string | undefined {
  return /^lock_[0-9a-f-]{36}:(.*)$/s.exec(lockToken)?.[1];
}

/** Unwraps the one result of a batch of one. @throws ProviderError */
export function only<T>(results: readonly Result<T>[]): T {
  const [result] = results;
  if (result === undefined) throw new Error('a batch of one answered with no result');
  if (!result.ok) throw result.error;
  return result.value;
}

/** One ready instance, or `null` when there is none; keeps looking while candidates are lost (C-01). */
export async function fetchOrchestrationItem(
  provider: Provider,
  params: Omit<FetchOrchestrationItems, 'limit'>,
): Promise<LockedOrchestrationItem | null> {
  const { items } = await provider.fetchOrchestrationItems({ ...params, limit: 1 });
  return items[0] ?? null;
}

/** @throws ProviderError */
export async function ackOrchestrationItem(
  provider: Provider,
  lockToken: string,
  turn: Omit<AckOrchestrationItem, 'instance' | 'lockToken'>,
): Promise<void> {
  only(await provider.ackOrchestrationItems([{ instance: instanceOfToken(lockToken) ?? '', lockToken, ...turn }]));
}

/** @throws ProviderError */
export async function abandonOrchestrationItem(
  provider: Provider,
  lockToken: string,
  abandon: Abandon = {},
): Promise<void> {
  const instance = instanceOfToken(lockToken) ?? '';
  only(await provider.abandonOrchestrationItems([{ instance, lockToken, ...abandon }]));
}

/** @throws ProviderError */
export async function renewOrchestrationItemLock(provider: Provider, lockToken: string, extendMs: Ms): Promise<void> {
  const instance = instanceOfToken(lockToken) ?? '';
  only(await provider.renewOrchestrationItemLocks([{ instance, lockToken, extendMs }]));
}

export async function fetchWorkItem(
  provider: Provider,
  params: Omit<FetchWorkItems, 'limit'>,
): Promise<LockedWorkItem | null> {
  const [item] = await provider.fetchWorkItems({ ...params, limit: 1 });
  return item ?? null;
}

/** @throws ProviderError */
export async function ackWorkItem(provider: Provider, lockToken: string, completion?: WorkItem): Promise<void> {
  only(await provider.ackWorkItems([{ instance: null, lockToken, completion }]));
}

/** @throws ProviderError */
export async function abandonWorkItem(provider: Provider, lockToken: string, abandon: Abandon = {}): Promise<void> {
  only(await provider.abandonWorkItems([{ instance: null, lockToken, ...abandon }]));
}

/** @throws ProviderError */
export async function renewWorkItemLock(provider: Provider, lockToken: string, extendMs: Ms): Promise<void> {
  only(await provider.renewWorkItemLocks([{ instance: null, lockToken, extendMs }]));
}

/** @throws ProviderError */
export async function enqueueForOrchestrator(provider: Provider, item: WorkItem, delayMs?: Ms): Promise<void> {
  only(await provider.enqueueForOrchestrator([{ item, delayMs }]));
}

/** @throws ProviderError */
export async function enqueueForWorker(provider: Provider, item: WorkItem): Promise<void> {
  only(await provider.enqueueForWorker([item]));
}
