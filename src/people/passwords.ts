import { type AppError, invalidField } from '../lib/app-error.ts';
import type { Metrics } from '../lib/metrics.ts';
import { randomToken } from '../lib/text.ts';
import { requireValid } from '../lib/validation.ts';
import { failure, Password } from './permission.ts';

// A hash takes a tenth of a second and 64 MiB on a thread that DNS look-ups also use: one runs at a time, and few wait.

/** The hash of a password that nobody knows, so that an unknown address takes as long as a known one. */
export const NOBODYS_HASH =
  '$argon2id$v=19$m=65536,t=2,p=1$JELyUmvc6GvpgDNfPJGIGqIi6az2YyOS3cSLcUcK5wY$IiK26i6xfwRZj9DCBHX6h5ZSJ5o/tDPpkSyK8Mdp+Zs';

const MAX_WAITING = 8;

/** Requests of one source that wait or run, so that one client can't fill the queue. */
const MAX_PER_SOURCE = 3;

export interface HashRequest {
  /** The client address group, or the known browser, session or link behind the request. */
  readonly source: string;
  /** The source has proved itself by a known browser, a session or a link, and goes before everybody else. */
  readonly isKnown: boolean;
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal;
  /** Runs when it is the request's turn. What it throws ends the request without a hash. */
  readonly begin?: () => Promise<void>;
}

/** Both throw `AppError` 429 when too many wait, and 499 when the client closes the connection before its turn. */
export function createPasswordQueue(hashes: Metrics['passwordHashes']) {
  const known: (() => void)[] = [];
  const others: (() => void)[] = [];
  const perSource = new Map<string, number>();
  let isRunning = false;

  function closed(): AppError {
    hashes.dropped.value++;
    return failure('client_closed');
  }

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
        reject(closed());
      };
      lane.push(start);
      signal.addEventListener('abort', drop, { once: true });
    });
  }

  async function run<Result>(request: HashRequest, work: () => Promise<Result>): Promise<Result> {
    const { source, isKnown, signal } = request;
    if (signal.aborted) throw closed();
    const ofSource = perSource.get(source) ?? 0;
    if (ofSource >= MAX_PER_SOURCE || (isKnown ? known : others).length >= MAX_WAITING) {
      hashes.refused.value++;
      throw failure('passwords_busy', {}, { 'retry-after': '1' });
    }
    perSource.set(source, ofSource + 1);
    try {
      await turn(request);
      try {
        await request.begin?.();
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
    hash: (password: string, request: HashRequest) => run(request, () => Bun.password.hash(password)),
    verify: (password: string, hash: string, request: HashRequest) =>
      run(request, () => Bun.password.verify(password, hash)),
  };
}

/** The library's score for a password that withstands 100 million guesses. */
const MIN_SCORE = 3;

/** Rate only this many characters: the library blocks the event loop, and takes longer the more there are. */
const MAX_RATED = 40;

const REASONS: readonly [warning: RegExp, reason: string][] = [
  [/top|common/i, 'It is a common password or close to one. '],
  [/userInputs/, 'It contains your address, your organization or "tidings". '],
  [/Repeat/, 'It repeats the same characters. '],
  [/sequences/, 'It is a sequence. '],
  [/straightRow|keyPattern/, 'It is a row of keys. '],
  [/dates/, 'It is a date. '],
];

/** Throws `AppError` 400 for a new password of a bad length, or one that is easy to guess for this person. */
export async function requireGoodPassword(
  password: string,
  { email, organizations }: { email: string; organizations: readonly string[] },
): Promise<void> {
  requireValid(Password, { password });
  rater ??= createRater();
  const [local = '', domain = ''] = email.split('@');
  const own = [email, local, domain, ...domain.split('.'), ...organizations, 'tidings'];
  const { score, feedback } = (await rater).check(password, own.filter(Boolean));
  if (score >= MIN_SCORE) return;
  const [, reason = ''] = REASONS.find(([warning]) => warning.test(feedback.warning ?? '')) ?? [];
  throw invalidField('password', `is too easy to guess. ${reason}Use a few unrelated words.`);
}

let rater: ReturnType<typeof createRater> | undefined;

/** Loaded for the first password that somebody chooses: the list of common passwords takes 30 MB of memory. */
async function createRater() {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs, maxLength: MAX_RATED });
}

/** The token goes to its person; the database holds only its hash. */
export function newSecret(): { token: string; hash: string } {
  const token = randomToken(32);
  return { token, hash: hashOf(token) };
}

export function hashOf(token: string): string {
  return new Bun.CryptoHasher('sha256').update(token).digest('base64url');
}
