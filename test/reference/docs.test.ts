import { expect, test } from 'bun:test';
import { createTestApp, PUBLIC_URL } from '../support/test-app.ts';

const app = createTestApp();
const page = await app.request('/docs');
const html = await page.text();

test('the reference is one page of HTML that asks for nothing else', () => {
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(html).toStartWith('<!doctype html><html lang="en">');
  expect(html).not.toMatch(/<script|<link|<img|<iframe|\ssrc=|\son\w+=|\sstyle=|@import|url\(/i);
});

test('its policy allows its one style sheet, by hash, and nothing more', () => {
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? '';
  const hash = new Bun.CryptoHasher('sha256').update(style).digest('base64');
  expect(page.headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
});

test('it tells every operation, parameter, message and schema of the document', async () => {
  const document = await (await app.request('/openapi.json')).json();
  const text = html.replaceAll(/<[^>]+>/g, '').replaceAll('&quot;', '"');
  for (const [path, methods] of Object.entries<
    Record<string, { summary: string; parameters?: { name: string }[] }>
  >(document.paths)) {
    expect(text).toContain(path);
    for (const operation of Object.values(methods)) {
      expect(text).toContain(operation.summary);
      for (const { name } of operation.parameters ?? []) expect(html).toContain(`<code>${name}</code>`);
    }
  }
  for (const name of Object.keys(document.components.schemas)) expect(html).toContain(`id="schema-${name}"`);
  for (const message of ['Missing API key', 'INVALID_KEY', 'Forbidden: organization access denied']) {
    expect(text).toContain(`{"error":"${message}"}`);
  }
  expect(text).toContain(`"${PUBLIC_URL}/v1/$ORGANIZATION_ID/posts"`);
});

test('every link on the page leads somewhere', async () => {
  const ids = new Set(Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id]) => id));
  for (const [, href = ''] of html.matchAll(/href="([^"]+)"/g)) {
    if (href.startsWith('#')) expect(ids, href).toContain(href.slice(1));
    else expect((await app.request(href)).status).toBe(200);
  }
});

test('an unchanged page is 304', async () => {
  const headers = { 'if-none-match': page.headers.get('etag') ?? '' };
  expect((await app.request('/docs', { headers })).status).toBe(304);
});

test('whoever opens the service itself is led to the dashboard', async () => {
  const response = await app.request('/');
  expect(response.status).toBe(302);
  expect(response.headers.get('location')).toBe('/dashboard');
});
