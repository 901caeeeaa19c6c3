import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

const CLEARTEXT = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

/**
 * Stands before a server that trusts everybody, and asks whoever logs in for a password, in
 * the words of the protocol. Keeps which one each connection gave.
 */
export class PasswordGate {
  readonly logins: { readonly application: string; readonly password: string }[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
    /** Those that are let in. */
    private readonly accepts: (password: string) => boolean,
  ) {}

  static async open(targetUrl: string, accepts: (password: string) => boolean): Promise<PasswordGate> {
    const target = new URL(targetUrl);
    const server = createServer((client) => void gate.serve(client, target));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the gate has no port');
    const gate = new PasswordGate(server, address.port, accepts);
    return gate;
  }

  /** Breaks all connections, so that new ones have to log in. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(client: Socket, target: URL): Promise<void> {
    this.keep(client);
    const startup = await messageOf(client, 0);
    client.write(CLEARTEXT);
    const answer = await messageOf(client, 1);
    const password = answer.subarray(5, -1).toString();
    const application = /application_name\0([^\0]*)/.exec(startup.toString())?.[1] ?? '';
    this.logins.push({ application, password });
    if (!this.accepts(password)) {
      client.end(refusal());
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    this.keep(upstream);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      socket.on('close', () => other.destroy());
    upstream.write(startup);
    client.pipe(upstream).pipe(client);
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
  }
}

/** The next message, whose length stands behind `offset` bytes. A login is one piece at a time. */
async function messageOf(socket: Socket, offset: number): Promise<Buffer> {
  let text = Buffer.alloc(0);
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk) text = Buffer.concat([text, chunk]);
    if (text.length >= offset + 4 && text.length >= text.readUInt32BE(offset) + offset) return text;
    await once(socket, 'readable');
  }
}

function refusal(): Buffer {
  const fields = Buffer.from('SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0');
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
