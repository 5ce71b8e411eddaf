import { expect, test } from 'bun:test';
import { createApp } from '../../src/server/app.ts';
import { createTestApp, documented } from '../support/test-app.ts';

test('/ready says yes, or why not', async () => {
  const { deps } = createTestApp();
  let problem: string | null = null;
  const app = createApp({
    ...deps,
    compose: () => Promise.reject(new Error('no draft is made here')),
    whyNotReady: async () => problem,
  });
  const ask = async () => {
    const response = await app.fetch(new Request('http://localhost/ready'));
    await documented().check('GET', '/ready', response.clone());
    expect(response.headers.get('cache-control')).toBe('no-store');
    return [response.status, await response.json()];
  };
  expect(await ask()).toEqual([200, { ready: true }]);
  problem = 'The disk is full';
  expect(await ask()).toEqual([503, { error: 'The disk is full' }]);
});
