import { describe, expect, test } from 'bun:test';
import { readUpload, UploadBudget, UploadError, type UploadLimits } from '../../src/http/request.ts';
import { rejection } from '../support/refusal.ts';

const KIB = 1024;

/** An upload that a test feeds, and ends as it likes. */
function openUpload(limits: Partial<UploadLimits> = {}, headers: Record<string, string> = {}) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  const request = new Request('http://localhost/', { method: 'POST', body, headers });
  const read = readUpload(request, { maxBytes: 100 * KIB, timeoutMs: 60_000, ...limits });
  return {
    read,
    problem: read.then(
      () => null,
      (error: UploadError) => error.problem,
    ),
    async send(bytes: number) {
      controller?.enqueue(new Uint8Array(bytes));
      await Bun.sleep(0);
    },
    end: () => controller?.close(),
    fail: () => controller?.error(new Error('cut off')),
  };
}

test('a body is its bytes, in one chunk or many, with or without a declared length', async () => {
  const limits = { maxBytes: 2_000_000, timeoutMs: 60_000 };
  const read = (body: BodyInit, headers = {}) =>
    readUpload(new Request('http://localhost/', { method: 'POST', body, headers }), limits);
  const text = 'ñ'.repeat(400_000);
  expect(new TextDecoder().decode(await read('ñ'))).toBe('ñ');
  expect(new TextDecoder().decode(await read('ñ', { 'content-length': '2' }))).toBe('ñ');
  expect(new TextDecoder().decode(await read(new Blob([text]).stream()))).toBe(text);
  expect(new TextDecoder().decode(await read(text, { 'content-length': '800000' }))).toBe(text);
  expect(await readUpload(new Request('http://localhost/', { method: 'POST' }), limits)).toHaveLength(0);
});

describe('a body is refused that', () => {
  test('declares too much, before a byte of it is read', async () => {
    const budget = new UploadBudget(KIB);
    const upload = openUpload({ maxBytes: KIB, budget }, { 'content-length': String(KIB + 1) });
    expect(await upload.problem).toBe('too_large');
    expect(budget.bytes).toBe(0);
  });

  test('declares nothing and turns out too large', async () => {
    const upload = openUpload({ maxBytes: KIB });
    await upload.send(KIB);
    await upload.send(1);
    expect(await upload.problem).toBe('too_large');
  });

  test('is cut off', async () => {
    const upload = openUpload();
    await upload.send(10);
    upload.fail();
    expect(await upload.problem).toBe('aborted');
  });

  test.each([
    ['a stream', {}],
    ['one that Bun buffers', { 'content-length': '100' }],
  ])('trickles for longer than the time limit, as %s', async (_, headers) => {
    let isOver = false;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setImmediate(resolve));
        // Bun goes on reading what it buffers.
        if (isOver) controller.close();
        else controller.enqueue(new Uint8Array(1));
      },
    });
    const request = new Request('http://localhost/', { method: 'POST', body, headers });
    const error = await rejection(readUpload(request, { maxBytes: 2 ** 40, timeoutMs: 5 }));
    isOver = true;
    expect(error).toBeInstanceOf(UploadError);
    expect((error as UploadError).problem).toBe('too_slow');
  });
});

describe('the budget', () => {
  test('holds what has arrived of unfinished uploads, and nothing once each has ended, however it ends', async () => {
    const budget = new UploadBudget(10 * KIB);
    const [finished, aborted] = [openUpload({ budget }), openUpload({ budget })];
    const tooLarge = openUpload({ budget, maxBytes: 10 });
    await finished.send(2 * KIB);
    await finished.send(KIB);
    await aborted.send(KIB);
    expect(budget.bytes).toBe(4 * KIB);
    await tooLarge.send(11);
    expect(await tooLarge.problem).toBe('too_large');
    aborted.fail();
    expect(await aborted.problem).toBe('aborted');
    expect(budget.bytes).toBe(3 * KIB);
    finished.end();
    expect(await finished.read).toHaveLength(3 * KIB);
    expect(budget.bytes).toBe(0);
  });

  test('reserves the declared length of a small body', async () => {
    const budget = new UploadBudget(10 * KIB);
    const [large, small] = [
      openUpload({ budget }),
      openUpload({ budget }, { 'content-length': String(KIB) }),
    ];
    expect(budget.bytes).toBe(KIB);
    await large.send(10 * KIB);
    expect(await large.problem).toBe('no_room');
    expect(budget.bytes).toBe(KIB);
    small.end();
    await small.read;
    expect(budget.bytes).toBe(0);
  });

  test('stops the largest upload when it is full, the oldest of equals, and never holds more', async () => {
    const budget = new UploadBudget(10 * KIB);
    const old = openUpload({ budget });
    const large = openUpload({ budget });
    await old.send(4 * KIB);
    await large.send(5 * KIB);
    const small = openUpload({ budget });
    await small.send(2 * KIB);
    expect(await large.problem).toBe('no_room');
    expect(budget.bytes).toBe(6 * KIB);

    const equal = openUpload({ budget });
    await equal.send(4 * KIB);
    expect(budget.bytes).toBe(10 * KIB);
    await small.send(1);
    expect(await old.problem).toBe('no_room');
    expect(budget.bytes).toBe(6 * KIB + 1);

    for (const upload of [small, equal]) {
      upload.end();
      await upload.read;
    }
    expect(budget.bytes).toBe(0);
  });

  test('is refused to an upload that is larger than all of it', async () => {
    const budget = new UploadBudget(KIB);
    const upload = openUpload({ budget });
    await upload.send(2 * KIB);
    expect(await upload.problem).toBe('no_room');
    expect(budget.bytes).toBe(0);
  });
});
