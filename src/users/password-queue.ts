import { AppError } from '../lib/app-error.ts';
import type { Metrics } from '../lib/metrics.ts';

// Every password hash of the server. One hash takes a tenth of a second and 64 MiB on a thread of the pool that DNS
// lookups also use, so only one runs at a time, and only a few wait.

/** The hash of a password that nobody knows, so that an unknown address takes as long as a known one. */
export const NOBODYS_HASH =
  '$argon2id$v=19$m=65536,t=2,p=1$JELyUmvc6GvpgDNfPJGIGqIi6az2YyOS3cSLcUcK5wY$IiK26i6xfwRZj9DCBHX6h5ZSJ5o/tDPpkSyK8Mdp+Zs';

/** Requests that wait in each lane. */
const MAX_WAITING = 8;

/** Requests of one source that wait or run, so that one client can't fill the queue. */
const MAX_PER_SOURCE = 3;

/** The client whose password is hashed. */
export interface HashRequest {
  /** The client address group, or the known browser, session or link behind the request. */
  readonly source: string;
  /** Whether the source has proved itself by a known browser, a session or a link. Goes before everybody else. */
  readonly isKnown: boolean;
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal;
}

/** Both throw `AppError` 429 when too many wait, and 499 when the client closes the connection before its turn. */
export interface PasswordQueue {
  hash(password: string, request: HashRequest): Promise<string>;
  verify(password: string, hash: string, request: HashRequest): Promise<boolean>;
}

export function createPasswordQueue(hashes: Metrics['passwordHashes']): PasswordQueue {
  const known: (() => void)[] = [];
  const others: (() => void)[] = [];
  const perSource = new Map<string, number>();
  let isRunning = false;

  /** Resolves when it's the request's turn. */
  function turn({ isKnown, signal }: HashRequest): Promise<void> {
    if (!isRunning) {
      isRunning = true;
      return Promise.resolve();
    }
    const lane = isKnown ? known : others;
    return new Promise((resolve, reject) => {
      const start = () => {
        signal.removeEventListener('abort', drop);
        resolve();
      };
      const drop = () => {
        lane.splice(lane.indexOf(start), 1);
        hashes.dropped.value++;
        reject(closed());
      };
      lane.push(start);
      signal.addEventListener('abort', drop, { once: true });
    });
  }

  async function run<Result>(request: HashRequest, work: () => Promise<Result>): Promise<Result> {
    const { source, isKnown, signal } = request;
    if (signal.aborted) {
      hashes.dropped.value++;
      throw closed();
    }
    const ofSource = perSource.get(source) ?? 0;
    if (ofSource >= MAX_PER_SOURCE || (isKnown ? known : others).length >= MAX_WAITING) {
      hashes.refused.value++;
      throw new AppError(429, 'Tidings is checking too many passwords right now. Try again in a second.', {
        headers: { 'retry-after': '1' },
      });
    }
    perSource.set(source, ofSource + 1);
    try {
      await turn(request);
      try {
        hashes.done.value++;
        return await work();
      } finally {
        const next = known.shift() ?? others.shift();
        if (next === undefined) isRunning = false;
        else next();
      }
    } finally {
      const left = (perSource.get(source) ?? 1) - 1;
      if (left === 0) perSource.delete(source);
      else perSource.set(source, left);
    }
  }

  return {
    hash: (password, request) => run(request, () => Bun.password.hash(password)),
    verify: (password, hash, request) => run(request, () => Bun.password.verify(password, hash)),
  };
}

/** Nobody reads this: the client has gone. 499 is nginx's status for that. */
function closed(): AppError {
  return new AppError(499, 'The client closed the connection.');
}
