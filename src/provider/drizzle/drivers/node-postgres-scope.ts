import type { ScopeExecutor, SqlValues } from '../executor.js';
import type { Statement } from '../statement.js';
import { ScopeLine } from './node-postgres-line.js';
import { decodeRows, partOf, PgSession, sendBatch, type SessionOptions } from './node-postgres-session.js';

/**
 * A caller's transaction on `client`, which reports the transaction's status with each
 * answer: exact at the moment when a statement is sent, unless statements are sent ahead
 * of answers, as in pipeline mode. There the statements go out at once and guard
 * themselves; otherwise they go through the client's {@link ScopeLine}.
 */
export function pgScope(options: SessionOptions): ScopeExecutor {
  const { client } = options;
  const session = new PgSession(options);
  const script = (sql: string) => session.script(sql);
  const line = ScopeLine.of(client);
  if (!line) {
    const { release } = client;
    const mayBeOpen = () => client.getTransactionStatus?.() !== 'I' && client.release === release;
    return { run: (statement, values) => session.run(statement, values), script, mayBeOpen, guardsItself: false };
  }
  const mark = line.mark();
  const run = async <Row>(statement: Statement<Row>, values: SqlValues = {}): Promise<Row[]> => {
    const part = partOf(options.names, statement, values);
    const result = await line.run(part, mark, (parts, guard) => sendBatch({ ...options, guard }, parts, { gathers: true }));
    return decodeRows(statement, result);
  };
  return { run, script, mayBeOpen: () => line.isOpen(mark), guardsItself: true };
}
