import { expect, test } from 'bun:test';
import { keptBodies, rendered } from '../../src/http/respond.ts';

const bodyOf = (text: string) => new TextEncoder().encode(text.repeat(2_000));
const COST = 2_000 + 1_024;

test('a body is kept for its version alone, and compressed once', async () => {
  const kept = keptBodies(10 * COST);
  expect(kept.find('a', '1')).toBeNull();
  const body = kept.keep('a', '1', bodyOf('x'));
  expect(kept.find('a', '1')).toBe(body);
  expect(kept.find('a', '2')).toBeNull();
  const zipped = await body.gzip();
  expect(Bun.gunzipSync(zipped)).toEqual(body.body);
  expect(await kept.find('a', '1')?.gzip()).toBe(zipped);
  expect(kept.keep('a', '2', bodyOf('y')).etag).not.toBe(body.etag);
  expect(kept.find('a', '1')).toBeNull();
});

test('kept bodies stay within their limit with their compressed forms: the oldest is dropped first', async () => {
  const zippedBytes = (await keptBodies(COST).keep('a', '1', bodyOf('x')).gzip()).byteLength;
  const kept = keptBodies(2 * COST + zippedBytes);
  const [first, second] = [kept.keep('a', '1', bodyOf('x')), kept.keep('b', '1', bodyOf('x'))];
  await second.gzip();
  expect(kept.find('a', '1')).toBe(first);
  await first.gzip();
  expect(kept.find('a', '1')).toBeNull();
  expect(kept.find('b', '1')).toBe(second);
  // One that was dropped does not count.
  kept.keep('c', '1', bodyOf('x'));
  expect(kept.find('b', '1')).toBe(second);
});

test('a body that alone is over the limit is sent, and not kept', () => {
  const kept = keptBodies(10);
  expect(kept.keep('a', '1', bodyOf('x')).body).toEqual(bodyOf('x'));
  expect(kept.find('a', '1')).toBeNull();
});

test('a large body, which a thread compresses, is the same', async () => {
  const { body, gzip } = rendered(bodyOf('quieter engines '.repeat(10)));
  expect(body.byteLength).toBeGreaterThan(256 * 1024);
  expect(Bun.gunzipSync(await gzip())).toEqual(body);
});
