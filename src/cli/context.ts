import type { CliIo } from './io.js';
import type { Printer } from './output/printer.js';
import type { Store } from './store.js';

/** Options that every command has. */
export interface GlobalOptions {
  readonly url?: string | undefined;
  readonly pglite?: string | undefined;
  readonly schema: string;
  /** A module that exports the codec of the payloads. */
  readonly codec?: string | undefined;
  readonly json: boolean;
  readonly color?: boolean | undefined;
  readonly allowNewer: boolean;
}

/** What a command works with. */
export interface CliContext {
  readonly io: CliIo;
  readonly options: GlobalOptions;
  readonly print: Printer;
  /** Opens the store, creating nothing; it is closed when the command ends. */
  open(): Promise<Store>;
  /** The command ends in order by itself when the signal aborts, instead of being left. */
  handlesInterrupt(): void;
}
