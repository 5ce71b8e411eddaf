import { expect, test } from 'bun:test';
import { createTestApp } from '../support/test-app.ts';

test('answers pong as plain text, without a key', async () => {
  const response = await createTestApp().request('/ping');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await response.text()).toBe('pong');
});
