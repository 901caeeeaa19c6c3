import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A statement on its way from a client to the server. */
export interface SeenStatement {
  /** Its place among the statements since the last {@link FailpointProxy.watch}, from 0, over all connections. */
  readonly index: number;
  /** In which order its connection was opened, from 0. */
  readonly connection: number;
  readonly text: string;
}

/** Where to stop the world: just before the server gets a statement, or when it has carried it out. */
export interface Failpoint {
  readonly when: 'before' | 'after';
  /** The statement itself, by {@link SeenStatement.index} or by what it looks like. */
  readonly at: number | ((statement: SeenStatement) => boolean);
}

/** Where one connection stands. */
interface Link {
  readonly number: number;
  readonly client: Socket;
  readonly server: Socket;
  /** SQL by the name of the prepared statement. */
  readonly parsed: Map<string, string>;
  /** The name last bound; our clients use the unnamed portal only. */
  bound: string;
  hasStarted: boolean;
  /** Statements sent that the server has not answered yet. */
  unanswered: number;
  /** Set while a failpoint waits for the answer to what was sent last. */
  answered: (() => void) | undefined;
}

/**
 * Stands between a process under test and PostgreSQL, and stops both in front of or behind
 * a chosen statement of the wire protocol: whatever the driver, whatever it sends together.
 *
 * When the failpoint is reached nothing passes any more, in no direction and on no
 * connection. The test kills the process then and calls {@link cut}; the server sees the
 * connections end, as it does when a process dies.
 *
 *     const proxy = await FailpointProxy.open(databaseUrl());
 *     const reached = proxy.arm({ when: 'after', at: ({ text }) => text === 'COMMIT' });
 *     … start a process on proxy.url …
 *     await reached;
 *     child.kill('SIGKILL');
 *     proxy.cut();
 */
export class FailpointProxy {
  private readonly links = new Set<Link>();
  private opened = 0;
  private seen: SeenStatement[] = [];
  private failpoint: (Failpoint & { readonly reached: (statement: SeenStatement) => void }) | undefined;
  private frozen = false;

  private constructor(
    private readonly server: Server,
    /** Where to connect instead. */
    readonly url: string,
  ) {}

  static async open(targetUrl: string): Promise<FailpointProxy> {
    const target = new URL(targetUrl);
    const server = createServer((client) => proxy.serve(client, target));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    const own = new URL(targetUrl);
    own.hostname = '127.0.0.1';
    own.port = String(address.port);
    const proxy = new FailpointProxy(server, own.href);
    return proxy;
  }

  /** Forgets what was seen, and counts statements from here on. */
  watch(): void {
    this.seen = [];
  }

  /** What was sent since {@link watch}, in order. */
  get statements(): readonly SeenStatement[] {
    return this.seen;
  }

  /** Resolves with the statement when everything stands still; counts from {@link watch}. */
  arm(failpoint: Failpoint): Promise<SeenStatement> {
    return new Promise((reached) => (this.failpoint = { ...failpoint, reached }));
  }

  /** Ends all connections, at both ends, and lets new ones through. */
  cut(): void {
    for (const { client, server } of this.links) {
      client.destroy();
      server.destroy();
    }
    this.failpoint = undefined;
    this.frozen = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(client: Socket, target: URL): void {
    const server = connect(Number(target.port), target.hostname);
    client.setNoDelay(true);
    server.setNoDelay(true);
    const link: Link = {
      number: this.opened++,
      client,
      server,
      parsed: new Map(),
      bound: '',
      hasStarted: false,
      unanswered: 0,
      answered: undefined,
    };
    this.links.add(link);
    for (const socket of [client, server]) {
      // A broken half takes the other half along; that is all there is to an error here.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.links.delete(link);
        client.destroy();
        server.destroy();
      });
    }
    client.on(
      'data',
      messages(
        (message) => this.fromClient(link, message),
        () => !link.hasStarted,
      ),
    );
    const fromServer = messages((message) => this.fromServer(link, message));
    server.on('data', (chunk) => {
      if (!this.frozen) client.write(chunk);
      fromServer(chunk);
    });
  }

  private fromClient(link: Link, message: Buffer): void {
    if (this.frozen) return;
    if (!link.hasStarted) {
      link.hasStarted = true;
      link.server.write(message);
      return;
    }
    const text = statementOf(link, message);
    if (text === undefined) {
      link.server.write(message);
      return;
    }
    const statement = { index: this.seen.length, connection: link.number, text };
    this.seen.push(statement);
    const { failpoint } = this;
    const isReached =
      failpoint && (typeof failpoint.at === 'number' ? failpoint.at === statement.index : failpoint.at(statement));
    if (isReached) this.stopAt(link, message, statement, failpoint);
    else this.send(link, message);
  }

  private stopAt(
    link: Link,
    message: Buffer,
    statement: SeenStatement,
    { when, reached }: { readonly when: string; readonly reached: (statement: SeenStatement) => void },
  ): void {
    this.frozen = true;
    if (when === 'before') return reached(statement);
    link.answered = () => reached(statement);
    this.send(link, message);
    // The server keeps its answers back until a Sync, which may never come.
    link.server.write(FLUSH);
  }

  private send(link: Link, message: Buffer): void {
    link.unanswered += 1;
    link.server.write(message);
  }

  private fromServer(link: Link, message: Buffer): void {
    // CommandComplete, EmptyQueryResponse, PortalSuspended, ErrorResponse.
    if (!'CIsE'.includes(typeOf(message))) return;
    link.unanswered -= 1;
    // After an error the server skips what came with it.
    if (typeOf(message) === 'E') link.unanswered = 0;
    if (link.unanswered > 0 || !link.answered) return;
    link.answered();
    link.answered = undefined;
  }
}

const FLUSH = Buffer.from([0x48, 0, 0, 0, 4]);

/** The SQL that a message makes the server run; `undefined` when it runs nothing. */
function statementOf(link: Link, message: Buffer): string | undefined {
  switch (typeOf(message)) {
    case 'P': {
      const name = textAt(message, 5);
      link.parsed.set(name, textAt(message, 5 + Buffer.byteLength(name) + 1));
      return undefined;
    }
    case 'B': {
      const portal = textAt(message, 5);
      link.bound = textAt(message, 5 + Buffer.byteLength(portal) + 1);
      return undefined;
    }
    case 'E':
      return link.parsed.get(link.bound) ?? '';
    case 'Q':
      return textAt(message, 5);
    default:
      return undefined;
  }
}

function typeOf(message: Buffer): string {
  return String.fromCharCode(message[0] ?? 0);
}

function textAt(message: Buffer, start: number): string {
  return message.toString('utf8', start, message.indexOf(0, start));
}

/** Cuts a stream of the protocol into messages. The first one of a client has no type. */
function messages(use: (message: Buffer) => void, isUntyped = () => false): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const header = isUntyped() ? 0 : 1;
      if (rest.length < header + 4) return;
      const length = header + rest.readInt32BE(header);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      use(message);
    }
  };
}
