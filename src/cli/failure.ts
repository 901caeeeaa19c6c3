import { types } from 'node:util';
import type { GlobalOptions } from './context.js';
import { CliError, ExitCode } from './exit-codes.js';
import { type CliIo, Interrupted } from './io.js';
import { withoutControls } from './output/text.js';
import { targetOf, withoutSecrets } from './target.js';

const { isNativeError } = types;

/** A failure as it is reported. */
export interface Failure {
  readonly exitCode: ExitCode;
  /** A word for programs, e.g. `notFound`. */
  readonly code: string;
  readonly message: string;
  readonly advice?: string | undefined;
}

/**
 * What an error means for the user. By name and not by class: the classes are loaded only
 * with what throws them.
 */
export function failureOf(error: unknown, io: CliIo, options?: GlobalOptions): Failure {
  const { exitCode, message, advice } = classify(error);
  const target = options && safeTarget(options, io);
  const code = Object.entries(ExitCode).find(([, value]) => value === exitCode)?.[0] ?? 'bug';
  return {
    exitCode,
    code,
    message: withoutControls(withoutSecrets(message, target)),
    ...(advice === undefined ? {} : { advice }),
  };
}

type Classified = Pick<Failure, 'exitCode' | 'message' | 'advice'>;

function classify(error: unknown): Classified {
  if (error instanceof CliError) return { exitCode: error.exitCode, message: error.message, advice: error.advice };
  if (error instanceof Interrupted) {
    return { exitCode: error.by === 'user' ? ExitCode.interrupted : ExitCode.outputClosed, message: error.message };
  }
  // Not `instanceof`: an error of another realm is one, too.
  if (!isNativeError(error)) return { exitCode: ExitCode.bug, message: String(error) };
  const { name, message } = error;
  switch (name) {
    case 'SchemaError':
      return schemaFailure(error);
    case 'ProviderError':
      return providerFailure(error as Error & ProviderFacts);
    case 'UnsupportedError':
      return { exitCode: message.includes('no table ddz_') ? ExitCode.schema : ExitCode.refused, message };
    case 'InstanceNotFoundError':
      return { exitCode: ExitCode.notFound, message };
    case 'CodecError':
    case 'InstanceRunningError':
    case 'InstanceExistsError':
    case 'SubOrchestrationDeleteError':
      return { exitCode: ExitCode.refused, message };
    case 'WaitTimeoutError': {
      const { instanceId, timeoutMs } = error as { instanceId?: unknown; timeoutMs?: unknown };
      const what = `instance ${JSON.stringify(instanceId)} has not ended within ${String(timeoutMs)} ms; it goes on`;
      return { exitCode: ExitCode.timeout, message: instanceId === undefined ? message : what };
    }
    case 'ScheduleError':
    case 'StartQueueError':
    case 'ArgumentError':
    case 'InvalidInputError':
    case 'RangeError':
      return { exitCode: ExitCode.usage, message };
    default:
      if (isConnectionFailure(error)) return unreachable(message);
      return { exitCode: ExitCode.bug, message: `${name}: ${message}` };
  }
}

interface ProviderFacts {
  readonly reason: string;
  readonly retryable: boolean;
  readonly sqlState: string | undefined;
}

function schemaFailure(error: Error): Classified {
  const isDenied = (error as Error & { kind?: string }).kind === 'notPermitted';
  return { exitCode: isDenied ? ExitCode.database : ExitCode.schema, message: error.message };
}

function providerFailure({ message, reason, retryable, sqlState }: Error & ProviderFacts): Classified {
  if (/not found/i.test(reason) && sqlState === undefined) return { exitCode: ExitCode.notFound, message: reason };
  if (sqlState === '25006') {
    return { exitCode: ExitCode.database, message: `the database is read-only (${message})` };
  }
  if (sqlState === '42501') return { exitCode: ExitCode.database, message: `the role may not do this (${message})` };
  if (sqlState === '42P01') {
    return { exitCode: ExitCode.schema, message, advice: 'look at the schema with: npx duroxide-drizzle doctor' };
  }
  if (/^(28|3D|08|57)/.test(sqlState ?? '') || /^(I\/O error|Connection pool error)/.test(reason))
    return unreachable(message);
  if (/(cursor|limit must be|must be a)/.test(reason)) return { exitCode: ExitCode.usage, message: reason };
  if (sqlState === undefined) return { exitCode: ExitCode.refused, message: reason };
  return { exitCode: retryable ? ExitCode.database : ExitCode.bug, message };
}

function unreachable(message: string): Classified {
  return {
    exitCode: ExitCode.database,
    message: `the database cannot be used: ${message}`,
    advice: 'expected a PostgreSQL that answers at DATABASE_URL or --url, with a role that may log in',
  };
}

/** Errors of the driver and of sockets that come unwrapped. */
function isConnectionFailure(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(E[A-Z]+|28...|3D...|08...|57P..)$/.test(code) && code !== 'ERR';
}

function safeTarget(options: GlobalOptions, io: CliIo) {
  try {
    return targetOf(options, io);
  } catch {
    // The failure to be reported may be just this one.
    return undefined;
  }
}
