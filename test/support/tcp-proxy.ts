import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy between a client and a server, which can be slow or fail as a network does. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** How long each direction takes, in milliseconds. */
  delayMs: number;
  /** Connections stay open, and nothing arrives any more, as when a machine vanished. */
  isSilent: boolean;
  /** New connections are closed at once. */
  isClosed: boolean;
  /**
   * Called with each piece that a client sends. True: the server gets it, and then the client's connection breaks
   * before any answer.
   */
  losesAnswerTo: (piece: Buffer) => boolean;
  /**
   * How often a client sent something while no client waited for an answer: the round trips so far, those of several
   * connections at a time counted once. The end of a snapshot, which nobody waits for, does not count.
   */
  readonly roundTrips: number;
  /** How many connections are open. */
  readonly connections: number;
  /** Breaks all connections. */
  breakAll(): void;
}

/** Listens on a free port of this machine. */
export async function startTcpProxy(target: { host?: string; port: number }): Promise<TcpProxy> {
  const open = new Set<Socket>();
  /** Clients that sent something and got nothing since. */
  const waiting = new Set<Socket>();
  let roundTrips = 0;
  const server = createServer((client) => {
    if (proxy.isClosed) {
      client.destroy();
      return;
    }
    const upstream = connect({ host: target.host ?? '127.0.0.1', port: target.port });
    const ends = [client, upstream];
    let isDeaf = false;
    const end = () => {
      waiting.delete(client);
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
    const pass = (from: Socket, to: Socket, look: (piece: Buffer) => void) => {
      let last = Promise.resolve();
      from.on('data', (piece: Buffer) => {
        if (proxy.isSilent) return;
        look(piece);
        if (isDeaf && to === client) return;
        const arrive = () => {
          if (to === client) waiting.delete(client);
          to.write(piece);
        };
        const arrival = proxy.delayMs === 0 ? undefined : Bun.sleep(proxy.delayMs);
        if (arrival === undefined) arrive();
        else last = last.then(() => arrival).then(arrive);
      });
    };
    pass(client, upstream, (piece) => {
      if (!piece.includes('ROLLBACK')) {
        if (waiting.size === 0) roundTrips++;
        waiting.add(client);
      }
      if (!proxy.losesAnswerTo(piece)) return;
      isDeaf = true;
      upstream.once('data', end);
    });
    pass(upstream, client, () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const proxy: TcpProxy = {
    port: address.port,
    delayMs: 0,
    isSilent: false,
    isClosed: false,
    losesAnswerTo: () => false,
    get roundTrips() {
      return roundTrips;
    },
    get connections() {
      return open.size / 2;
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

/** The same address by way of a proxy. */
export function through({ port }: TcpProxy, url: string): string {
  const address = new URL(url);
  address.hostname = '127.0.0.1';
  address.port = String(port);
  return address.href;
}
