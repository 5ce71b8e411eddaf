import { expect, test } from 'bun:test';
import { acceptsGzip } from '../../src/http/encoding.ts';

test.each<[string | null, boolean]>([
  [null, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['gzip, deflate, br, zstd', true],
  ['br;q=1.0, gzip;q=0.8, *;q=0.1', true],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0', false],
  ['gzip;q=0, *', false],
  ['gzip ; q=0.001', true],
  ['gzip;q=often', false],
  ['identity', false],
  ['xgzip, gzipped', false],
])('%p takes gzip: %p', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});
