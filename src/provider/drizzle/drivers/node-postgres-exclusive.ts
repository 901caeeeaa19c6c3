import type { PgClient, PgClientClass, PgPool, PgPoolClient } from './node-postgres-client.js';

/**
 * A single `pg.Client` as a pool of one. Only for a client that nobody else uses: its
 * other users' statements would become part of our transactions.
 */
export function exclusivePool(client: PgClient): PgPool {
  let tail: Promise<void> = Promise.resolve();
  let failure: Error | undefined;
  client.on('error', (error) => (failure ??= error));
  client.on('end', () => (failure ??= new Error('the client has ended')));

  const connect = async (): Promise<PgPoolClient> => {
    const before = tail;
    let free = () => {};
    tail = new Promise((resolve) => (free = resolve));
    await before;
    if (failure) {
      free();
      throw failure;
    }
    const release = (error?: Error | boolean) => {
      // There is no other client to continue with: what is broken stays broken.
      if (error) failure ??= error instanceof Error ? error : new Error('the client was released as broken');
      free();
    };
    // A view of the client, so that the application's object gets no method of ours.
    return new Proxy(client, {
      get: (target, key) => (key === 'release' ? release : bound(target, key)),
    }) as PgPoolClient;
  };
  return {
    options: { max: 1 },
    Client: client.constructor as PgClientClass,
    totalCount: 1,
    connect,
    // A client is handed out by nobody: of `acquire` it never tells.
    on: (event: string, listener: never) => client.on(event as 'error', listener),
    off: (event: string, listener: never) => client.off(event as 'error', listener),
    listenerCount: () => 1,
    end: () => client.end(),
  };
}

function bound(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key);
  return typeof value === 'function' ? (value.bind(target) as unknown) : value;
}
