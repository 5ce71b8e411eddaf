import { describe, expect, test } from 'bun:test';
import { linear } from '../../../src/providers/linear/provider.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const HOUR_MS = 3_600_000;

/** Reads a payload whose timestamp, as JSON, is this text; without one when it is null. */
function read(timestamp: string | null) {
  const text = timestamp === null ? '{"type":"Issue"}' : `{"webhookTimestamp":${timestamp}}`;
  return linear.readPayload(new TextEncoder().encode(text), 'application/json', now);
}

const at = (aheadMs: number) => String(now.getTime() + aheadMs);

describe('webhookTimestamp', () => {
  test.each([
    ['now', 0],
    ['a second old', -1000],
    ['as old as a retry after a minute', -61_000],
    ['as old as a retry after six hours', -6 * HOUR_MS - 61_000],
    ['exactly a day old', -24 * HOUR_MS],
    ['exactly a minute ahead', 60_000],
  ])('may be %s', async (_, aheadMs) => {
    expect(await read(at(aheadMs))).toEqual({ webhookTimestamp: now.getTime() + aheadMs });
  });

  test.each([
    ['a millisecond more than a minute ahead', at(60_001), 'is more than a minute ahead'],
    ['61 seconds ahead', at(61_000), 'is more than a minute ahead'],
    ['in the far future', '1e300', 'is more than a minute ahead'],
    ['a millisecond more than a day old', at(-24 * HOUR_MS - 1), 'is more than a day old'],
    ['in seconds', String(now.getTime() / 1000), 'is more than a day old'],
    ['nothing', '0', 'is more than a day old'],
    ['missing', null, 'must be a number'],
    ['null', 'null', 'must be a number'],
    ['text', `"${now.getTime()}"`, 'must be a number'],
    ['a date', '"2026-11-20T12:00:00.000Z"', 'must be a number'],
    ['a list', `[${now.getTime()}]`, 'must be a number'],
    ['true', 'true', 'must be a number'],
  ])('may not be %s', async (_, timestamp, message) => {
    await expect(read(timestamp)).rejects.toThrow(`webhookTimestamp ${message}`);
  });
});
