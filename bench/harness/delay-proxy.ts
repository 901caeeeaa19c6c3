import { once } from 'node:events';
import { createServer, connect, type Socket } from 'node:net';

/** Stands before a server and lets everything arrive later. */
export interface DelayProxy {
  readonly port: number;
  close(): Promise<void>;
}

/** A proxy to a port of this machine that delays each direction by `delayMs`, without limiting what is under way. */
export async function startDelayProxy(targetPort: number, delayMs: number): Promise<DelayProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    near.setNoDelay(true);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => setTimeout(() => to.writable && to.write(chunk), delayMs));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        setTimeout(() => to.end(), delayMs);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
