import type { IBackup, IMemoryDb } from 'pg-mem';
import { PgMemCatalogue } from './catalogue.js';
import { registerFunctions } from './functions.js';
import type { Parameter } from './parameters.js';
import { PgMemError } from './pg-mem-error.js';
import { runQuery } from './queries.js';
import type { ResultSet } from './result-set.js';
import { identifier, isOneOf, nameAt, type Token, tokenize } from './tokens.js';

const UNDONE_DDL = 'pg-mem could not roll back a transaction that changed the schema; make a new database';

/** As PostgreSQL reports it: idle, in a transaction, in a failed transaction. */
export type TransactionStatus = 'I' | 'T' | 'E';

/** Called for each notification, after the commit of its transaction. */
export type NotificationListener = (channel: string, payload: string) => void;

interface OpenTransaction {
  readonly backup: IBackup;
  readonly savepoints: { readonly name: string; readonly backup: IBackup }[];
  readonly notifications: Notification[];
  failed: boolean;
  changedSchema: boolean;
  /** Where `SET LOCAL search_path` pointed away from. */
  schemaBefore: string | undefined;
}

interface Notification {
  readonly channel: string;
  readonly payload: string;
}

/**
 * A PostgreSQL server with one connection, on pg-mem: what that lacks of transactions,
 * functions and syntax is added here, so that nobody else has to know. Statements run
 * at once, one after the other; whoever uses it takes turns (see `PgMemPool`).
 */
export class PgMemServer {
  private transaction: OpenTransaction | undefined;
  private transactionId = 1000;
  private autocommitted: Notification[] = [];
  private readonly listeners = new Set<NotificationListener>();
  private readonly catalogue = new PgMemCatalogue();
  /** Where unqualified names are looked up and made; the first entry of `search_path`. */
  private currentSchema = 'public';
  /** Set when a change of the schema should have been rolled back. */
  private broken = false;

  constructor(private readonly db: IMemoryDb) {
    registerFunctions(db, {
      transactionId: () => this.transactionId,
      hasTable: (name) => this.hasTable(name),
      notify: (channel, payload) => this.pendingNotifications().push({ channel, payload }),
    });
  }

  get status(): TransactionStatus {
    if (this.transaction === undefined) return 'I';
    return this.transaction.failed ? 'E' : 'T';
  }

  onNotification(listener: NotificationListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Runs one statement, or several without parameters. @throws PgMemError */
  execute(sql: string, parameters: readonly Parameter[] = []): ResultSet {
    const statements = split(tokenize(sql));
    if (statements.length > 1 && parameters.length > 0) {
      throw new PgMemError('42601', 'cannot insert multiple commands into a prepared statement');
    }
    let last: ResultSet = { command: '', rowCount: null, fields: [], rows: [] };
    for (const statement of statements) last = this.executeOne(statement, parameters);
    return last;
  }

  /** Ends whatever is open, as the server does when a connection goes away. */
  abortTransaction(): void {
    if (this.transaction) this.rollback();
  }

  private executeOne(statement: readonly Token[], parameters: readonly Parameter[]): ResultSet {
    try {
      if (this.broken) throw new PgMemError('XX000', UNDONE_DDL);
      const control = this.controlTransaction(statement);
      if (control !== undefined) return { command: control, rowCount: null, fields: [], rows: [] };
      if (this.transaction?.failed) {
        throw new PgMemError(
          '25P02',
          'current transaction is aborted, commands ignored until end of transaction block',
        );
      }
      if (this.transaction === undefined) this.transactionId++;
      const result = this.query(statement, parameters);
      if (this.transaction === undefined) this.deliver(this.autocommitted.splice(0));
      return result;
    } catch (error) {
      if (this.transaction === undefined) this.autocommitted = [];
      else this.transaction.failed = true;
      throw PgMemError.from(error);
    }
  }

  private query(statement: readonly Token[], parameters: readonly Parameter[]): ResultSet {
    const [verb, second] = statement;
    if (isOneOf(verb, 'set', 'reset', 'listen', 'unlisten', 'discard')) {
      this.setSearchPath(statement);
      return withoutRows(verb);
    }
    if (isOneOf(verb, 'select') && second?.text === "'schema'") {
      return this.describeSchema(parameters);
    }
    if (!isOneOf(verb, 'create', 'alter', 'drop', 'do')) return this.run(statement, parameters);
    if (this.transaction) this.transaction.changedSchema = true;
    const done = isWithoutEffect(statement, this.catalogue) ? withoutRows(verb) : this.run(statement, parameters);
    this.catalogue.note(statement, this.currentSchema);
    return done;
  }

  private hasTable(text: string): boolean {
    const { schema = this.currentSchema, name } = nameAt(tokenize(text), 0);
    return this.catalogue.hasTable(schema, name);
  }

  private run(statement: readonly Token[], parameters: readonly Parameter[]): ResultSet {
    const { catalogue, currentSchema } = this;
    return runQuery(this.db, statement, parameters, {
      currentSchema,
      defaultOf: (table, column) => catalogue.defaultOf(table, column, currentSchema),
    });
  }

  /** `SET [LOCAL] search_path TO a, …`; other settings mean nothing here. */
  private setSearchPath(statement: readonly Token[]): void {
    const at = statement.findIndex((token) => isOneOf(token, 'search_path'));
    if (at < 0) return;
    const name = isOneOf(statement[0], 'set') ? identifier(statement[at + 2]) : 'public';
    if (this.transaction && isOneOf(statement[1], 'local')) this.transaction.schemaBefore ??= this.currentSchema;
    this.currentSchema = this.catalogue.hasSchema(name) ? name : 'public';
  }

  /** The migrator's question about a schema: its parameters are the name, and arrays of which the first is of tables. */
  private describeSchema(parameters: readonly Parameter[]): ResultSet {
    const tables = parameters.find((parameter): parameter is string[] => Array.isArray(parameter)) ?? [];
    const rows = this.catalogue.describe(String(parameters[0]), tables);
    const fields = Array.from({ length: 6 }, (_, i) => ({ name: `column${i + 1}`, dataTypeID: 25 }));
    return { command: 'SELECT', rowCount: rows.length, fields, rows };
  }

  /** Handles BEGIN, COMMIT and the like; answers with the command's tag, or `undefined` for any other statement. */
  private controlTransaction(statement: readonly Token[]): string | undefined {
    const [first, second] = statement;
    if (isOneOf(first, 'begin') || (isOneOf(first, 'start') && isOneOf(second, 'transaction'))) return this.begin();
    if (isOneOf(first, 'commit', 'end')) return this.commit();
    if (isOneOf(first, 'abort')) return this.rollback();
    if (isOneOf(first, 'rollback')) {
      const to = statement.findIndex((token) => isOneOf(token, 'to'));
      return to < 0 ? this.rollback() : this.rollbackTo(nameAfter(statement, to));
    }
    if (isOneOf(first, 'savepoint')) return this.savepoint(nameAfter(statement, 0));
    if (isOneOf(first, 'release')) return this.release(nameAfter(statement, 0));
    return undefined;
  }

  private begin(): string {
    // PostgreSQL only warns of a BEGIN inside of a transaction.
    if (this.transaction) return 'BEGIN';
    this.transactionId++;
    this.transaction = {
      backup: this.db.backup(),
      savepoints: [],
      notifications: [],
      failed: false,
      changedSchema: false,
      schemaBefore: undefined,
    };
    return 'BEGIN';
  }

  private commit(): string {
    const transaction = this.transaction;
    if (transaction === undefined) return 'COMMIT';
    if (transaction.failed) return this.rollback();
    this.end(transaction);
    this.deliver(transaction.notifications);
    return 'COMMIT';
  }

  private rollback(): string {
    const transaction = this.transaction;
    if (transaction === undefined) return 'ROLLBACK';
    this.end(transaction);
    this.restore(transaction.backup, transaction.changedSchema);
    return 'ROLLBACK';
  }

  private end({ schemaBefore }: OpenTransaction): void {
    this.transaction = undefined;
    this.currentSchema = schemaBefore ?? this.currentSchema;
  }

  private savepoint(name: string): string {
    const transaction = this.openTransaction('SAVEPOINT');
    if (transaction.failed) {
      throw new PgMemError('25P02', 'current transaction is aborted, commands ignored until end of transaction block');
    }
    transaction.savepoints.push({ name, backup: this.db.backup() });
    return 'SAVEPOINT';
  }

  private release(name: string): string {
    const { savepoints } = this.openTransaction('RELEASE SAVEPOINT');
    savepoints.length = savepointAt(savepoints, name);
    return 'RELEASE';
  }

  private rollbackTo(name: string): string {
    const transaction = this.openTransaction('ROLLBACK TO SAVEPOINT');
    const at = savepointAt(transaction.savepoints, name);
    const backup = transaction.savepoints[at]?.backup;
    if (backup) this.restore(backup, transaction.changedSchema);
    transaction.savepoints.length = at + 1;
    transaction.failed = false;
    return 'ROLLBACK';
  }

  private restore(backup: IBackup, changedSchema: boolean): void {
    // pg-mem cannot take back what DDL did. Whoever rolls back has an error of its own to report,
    // so the refusal comes with the next statement.
    if (changedSchema) this.broken = true;
    else backup.restore();
  }

  private openTransaction(command: string): OpenTransaction {
    if (this.transaction) return this.transaction;
    throw new PgMemError('25P01', `${command} can only be used in transaction blocks`);
  }

  private pendingNotifications(): Notification[] {
    return this.transaction?.notifications ?? this.autocommitted;
  }

  private deliver(notifications: readonly Notification[]): void {
    for (const { channel, payload } of notifications) {
      for (const listener of this.listeners) listener(channel, payload);
    }
  }
}

/**
 * Secondary indexes are not made, because pg-mem answers wrong with them
 * (`lock_token IS NULL` finds nothing); unique ones are, for the sake of ON CONFLICT.
 */
function isWithoutEffect(statement: readonly Token[], catalogue: PgMemCatalogue): boolean {
  const [verb, second, third] = statement;
  if (isOneOf(verb, 'create', 'drop') && isOneOf(second, 'index')) return true;
  return isOneOf(second, 'schema') && isOneOf(third, 'if') && catalogue.hasSchema(identifier(statement.at(-1)));
}

function withoutRows(verb: Token | undefined): ResultSet {
  return { command: String(verb?.text).toUpperCase(), rowCount: null, fields: [], rows: [] };
}

/** The statements between semicolons. */
function split(tokens: readonly Token[]): Token[][] {
  const statements: Token[][] = [[]];
  for (const token of tokens) {
    if (isOneOf(token, ';')) statements.push([]);
    else statements.at(-1)?.push(token);
  }
  return statements.filter((statement) => statement.length > 0);
}

function nameAfter(statement: readonly Token[], at: number): string {
  const rest = statement.slice(at + 1);
  const name = isOneOf(rest[0], 'savepoint') ? rest[1] : rest[0];
  return name?.text.toLowerCase() ?? '';
}

function savepointAt(savepoints: OpenTransaction['savepoints'], name: string): number {
  const at = savepoints.findLastIndex((savepoint) => savepoint.name === name);
  if (at < 0) throw new PgMemError('3B001', `savepoint "${name}" does not exist`);
  return at;
}
