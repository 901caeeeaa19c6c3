import { assertNever } from '../base/assert-never.js';
import { toStorable } from '../base/text.js';
import { type FailureData, failureFromJson, failureToJson } from './failure.js';
import type { JsonObject } from './json-reader.js';
import { asObject, readBoolean, readInteger, readOptionalString, readString, readTagged } from './json-reader.js';
import { WireError } from './wire-error.js';

/** What an application error stands for. */
export type ApplicationErrorKind =
  | { readonly kind: 'ActivityFailed' | 'OrchestrationFailed' | 'Panicked' }
  | { readonly kind: 'Cancelled'; readonly reason: string };

/** Which message was given up after too many attempts. */
export type PoisonMessageType =
  | { readonly kind: 'Orchestration'; readonly instance: string; readonly executionId: number }
  | {
      readonly kind: 'Activity';
      readonly instance: string;
      readonly executionId: number;
      readonly activityName: string;
      readonly activityId: number;
    }
  | {
      readonly kind: 'FailedDeserialization';
      readonly instance: string;
      readonly executionId: number;
      readonly error: string;
    };

/** Why something failed, as stored in events and work items (provider.md 2.3). */
export type ErrorDetails =
  | {
      readonly kind: 'Infrastructure';
      readonly operation: string;
      readonly message: string;
      readonly retryable: boolean;
    }
  | {
      readonly kind: 'Configuration';
      readonly configuration: 'Nondeterminism';
      readonly resource: string;
      readonly message: string | null;
    }
  | {
      readonly kind: 'Application';
      readonly application: ApplicationErrorKind;
      readonly message: string;
      readonly retryable: boolean;
      /** What was thrown, where typed code threw it; native drops the field when it writes. */
      readonly failure?: FailureData | undefined;
    }
  | {
      readonly kind: 'Poison';
      readonly attemptCount: number;
      readonly maxAttempts: number;
      readonly messageType: PoisonMessageType;
      readonly message: string;
    };

/** The text that users see, and that `executions.output` holds for a failed execution. */
export function displayErrorDetails(details: ErrorDetails): string {
  switch (details.kind) {
    case 'Infrastructure':
      return `infrastructure:${details.operation}: ${details.message}`;
    case 'Configuration':
      return details.message === null
        ? `nondeterministic in ${details.resource}`
        : `nondeterministic: ${details.message}`;
    case 'Application':
      return displayApplication(details.application, details.message);
    case 'Poison':
      return displayPoison(details.messageType, details.attemptCount, details.maxAttempts);
    default:
      return assertNever(details, 'error details');
  }
}

function displayApplication(application: ApplicationErrorKind, message: string): string {
  if (application.kind === 'Cancelled') return `canceled: ${application.reason}`;
  return application.kind === 'Panicked' ? `orchestration panicked: ${message}` : message;
}

function displayPoison(type: PoisonMessageType, attempts: number, max: number): string {
  switch (type.kind) {
    case 'Orchestration':
      return `poison: orchestration ${type.instance} exceeded ${attempts} attempts (max ${max})`;
    case 'Activity':
      return `poison: activity ${type.activityName}#${type.activityId} exceeded ${attempts} attempts (max ${max})`;
    case 'FailedDeserialization':
      return `poison: orchestration ${type.instance} history deserialization failed after ${attempts} attempts (max ${max}): ${type.error}`;
    default:
      return assertNever(type, 'poison message type');
  }
}

/** The JSON value of the details, fields in native's order. */
export function errorDetailsToJson(details: ErrorDetails): JsonObject {
  switch (details.kind) {
    case 'Infrastructure':
      return {
        Infrastructure: {
          operation: toStorable(details.operation),
          message: toStorable(details.message),
          retryable: details.retryable,
        },
      };
    case 'Configuration':
      return {
        Configuration: {
          kind: details.configuration,
          resource: toStorable(details.resource),
          message: details.message === null ? null : toStorable(details.message),
        },
      };
    case 'Application':
      return {
        Application: {
          kind:
            details.application.kind === 'Cancelled'
              ? { Cancelled: { reason: toStorable(details.application.reason) } }
              : details.application.kind,
          message: toStorable(details.message),
          retryable: details.retryable,
          ...(details.failure && { failure: failureToJson(details.failure) }),
        },
      };
    case 'Poison':
      return {
        Poison: {
          attempt_count: details.attemptCount,
          max_attempts: details.maxAttempts,
          message_type: poisonTypeToJson(details.messageType),
          message: toStorable(details.message),
        },
      };
    default:
      return assertNever(details, 'error details');
  }
}

function poisonTypeToJson(type: PoisonMessageType): JsonObject {
  const place = { instance: toStorable(type.instance), execution_id: type.executionId };
  switch (type.kind) {
    case 'Orchestration':
      return { Orchestration: place };
    case 'Activity':
      return {
        Activity: { ...place, activity_name: toStorable(type.activityName), activity_id: type.activityId },
      };
    case 'FailedDeserialization':
      return { FailedDeserialization: { ...place, error: toStorable(type.error) } };
    default:
      return assertNever(type, 'poison message type');
  }
}

/** @throws WireError when the value has another shape. */
export function errorDetailsFromJson(value: unknown): ErrorDetails {
  const { tag, body } = readTagged(value, 'error details');
  const what = `error details ${tag}`;
  switch (tag) {
    case 'Infrastructure':
      return {
        kind: tag,
        operation: readString(body, 'operation', what),
        message: readString(body, 'message', what),
        retryable: readBoolean(body, 'retryable', what),
      };
    case 'Configuration': {
      const configuration = readString(body, 'kind', what);
      if (configuration !== 'Nondeterminism') throw new WireError(`${what}: unknown kind`);
      return {
        kind: tag,
        configuration,
        resource: readString(body, 'resource', what),
        message: readOptionalString(body, 'message', what),
      };
    }
    case 'Application': {
      const failure = failureFromJson(body['failure']);
      return {
        kind: tag,
        application: applicationKindFromJson(body['kind']),
        message: readString(body, 'message', what),
        retryable: readBoolean(body, 'retryable', what),
        ...(failure && { failure }),
      };
    }
    case 'Poison':
      return {
        kind: tag,
        attemptCount: readInteger(body, 'attempt_count', what),
        maxAttempts: readInteger(body, 'max_attempts', what),
        messageType: poisonTypeFromJson(body['message_type']),
        message: readString(body, 'message', what),
      };
    default:
      throw new WireError('error details of an unknown kind');
  }
}

function applicationKindFromJson(value: unknown): ApplicationErrorKind {
  if (value === 'ActivityFailed' || value === 'OrchestrationFailed' || value === 'Panicked') return { kind: value };
  const object = asObject(value, 'application error kind');
  if (Object.keys(object).length !== 1 || !('Cancelled' in object)) {
    throw new WireError('application error of an unknown kind');
  }
  const body = asObject(object['Cancelled'], 'application error Cancelled');
  return { kind: 'Cancelled', reason: readString(body, 'reason', 'application error Cancelled') };
}

function poisonTypeFromJson(value: unknown): PoisonMessageType {
  const { tag, body } = readTagged(value, 'poison message type');
  const what = `poison message type ${tag}`;
  const place = {
    instance: readString(body, 'instance', what),
    executionId: readInteger(body, 'execution_id', what),
  };
  switch (tag) {
    case 'Orchestration':
      return { kind: tag, ...place };
    case 'Activity':
      return {
        kind: tag,
        ...place,
        activityName: readString(body, 'activity_name', what),
        activityId: readInteger(body, 'activity_id', what),
      };
    case 'FailedDeserialization':
      return { kind: tag, ...place, error: readString(body, 'error', what) };
    default:
      throw new WireError('poison message type of an unknown kind');
  }
}
