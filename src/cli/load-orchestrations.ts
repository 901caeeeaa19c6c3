import { AsyncHost } from '../runtime/async/async-host.js';
import { silentLogger } from '../base/logger.js';
import type { GeneratorOrchestration } from '../runtime/generator/generator-driver.js';
import { REGISTRATION, type Registrable } from '../runtime/registrable.js';
import type { RecordedHistory } from '../testing/replay/recorded-history.js';
import { eventsOf } from '../testing/replay/recorded-history.js';
import { CliError, ExitCode } from './exit-codes.js';
import type { CliIo } from './io.js';
import { loadModule } from './load-module.js';

type Orchestration = Registrable | GeneratorOrchestration;

/** An orchestration of a module. */
export interface Exported {
  readonly exportName: string;
  /** Name of the orchestration. */
  readonly name: string;
  readonly version: string | undefined;
  readonly orchestration: Orchestration;
}

/**
 * The orchestrations of a module of the user: definitions and generator functions, among
 * its exports and in objects and arrays of its default export.
 * @returns what finds the one of a history
 * @throws CliError when the module cannot be loaded or has none
 */
export async function loadOrchestrations(
  file: string,
  exportName: string | undefined,
  io: CliIo,
): Promise<(history: RecordedHistory) => Orchestration> {
  const found = await exportedOrchestrations(file, io);
  const names = () => found.map((one) => one.exportName).join(', ');
  if (exportName !== undefined) {
    const chosen = found.find((one) => one.exportName === exportName);
    if (!chosen)
      throw new CliError(ExitCode.notFound, `${file} has no orchestration ${exportName}; it exports ${names()}`);
    return () => chosen.orchestration;
  }
  return (history) => {
    const { name, version } = startOf(history);
    const named = found.filter((one) => one.name === name);
    const chosen = named.find((one) => one.version === version) ?? (named.length === 1 ? named[0] : undefined);
    if (chosen) return chosen.orchestration;
    throw new CliError(
      ExitCode.notFound,
      `${file} has no orchestration '${name}' ${version}; it exports ${names()}; name one with --orchestration`,
    );
  };
}

/** All orchestrations of a module of the user. @throws CliError as {@link loadOrchestrations} */
export async function exportedOrchestrations(file: string, io: CliIo): Promise<readonly Exported[]> {
  const found = [...exportedBy(await loadModule(file, io))];
  if (found.length > 0) return found;
  throw new CliError(
    ExitCode.usage,
    `${file} exports no orchestration; expected definitions of orchestration(…) or generator functions`,
  );
}

function* exportedBy(module: object): Generator<Exported> {
  for (const [exportName, value] of Object.entries(module)) {
    const single = exported(exportName, value);
    if (single) yield single;
    else if (exportName === 'default' && typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value as object)) {
        const one = exported(key, inner);
        if (one) yield one;
      }
    }
  }
}

function exported(exportName: string, value: unknown): Exported | undefined {
  if (isDefinition(value)) {
    const registration = value[REGISTRATION]({ host: new AsyncHost(), logger: silentLogger });
    if (registration.kind !== 'orchestration') return undefined;
    return { exportName, name: registration.name, version: registration.version ?? '1.0.0', orchestration: value };
  }
  const isGenerator =
    typeof value === 'function' && Object.prototype.toString.call(value) === '[object GeneratorFunction]';
  if (!isGenerator) return undefined;
  return { exportName, name: exportName, version: undefined, orchestration: value as GeneratorOrchestration };
}

function isDefinition(value: unknown): value is Registrable {
  return typeof value === 'object' && value !== null && REGISTRATION in value;
}

function startOf(history: RecordedHistory): { name: string; version: string } {
  const start = eventsOf(history).events.find(({ kind }) => kind === 'OrchestrationStarted');
  if (start?.kind !== 'OrchestrationStarted')
    throw new TypeError('expected a history that begins with OrchestrationStarted');
  return start;
}
