import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  isHushed: boolean;
}

/**
 * Forwards connections to a server that may change. It can cut them, and it can leave them
 * half-open: alive for the operating system, and silent for ever.
 */
export class Relay {
  private readonly links = new Set<Link>();
  private target: { readonly host: string; readonly port: number };

  private constructor(
    private readonly server: Server,
    /** Where to connect instead. */
    readonly url: string,
    targetUrl: string,
  ) {
    this.target = addressOf(targetUrl);
  }

  static async open(targetUrl: string): Promise<Relay> {
    const server = createServer((client) => relay.serve(client));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the relay has no port');
    const own = new URL(targetUrl);
    own.hostname = '127.0.0.1';
    own.port = String(address.port);
    const relay = new Relay(server, own.href, targetUrl);
    return relay;
  }

  get connections(): number {
    return this.links.size;
  }

  /** New connections go to another server; those that exist are cut, as those of a server that died. */
  pointTo(targetUrl: string): void {
    this.target = addressOf(targetUrl);
    this.cut();
  }

  cut(): void {
    for (const { client, server } of this.links) {
      client.destroy();
      server.destroy();
    }
  }

  /** The connections of now carry nothing any more, in no direction, and nobody hears of it. New ones work. */
  hush(): number {
    for (const link of this.links) link.isHushed = true;
    return this.links.size;
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(client: Socket): void {
    const server = connect(this.target.port, this.target.host);
    const link: Link = { client, server, isHushed: false };
    this.links.add(link);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.setNoDelay(true);
      from.on('data', (chunk) => {
        if (!link.isHushed) to.write(chunk);
      });
      from.on('error', () => from.destroy());
      from.on('close', () => {
        // Of a half-open connection the other side learns nothing; the server's side is freed all the same.
        if (link.isHushed && from === server) return;
        this.links.delete(link);
        to.destroy();
      });
    }
  }
}

function addressOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
