import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A CommandComplete message of the protocol that says COMMIT. */
const COMMITTED = Buffer.from('COMMIT\0');

/**
 * Stands between a provider and the server, and can lose the answer to a COMMIT: the
 * server has committed, and the client's connection breaks before it hears of it.
 */
export class CuttingProxy {
  private armed = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** Where to connect instead. */
    readonly url: string,
  ) {}

  static async open(targetUrl: string, port = 0): Promise<CuttingProxy> {
    const target = new URL(targetUrl);
    const server = createServer((client) => proxy.serve(client, target));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    const own = new URL(targetUrl);
    own.hostname = '127.0.0.1';
    own.port = String(address.port);
    const proxy = new CuttingProxy(server, own.href);
    return proxy;
  }

  /** The next answer that says COMMIT is lost, and its connection with it. */
  readonly loseNextCommit = (): void => {
    this.armed = true;
  };

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(client: Socket, target: URL): void {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      // A broken half takes the other half along; that is all there is to an error here.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      if (this.armed && chunk.includes(COMMITTED)) {
        this.armed = false;
        client.destroy();
      } else {
        client.write(chunk);
      }
    });
  }
}
