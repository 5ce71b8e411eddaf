import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { lateRoutes } from '../../src/http/request.ts';

/** An app with a feature that loads at its first request, which fails `failures` times. */
function setUp({ failures = 0 } = {}) {
  let loads = 0;
  const app = new Elysia().use(
    lateRoutes(['/late', '/late/*'], async () => {
      if (++loads <= failures) throw new Error('no file descriptors');
      return new Elysia().get('/late', () => 'all').get('/late/:id', ({ params }) => params.id);
    }),
  );
  const send = async (path: string, method = 'GET') => {
    const response = await app.handle(new Request(`http://localhost${path}`, { method }));
    return {
      status: response.status,
      text: await response.text(),
      length: response.headers.get('content-length'),
    };
  };
  return { send, loads: () => loads };
}

test('a feature loads once, at the first request for one of its paths', async () => {
  const { send, loads } = setUp();
  expect(await send('/other')).toMatchObject({ status: 404 });
  expect(loads()).toBe(0);
  const answers = await Promise.all([send('/late'), send('/late/one'), send('/late/two')]);
  expect(answers.map(({ text }) => text)).toEqual(['all', 'one', 'two']);
  expect(await send('/late/a/b')).toMatchObject({ status: 404 });
  expect(loads()).toBe(1);
});

test('a response to HEAD has the length of the body', async () => {
  const { send } = setUp();
  expect(await send('/late', 'HEAD')).toEqual({ status: 200, text: '', length: '3' });
  expect(await send('/late/one', 'HEAD')).toEqual({ status: 200, text: '', length: '3' });
});

test('after a load that failed, the next request tries again', async () => {
  const { send, loads } = setUp({ failures: 1 });
  expect(await send('/late')).toMatchObject({ status: 500 });
  expect(await send('/late')).toMatchObject({ status: 200, text: 'all' });
  expect(loads()).toBe(2);
});
