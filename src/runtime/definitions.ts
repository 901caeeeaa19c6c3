import { shownDefinition } from '../client/checked-definition.js';
import { ConfigurationError } from './configuration-error.js';
import type { Registrable, RegisteringRuntime, Registration } from './registrable.js';
import { REGISTRATION } from './registrable.js';

/** Version of an orchestration that names none. */
const FIRST_VERSION = '1.0.0';

/** The typed definitions of one runtime: which code stands behind which name. */
export class Definitions {
  private readonly handlers = new Map<string, unknown>();

  /**
   * What of `definitions` is new, in the form that runs. All of them are checked first: of a
   * list with one that cannot be registered, none is.
   * @param isTaken whether the drop-in API has registered the same thing
   * @throws ConfigurationError naming the definition; TypeError for what is none
   */
  add(
    definitions: readonly Registrable[],
    runtime: RegisteringRuntime,
    isTaken: (registration: Registration) => boolean,
  ): readonly Registration[] {
    const fresh = new Map<string, { readonly handler: unknown; readonly registration: Registration }>();
    for (const [index, definition] of definitions.entries()) {
      const registration = registrationOf(definition, index, runtime);
      const key = keyOf(registration);
      const known = fresh.get(key)?.handler ?? this.handlers.get(key);
      if (known === definition.handler) continue;
      if (known !== undefined || isTaken(registration)) {
        throw new ConfigurationError(
          `${shown(registration)} is registered already with another handler: give one of them another name${
            registration.kind === 'orchestration' ? ' or version' : ''
          }`,
        );
      }
      fresh.set(key, { handler: definition.handler, registration });
    }
    for (const [key, { handler }] of fresh) this.handlers.set(key, handler);
    return [...fresh.values()].map(({ registration }) => registration);
  }

  /** @throws ConfigurationError when a definition has the name already */
  checkFree(kind: 'activity' | 'orchestration', name: string, version = FIRST_VERSION): void {
    const key = kind === 'activity' ? `activity ${name}` : `orchestration ${name}@${version}`;
    if (!this.handlers.has(key)) return;
    throw new ConfigurationError(
      `${key.replace(' ', " '")}' is registered already by a definition with another handler`,
    );
  }
}

function registrationOf(definition: Registrable, index: number, runtime: RegisteringRuntime): Registration {
  const register = (definition as Partial<Registrable> | null | undefined)?.[REGISTRATION];
  if (typeof register === 'function') return register.call(definition, runtime);
  const { kind, name } = (definition ?? {}) as { kind?: unknown; name?: unknown };
  const isDeclaration = kind === 'activity' || kind === 'orchestration';
  throw new TypeError(
    isDeclaration
      ? `register: ${kind} '${String(name)}' is only declared; register what its implement(handler) returns`
      : `register: expected what activity(…) or orchestration(…) returns as argument ${index + 1}, got ${shownDefinition(definition)}`,
  );
}

function keyOf(registration: Registration): string {
  const { kind, name } = registration;
  return kind === 'activity' ? `activity ${name}` : `orchestration ${name}@${registration.version ?? FIRST_VERSION}`;
}

function shown(registration: Registration): string {
  const { kind, name } = registration;
  return kind === 'activity'
    ? `activity '${name}'`
    : `orchestration '${name}@${registration.version ?? FIRST_VERSION}'`;
}
