import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy between a client and a server, which can be slow or fail as a network does. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** The server to which new connections lead. */
  target: Target;
  /** How long each direction takes, in milliseconds. */
  delayMs: number;
  /** Connections stay open, and nothing arrives any more, as when a machine vanished. */
  isSilent: boolean;
  /** New connections are closed at once. */
  isClosed: boolean;
  /**
   * Called with the statements of each piece that a client sends. True: the server does them all, and the client's
   * connection breaks before any answer.
   */
  losesAnswerTo: (statements: readonly string[]) => boolean;
  /**
   * The round trips so far, those of several connections at a time counted once: something that is sent after an answer,
   * on whichever connection, comes one trip after it. The end of a snapshot, which nobody waits for, does not count.
   */
  readonly roundTrips: number;
  /** Statements that clients prepared so far: the first time that a connection sends a text, which costs a trip more. */
  readonly preparations: number;
  /** True while no answer is under way. */
  readonly isQuiet: boolean;
  /** How many connections are open. */
  readonly connections: number;
  /**
   * Silences the connections that are open now, so that the server does not even see them end. New ones work, as when
   * another machine took over the address.
   */
  silenceAll(): void;
  /** Breaks all connections. */
  breakAll(): void;
}

interface Target {
  host?: string;
  port: number;
}

/** Listens on a free port of this machine. */
export async function startTcpProxy(target: Target): Promise<TcpProxy> {
  const open = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  /** The trips of the requests of each client that the server has not completed; 0 for one that does not count. */
  const waiting = new Map<Socket, number[]>();
  let preparations = 0;
  let roundTrips = 0;
  let answeredTrips = 0;
  const server = createServer((client) => {
    if (proxy.isClosed) {
      client.destroy();
      return;
    }
    const upstream = connect({ host: '127.0.0.1', ...proxy.target });
    const ends = [client, upstream];
    const readRequests = createMessageReader(true);
    const readAnswers = createMessageReader(false);
    const prepared = new Map<string, string>();
    const trips: number[] = [];
    waiting.set(client, trips);
    let isDeaf = false;
    const end = () => {
      waiting.delete(client);
      if (silent.has(client)) return;
      if (isDeaf) {
        client.destroy();
        open.delete(client);
        // The server reads on to the end of what was sent.
        upstream.end();
        return;
      }
      for (const each of ends) {
        each.destroy();
        open.delete(each);
      }
    };
    for (const each of ends) {
      open.add(each);
      each.setNoDelay(true);
      each.on('close', end);
      each.on('error', end);
    }
    /** Keeps the order of the pieces, whatever the delay was for each. */
    const pass = (
      from: Socket,
      to: Socket,
      look: (piece: Buffer) => void,
      arrived: (piece: Buffer) => void,
    ) => {
      let last = Promise.resolve();
      from.on('data', (piece: Buffer) => {
        if (proxy.isSilent || silent.has(from)) return;
        look(piece);
        if (isDeaf && to === client) return;
        const arrive = () => {
          arrived(piece);
          to.write(piece);
        };
        const arrival = proxy.delayMs === 0 ? undefined : Bun.sleep(proxy.delayMs);
        if (arrival === undefined) arrive();
        else last = last.then(() => arrival).then(arrive);
      });
    };
    const nothing = () => undefined;
    const send = (piece: Buffer) => {
      const statements: string[] = [];
      for (const { type, body } of readRequests(piece)) {
        const [first = '', second = ''] = body.toString().split('\0', 2);
        if (type === 'P') preparations++;
        if (type === 'P') prepared.set(first, second);
        else if (type === 'B') statements.push(prepared.get(second) ?? '');
        else if (type === 'Q') statements.push(first);
        if (type !== 'S' && type !== 'Q') continue;
        const trip = statements.at(-1) === 'ROLLBACK' ? 0 : answeredTrips + 1;
        trips.push(trip);
        roundTrips = Math.max(roundTrips, trip);
      }
      if (!proxy.losesAnswerTo(statements)) return;
      isDeaf = true;
      upstream.on('end', () => open.delete(upstream));
      upstream.once('data', end);
    };
    pass(client, upstream, send, nothing);
    pass(upstream, client, nothing, (piece) => {
      // The server says that it is ready for the next request, and the first time that it knows the client.
      for (const { type } of readAnswers(piece)) {
        if (type === 'Z') answeredTrips = Math.max(answeredTrips, trips.shift() ?? 0);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const proxy: TcpProxy = {
    port: address.port,
    target,
    delayMs: 0,
    isSilent: false,
    isClosed: false,
    losesAnswerTo: () => false,
    get roundTrips() {
      return roundTrips;
    },
    get preparations() {
      return preparations;
    },
    get isQuiet() {
      return [...waiting.values()].every((trips) => trips.length === 0);
    },
    get connections() {
      return open.size / 2;
    },
    silenceAll() {
      for (const each of open) silent.add(each);
    },
    breakAll() {
      for (const each of [...open]) each.destroy();
    },
    async [Symbol.asyncDispose]() {
      proxy.breakAll();
      server.close();
    },
  };
  return proxy;
}

/** The protocol version of the first message of a connection, unless that asks for TLS. */
const START = 196_608;

/**
 * Returns a function that returns the messages that a piece completes. Those of a client begin with one without a type,
 * after another that asks for TLS.
 */
function createMessageReader(isOfClient: boolean): (piece: Buffer) => { type: string; body: Buffer }[] {
  let rest: Buffer = Buffer.alloc(0);
  let isStarted = !isOfClient;
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    const messages: { type: string; body: Buffer }[] = [];
    for (;;) {
      const head = isStarted ? 1 : 0;
      // The length counts itself.
      const size = rest.length < head + 4 ? Number.POSITIVE_INFINITY : head + rest.readInt32BE(head);
      if (rest.length < size) return messages;
      const message = rest.subarray(0, size);
      rest = rest.subarray(size);
      if (isStarted) messages.push({ type: message.toString('latin1', 0, 1), body: message.subarray(5) });
      else isStarted = message.readInt32BE(4) === START;
    }
  };
}

/** The same address by way of a proxy. */
export function through({ port }: TcpProxy, url: string): string {
  const address = new URL(url);
  address.hostname = '127.0.0.1';
  address.port = String(port);
  return address.href;
}
