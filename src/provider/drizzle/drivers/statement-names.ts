import type { Logger } from '../../../base/logger.js';
import type { Statement } from '../statement.js';
import { serverErrorOf } from './connection-errors.js';

/** `cached plan must not change result type`, among others. */
const FEATURE_NOT_SUPPORTED = '0A000';
/** The server does not know a name that we prepared, or knows one that we did not: connections are shared below us. */
const FOREIGN_SESSION = new Set(['26000', '42P05']);

/** Under which names a driver prepares statements on the server. */
export class StatementNames {
  private generation = 0;

  constructor(
    private enabled: boolean,
    private readonly logger: Logger,
  ) {}

  /** `undefined`: prepare it without a name, for this run only. */
  nameOf(statement: Statement<unknown>): string | undefined {
    if (!this.enabled) return undefined;
    return this.generation === 0 ? statement.name : `${statement.name}_${this.generation}`;
  }

  /**
   * Learns from a failure of a statement that was run as `name`. A name that met a
   * changed table fails on its connection for ever, and a retry may draw the next such
   * connection: all names change (P:T-15).
   */
  learn(error: unknown, name: string | undefined): void {
    const sqlState = serverErrorOf(error)?.code;
    if (name === undefined || sqlState === undefined) return;
    if (sqlState === FEATURE_NOT_SUPPORTED && this.isCurrent(name)) this.generation++;
    if (FOREIGN_SESSION.has(sqlState) && this.enabled) {
      this.enabled = false;
      this.logger.warn(
        { sqlState },
        'named statements are off from now on: the connection does not keep them, as behind a pooler in transaction mode; ' +
          'set namedStatements: false to say so from the start',
      );
    }
  }

  /** Several connections fail with one old generation; only the first failure counts. */
  private isCurrent(name: string): boolean {
    return this.generation === 0 ? !/_\d+$/.test(name.slice('ddz_'.length)) : name.endsWith(`_${this.generation}`);
  }
}
