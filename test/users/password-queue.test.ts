import { expect, test } from 'bun:test';
import { AppError } from '../../src/lib/app-error.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { createPasswordQueue, type HashRequest, NOBODYS_HASH } from '../../src/people/passwords.ts';

const CHEAP_HASH = Bun.password.hashSync('right', { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });

/** A queue, what it has counted, and a way to ask it that keeps the order in which the requests end. */
function createQueue() {
  const { passwordHashes } = createMetrics();
  const queue = createPasswordQueue(passwordHashes);
  const ended: string[] = [];
  let names = 0;
  const verify = (request: Partial<HashRequest> & { password?: string } = {}) => {
    const source = request.source ?? `source ${++names}`;
    const { password = 'right', isKnown = false, signal = new AbortController().signal } = request;
    const result = queue.verify(password, CHEAP_HASH, { source, isKnown, signal });
    return result.then(
      (isRight) => {
        ended.push(source);
        return isRight ? 200 : 401;
      },
      (error: AppError) => error.status,
    );
  };
  const counts = () => {
    const { done, dropped, refused } = passwordHashes;
    return { done: done.value, dropped: dropped.value, refused: refused.value };
  };
  return { queue, verify, counts, ended };
}

test('a password is hashed and verified', async () => {
  const { queue, counts } = createQueue();
  const request = { source: 'a', isKnown: false, signal: new AbortController().signal };
  const hash = await queue.hash('correct horse', request);
  expect(hash).toStartWith(/^\$argon2id\$v=\d+\$m=\d+,t=\d+,p=\d+\$/.exec(NOBODYS_HASH)?.[0] ?? 'none');
  expect(await queue.verify('correct horse', hash, request)).toBe(true);
  expect(await queue.verify('correct house', hash, request)).toBe(false);
  expect(counts()).toEqual({ done: 3, dropped: 0, refused: 0 });
});

test('one runs, eight wait, and others get 429 with Retry-After', async () => {
  const { queue, verify, counts } = createQueue();
  const waiting = Array.from({ length: 9 }, () => verify());
  const signal = new AbortController().signal;
  const refused = queue.hash('correct horse', { source: 'late', isKnown: false, signal });
  const error = await refused.catch((error: AppError) => error);
  expect(error).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
  expect(await verify()).toBe(429);
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 9 }, () => 200));
  expect(counts()).toEqual({ done: 9, dropped: 0, refused: 2 });
  expect(await verify()).toBe(200);
});

test('one source has three places', async () => {
  const { verify, counts } = createQueue();
  const flood = Array.from({ length: 600 }, () => verify({ source: 'flood', password: 'wrong' }));
  const owner = verify({ source: 'owner' });
  expect(await owner).toBe(200);
  expect(counts()).toEqual({ done: 4, dropped: 0, refused: 597 });
  expect((await Promise.all(flood)).filter((status) => status === 401)).toHaveLength(3);
  expect(await verify({ source: 'flood' })).toBe(200);
});

test('a known source has a lane of its own and goes first', async () => {
  const { verify, ended } = createQueue();
  const others = Array.from({ length: 9 }, () => verify());
  const known = verify({ source: 'known', isKnown: true });
  expect(await known).toBe(200);
  await Promise.all(others);
  expect(ended.slice(0, 3)).toEqual(['source 1', 'known', 'source 2']);
});

test('a closed request is dropped before its hash, and frees its place', async () => {
  const { verify, counts, ended } = createQueue();
  const first = verify();
  const closing = new AbortController();
  const waiting = Array.from({ length: 3 }, () => verify({ source: 'closing', signal: closing.signal }));
  const last = verify({ source: 'last' });
  closing.abort();
  expect(await Promise.all(waiting)).toEqual([499, 499, 499]);
  const next = verify({ source: 'closing' });
  expect(await Promise.all([first, last, next])).toEqual([200, 200, 200]);
  expect(await verify({ source: 'closing', signal: closing.signal })).toBe(499);
  expect(counts()).toEqual({ done: 3, dropped: 4, refused: 0 });
  expect(ended).toEqual(['source 1', 'last', 'closing']);
});

test('a hash that fails lets the next one run', async () => {
  const { queue, verify } = createQueue();
  const request = { source: 'a', isKnown: false, signal: new AbortController().signal };
  const broken = queue.verify('right', 'no hash', request);
  const next = verify();
  expect(await broken.catch((error) => error)).not.toBeInstanceOf(AppError);
  expect(await next).toBe(200);
});
