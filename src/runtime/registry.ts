import type { SemVer } from '../wire/compat-version.js';
import { compareSemVer, formatSemVer, parseSemVer } from '../wire/compat-version.js';
import { problemOfName } from '../wire/identifiers.js';
import { ConfigurationError } from './configuration-error.js';

/** Version of a registration without one. */
const FIRST_VERSION = '1.0.0';
/** Activities of the runtime itself; users cannot take the prefix. */
export const SYSTEM_ACTIVITY_PREFIX = '__duroxide_syscall:';

/** Which version starts, children and continue-as-new take when they name none. */
export type VersionPolicy = { readonly kind: 'latest' } | { readonly kind: 'exact'; readonly version: string };

/** A handler with the version that it was found under. */
export interface Resolved<Handler> {
  readonly version: string;
  readonly handler: Handler;
}

interface Registration<Handler> {
  readonly version: SemVer;
  /** Registered without a version; counts as 1.0.0 and yields to an explicit 1.0.0. */
  plain: Handler | undefined;
  explicit: Handler | undefined;
}

interface Versions<Handler> {
  /** Ascending. */
  readonly registrations: Registration<Handler>[];
  policy: VersionPolicy;
}

/**
 * The orchestrations of one runtime: name → versions → handler (runtime.md 3.12). One
 * table per runtime, so two runtimes of a process may use one name for different things.
 */
export class OrchestrationRegistry<Handler> {
  private readonly byName = new Map<string, Versions<Handler>>();
  private readonly problems: string[] = [];
  private readonly repeated: string[] = [];

  /** Registers version 1.0.0. Of several functions the last one stays, as in native. */
  register(name: string, handler: Handler): void {
    this.add(name, FIRST_VERSION, (registration) => {
      if (registration.plain !== undefined) this.noteRepetition(name, FIRST_VERSION);
      registration.plain = handler;
    });
  }

  /** Versions of a name must be registered in ascending order; {@link check} reports one that is not. */
  registerVersioned(name: string, version: string, handler: Handler): void {
    this.add(name, version, (registration) => {
      if (registration.explicit !== undefined) this.noteRepetition(name, version);
      registration.explicit = handler;
    });
  }

  /**
   * Registers a version of a typed definition, in any order: it says itself which version
   * it is. The caller has made sure that the version is free.
   */
  registerDefinition(name: string, version: string = FIRST_VERSION, handler: Handler): void {
    this.add(name, version, (registration) => (registration.explicit = handler), 'any order');
  }

  /** How starts without a version resolve from now on. */
  setPolicy(name: string, policy: VersionPolicy): void {
    this.versionsOf(name).policy = policy;
  }

  /** Takes over everything of another registry; names that both have are reported as repeated. */
  merge(other: OrchestrationRegistry<Handler>): void {
    for (const [name, { registrations, policy }] of other.byName) {
      for (const { version, plain, explicit } of registrations) {
        if (plain !== undefined) this.register(name, plain);
        if (explicit !== undefined) this.registerVersioned(name, formatSemVer(version), explicit);
      }
      this.versionsOf(name).policy = policy;
    }
    this.problems.push(...other.problems);
    this.repeated.push(...other.repeated);
  }

  /** The handler for a start without version, by the policy of the name. */
  resolve(name: string): Resolved<Handler> | undefined {
    const versions = this.byName.get(name);
    if (!versions) return undefined;
    if (versions.policy.kind === 'exact') return this.resolveExact(name, versions.policy.version);
    return resolved(versions.registrations.at(-1));
  }

  /** The handler of exactly this version; a text that is no version is simply not found. */
  resolveExact(name: string, version: string): Resolved<Handler> | undefined {
    const wanted = parseSemVer(version);
    if (!wanted) return undefined;
    return resolved(this.byName.get(name)?.registrations.find((known) => compareSemVer(known.version, wanted) === 0));
  }

  /** Registered versions of a name, ascending. */
  versions(name: string): string[] {
    return this.byName.get(name)?.registrations.map(({ version }) => formatSemVer(version)) ?? [];
  }

  names(): string[] {
    return [...this.byName.keys()].filter((name) => this.versions(name).length > 0);
  }

  /** Registrations that replaced an equal one. */
  repetitions(): readonly string[] {
    return this.repeated;
  }

  /** @throws ConfigurationError with the first version that is none or does not ascend */
  check(): void {
    const [problem] = this.problems;
    if (problem !== undefined) throw new ConfigurationError(problem);
  }

  private add(
    name: string,
    versionText: string,
    put: (registration: Registration<Handler>) => void,
    order: 'ascending' | 'any order' = 'ascending',
  ): void {
    const version = parseSemVer(versionText);
    if (!version) {
      this.problems.push(`invalid orchestration version for ${name}: '${versionText}' is not like 1.2.3`);
      return;
    }
    const { registrations } = this.versionsOf(name);
    const same = registrations.find((known) => compareSemVer(known.version, version) === 0);
    if (same) return put(same);
    const latest = registrations.at(-1);
    if (order === 'ascending' && latest && compareSemVer(version, latest.version) < 0) {
      this.problems.push(
        `non-monotonic orchestration version for ${name}: ${versionText} is not later than existing latest ${formatSemVer(latest.version)}`,
      );
      return;
    }
    const registration: Registration<Handler> = { version, plain: undefined, explicit: undefined };
    put(registration);
    registrations.push(registration);
    registrations.sort((a, b) => compareSemVer(a.version, b.version));
  }

  private versionsOf(name: string): Versions<Handler> {
    const known = this.byName.get(name);
    if (known) return known;
    const problem = problemOfName('orchestration name', name);
    if (problem !== undefined) this.problems.push(problem);
    const made: Versions<Handler> = { registrations: [], policy: { kind: 'latest' } };
    this.byName.set(name, made);
    return made;
  }

  private noteRepetition(name: string, version: string): void {
    this.repeated.push(`duplicate orchestration registration: ${name}@${version}`);
  }
}

function resolved<Handler>(registration: Registration<Handler> | undefined): Resolved<Handler> | undefined {
  const handler = registration?.explicit ?? registration?.plain;
  return registration && handler !== undefined ? { version: formatSemVer(registration.version), handler } : undefined;
}

/** The activities of one runtime. They have one version and no policy. */
export class ActivityRegistry<Handler> {
  private readonly handlers = new Map<string, Handler>();
  private readonly problems: string[] = [];
  private readonly repeated: string[] = [];

  /** Of several functions under one name the first one stays; a reserved name is refused. Both as in native. */
  register(name: string, handler: Handler): void {
    if (name.startsWith(SYSTEM_ACTIVITY_PREFIX)) {
      this.repeated.push(`activity name '${name}' uses reserved prefix '${SYSTEM_ACTIVITY_PREFIX}'`);
      return;
    }
    const problem = problemOfName('activity name', name);
    if (problem !== undefined) this.problems.push(problem);
    else if (this.handlers.has(name)) this.repeated.push(`duplicate activity registration: ${name}`);
    else this.handlers.set(name, handler);
  }

  merge(other: ActivityRegistry<Handler>): void {
    for (const [name, handler] of other.handlers) this.register(name, handler);
    this.problems.push(...other.problems);
    this.repeated.push(...other.repeated);
  }

  find(name: string): Handler | undefined {
    return this.handlers.get(name);
  }

  names(): string[] {
    return [...this.handlers.keys()];
  }

  /** Registrations that had no effect. */
  repetitions(): readonly string[] {
    return this.repeated;
  }

  /** @throws ConfigurationError for a name that cannot be stored */
  check(): void {
    const [problem] = this.problems;
    if (problem !== undefined) throw new ConfigurationError(problem);
  }
}
