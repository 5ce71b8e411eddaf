// Reads lists of posts and measures how long each takes. A process of its own: what else a client does, such as deliveries that
// wait for a slow disk, must not hold up the watch. `startListReader` starts it, and the rest runs in it.

import { setPriority } from 'node:os';

interface Asked {
  /** Of the list, without the number of the page. */
  url: string;
  key: string;
}

/** `turn`: read its lists once. `everyMs`: read one at a time, so often on average, however long each takes. `isLast`: report. */
type Request = { turn: number } | { everyMs: number } | { isLast: true };

export interface ListFigures {
  /** Lists that came at the first attempt. */
  lists: number;
  p50: number;
  p99: number;
  longest: number;
  /** Lists that were asked for again, because the server was killed or not yet there. */
  again: number;
  /** The p99 of both, where a list that was asked for again takes until it comes. */
  p99WithAgain: number;
}

export function startListReader(asked: Asked) {
  const waiting = new Map<number, () => void>();
  const figures = Promise.withResolvers<ListFigures>();
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(asked)], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc(message: { turn: number } | ListFigures) {
      if (!('turn' in message)) return figures.resolve(message);
      waiting.get(message.turn)?.();
      waiting.delete(message.turn);
    },
  });
  const ended = child.exited.then((code) => {
    throw new Error(`the reader of lists ended with ${code}`);
  });
  ended.catch(() => undefined);
  const send = (request: Request) => child.send(request);
  return {
    /** Rejects when the reader ends, as when a list is not answered with 200. */
    ended,
    /** Resolves when the lists of a turn have come. */
    turn(turn: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(turn, resolve);
      send({ turn });
      return Promise.race([promise, ended]);
    },
    /** Reads lists at a pace, and measures them from here on. */
    begin: (everyMs: number) => send({ everyMs }),
    end(): Promise<ListFigures> {
      send({ isLast: true });
      return Promise.race([figures.promise, ended]);
    },
    stop: () => child.kill('SIGKILL'),
  };
}

/** Lists of a turn. */
export const LISTS = 10;

/** How soon to ask again, in milliseconds. At random, up to twice as long: all of them at once would be a flood. */
const AGAIN_MS = 500;

/** How often to print the figures so far, in milliseconds. */
const PRINT_MS = 600_000;

if (import.meta.main) {
  try {
    // Readers have machines of their own: these must not wait for a processor behind a backup.
    setPriority(-10);
  } catch {
    // Only root may.
  }
  const { url, key } = JSON.parse(Bun.argv[2] ?? '') as Asked;
  const send = (message: { turn: number } | ListFigures) => process.send?.(message);
  let first: number[] = [];
  let later: number[] = [];
  let isLast = false;

  const list = async (n: number): Promise<void> => {
    const began = performance.now();
    for (let attempt = 0; ; attempt++) {
      const response = await fetch(`${url}?page=${1 + (n % 3)}`, {
        headers: { authorization: `Bearer ${key}` },
      })
        .then(async (each) => ({ status: each.status, text: await each.text() }))
        .catch(() => null);
      if (response !== null) {
        if (response.status !== 200) throw new Error(`${response.status}: ${response.text}`);
        (attempt === 0 ? first : later).push(performance.now() - began);
        return;
      }
      await Bun.sleep(AGAIN_MS * (1 + Math.random()));
    }
  };
  /** One after another, as at the pace: of lists at once, most would be answered by a copy of another one. */
  const turn = async (n: number): Promise<void> => {
    for (let at = 0; at < LISTS; at++) await list(n + at);
  };
  const figures = (): ListFigures => {
    // Sorting a million of them in JavaScript would hold up the reader.
    const [all, inTime] = [[...first, ...later], first].map((each) => Float64Array.from(each).sort());
    const at = (share: number, sorted = inTime) =>
      sorted?.[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
    return {
      ...{ lists: first.length, p50: at(0.5), p99: at(0.99), longest: at(1) },
      ...{ again: later.length, p99WithAgain: at(0.99, all) },
    };
  };
  const readAtPace = async (everyMs: number): Promise<void> => {
    first = [];
    later = [];
    const open = new Set<Promise<void>>();
    const timer = setInterval(() => process.stderr.write(`${JSON.stringify(figures())}\n`), PRINT_MS);
    const began = performance.now();
    let due = 0;
    for (let n = 0; !isLast; n++) {
      const own = list(n).finally(() => open.delete(own));
      open.add(own);
      // Readers know nothing of each other.
      due -= Math.log(1 - Math.random()) * everyMs;
      await Bun.sleep(Math.max(0, due - (performance.now() - began)));
    }
    await Promise.all(open);
    clearInterval(timer);
    send(figures());
  };
  process.on('message', async (request: Request) => {
    if ('everyMs' in request) return readAtPace(request.everyMs);
    if ('isLast' in request) isLast = true;
    else await turn(request.turn).then(() => send(request));
  });
}
