import type * as admin from '../provider/admin.js';
import { ProviderError } from '../provider/provider-error.js';
import { decodePayload } from '../wire/payload.js';
import { integerArgument, stringArgument } from './arguments.js';
import { ArgumentError, InstanceNotFoundError, InstanceRunningError, SubOrchestrationDeleteError } from './errors.js';
import { typeName } from '../base/type-name.js';

export interface InstanceInfo {
  instanceId: string;
  orchestrationName: string;
  /** `unknown` for an instance that failed before a version was resolved. */
  orchestrationVersion: string;
  currentExecutionId: number;
  status: string;
  /** Completed: the output. Failed: the error text. */
  output?: unknown;
  createdAt: number;
  updatedAt: number;
  parentInstanceId?: string;
}

export interface ExecutionInfo {
  executionId: number;
  status: string;
  /** Of one that continued as new: the input of the next. */
  output?: unknown;
  startedAt: number;
  completedAt?: number;
  eventCount: number;
}

export interface InstanceTree {
  rootId: string;
  allIds: string[];
  size: number;
}

/** Conditions combine; `instanceIds: []` matches nothing; `limit` defaults to 1000. */
export interface InstanceFilter {
  instanceIds?: string[];
  /** Unix ms, strictly before. */
  completedBefore?: number;
  limit?: number;
}

export interface PruneOptions {
  keepLast?: number;
  /** Unix ms, strictly before. */
  completedBefore?: number;
}

export function viewInstanceInfo(info: admin.InstanceInfo): InstanceInfo {
  return {
    instanceId: info.instanceId,
    orchestrationName: info.orchestrationName,
    orchestrationVersion: info.orchestrationVersion,
    currentExecutionId: info.currentExecutionId,
    status: info.status,
    ...(info.output === null ? {} : { output: decodePayload(info.output) }),
    createdAt: info.createdAtMs,
    updatedAt: info.updatedAtMs,
    ...(info.parentInstanceId === null ? {} : { parentInstanceId: info.parentInstanceId }),
  };
}

export function viewExecutionInfo(info: admin.ExecutionInfo): ExecutionInfo {
  return {
    executionId: info.executionId,
    status: info.status,
    ...(info.output === null ? {} : { output: decodePayload(info.output) }),
    startedAt: info.startedAtMs,
    ...(info.completedAtMs === null ? {} : { completedAt: info.completedAtMs }),
    eventCount: info.eventCount,
  };
}

export function viewTree({ rootId, allIds }: admin.InstanceTree): InstanceTree {
  return { rootId, allIds: [...allIds], size: allIds.length };
}

/** @throws ArgumentError, InvalidInputError */
export function filterArgument(filter: unknown): admin.InstanceFilter {
  const given = optionsObject('filter', filter);
  const ids = given['instanceIds'];
  if (ids !== undefined && !Array.isArray(ids)) {
    throw new ArgumentError('InvalidArg', 'filter.instanceIds must be an array of strings');
  }
  return {
    instanceIds: ids?.map((id: unknown) => stringArgument('filter.instanceIds[]', id)),
    completedBeforeMs: optionalInteger('filter.completedBefore', given['completedBefore']),
    limit: optionalInteger('filter.limit', given['limit']),
  };
}

/** @throws ArgumentError, InvalidInputError */
export function pruneArgument(options: unknown): admin.PruneOptions {
  const given = optionsObject('options', options);
  return {
    keepLast: optionalInteger('options.keepLast', given['keepLast']),
    completedBeforeMs: optionalInteger('options.completedBefore', given['completedBefore']),
  };
}

function optionsObject(what: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) {
    throw new ArgumentError('InvalidArg', `${what} must be an object, got ${typeName(value)}`);
  }
  return value as Record<string, unknown>;
}

/** `null` counts as absent: a filter field that is not there restricts nothing. */
function optionalInteger(what: string, value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : integerArgument(what, value);
}

/** Native's words for what a deletion refuses; other errors as they are. */
export function deletionError(instanceId: string, error: unknown): unknown {
  if (!ProviderError.is(error)) return error;
  const reason = error.reason.toLowerCase();
  if (reason.includes('not found')) return new InstanceNotFoundError(instanceId, error);
  if (reason.includes('is running') || reason.includes('still running')) {
    return new InstanceRunningError(instanceId, error);
  }
  if (reason.includes('sub-orchestration') || reason.includes('delete the root')) {
    return new SubOrchestrationDeleteError(instanceId, error);
  }
  return error;
}

/** Native's words for pruning an instance that does not exist; other errors as they are. */
export function pruneError(instanceId: string, error: unknown): unknown {
  if (!ProviderError.is(error) || !error.reason.toLowerCase().includes('not found')) return error;
  return new InstanceNotFoundError(
    instanceId,
    error,
    `prune_executions: Database error: error returned from database: Instance ${instanceId} not found`,
  );
}
