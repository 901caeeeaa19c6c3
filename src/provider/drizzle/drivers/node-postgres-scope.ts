import { ScopeEndedError, type ScopeExecutor } from '../executor.js';
import { PgSession, type SessionOptions } from './node-postgres-session.js';

/**
 * A caller's transaction on `client`. The client reports the transaction's status with
 * each answer. It is exact at the moment when a statement is sent, unless statements
 * are sent ahead of answers, as in pipeline mode. And it says nothing about whose
 * transaction it is: only a pooled client, which is given a new `release` each time it
 * is lent, can tell a stranger's from the caller's.
 */
export function pgScope(options: SessionOptions): ScopeExecutor {
  const { client } = options;
  const { release } = client;
  const guardsItself =
    !client.pipeline && typeof release === 'function' && typeof client.getTransactionStatus === 'function';
  const mayBeOpen = () => client.getTransactionStatus?.() !== 'I' && client.release === release;
  const guard = () => (mayBeOpen() ? null : new ScopeEndedError());
  const session = new PgSession(guardsItself ? { ...options, guard } : options);
  return {
    run: (statement, values) => session.run(statement, values),
    script: (sql) => session.script(sql),
    mayBeOpen,
    guardsItself,
  };
}
