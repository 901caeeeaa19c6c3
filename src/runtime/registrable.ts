import type { Logger } from '../base/logger.js';
import type { ActivityHandler } from './activity-handler.js';
import type { AsyncHost } from './async/async-host.js';
import type { CreateDriver } from './replay/driver.js';

/** The method by which a definition gives a runtime what it runs. Not of users. */
export const REGISTRATION: unique symbol = Symbol.for('duroxide-drizzle.registration');

/** What a definition may need of the runtime that registers it. */
export interface RegisteringRuntime {
  readonly host: AsyncHost;
  readonly logger: Logger;
}

/** A definition as the runtime runs it. */
export type Registration =
  | { readonly kind: 'activity'; readonly name: string; readonly handler: ActivityHandler }
  | {
      readonly kind: 'orchestration';
      readonly name: string;
      /** Absent: 1.0.0. */
      readonly version?: string | undefined;
      readonly createDriver: CreateDriver;
    };

/** A definition with its code, made by `activity(…)` or `orchestration(…)`. */
export interface Registrable {
  readonly kind: 'activity' | 'orchestration';
  readonly name: string;
  /** The code; tells whether two definitions of one name are the same. */
  readonly handler: unknown;
  [REGISTRATION](runtime: RegisteringRuntime): Registration;
}
