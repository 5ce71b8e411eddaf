import { expect, test } from 'bun:test';
import { createTestApp, PUBLIC_URL } from '../support/test-app.ts';

interface Operation {
  operationId: string;
  summary: string;
  parameters?: { name: string }[];
  responses: Record<string, { headers?: object }>;
}

const app = createTestApp();
const page = await app.request('/docs');
const html = await page.text();
const scriptPath = /<script src="([^"]+)"/.exec(html)?.[1] ?? '';

test('the reference is one page of HTML, and asks for its own script and typefaces alone', async () => {
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(html).toStartWith('<!doctype html><html lang="en">');
  expect(scriptPath).toMatch(/^\/docs\/[a-z0-9]+-reference\.js$/);
  const typefaces = Array.from(html.matchAll(/url\("(\/[^"]+)"\)/g), ([, path = '']) => path);
  expect(typefaces).toHaveLength(4);
  for (const path of typefaces) {
    expect((await app.request(path)).headers.get('content-type')).toBe('font/woff2');
  }
  const others = html
    .replace(`<script src="${scriptPath}" defer></script>`, '')
    .replaceAll(/url\("(?:\/dashboard\/~\/[\w-]+\.woff2|data:image\/svg[^"]*)"\)/g, '');
  expect(others).not.toMatch(/<script|<link|<img|<iframe|\ssrc=|\son\w+=|\sstyle=|@import|url\(/i);
});

test('browsers keep the script forever, because its name changes with its content', async () => {
  const response = await app.request(scriptPath);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect((await app.request('/docs/other-reference.js')).status).toBe(404);
});

test('its policy allows its one style sheet, by hash, and scripts and typefaces of this server', () => {
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? '';
  const hash = new Bun.CryptoHasher('sha256').update(style).digest('base64');
  expect(page.headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; script-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
});

test('it has every operation, parameter, header, message and schema of the document', async () => {
  const document = await (await app.request('/openapi.json')).json();
  const text = html.replaceAll(/<[^>]+>/g, '').replaceAll('&quot;', '"');
  for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths)) {
    expect(text).toContain(path);
    for (const operation of Object.values(methods)) {
      expect(text).toContain(operation.summary);
      const { operationId: id, parameters = [], responses } = operation;
      for (const { name } of parameters) expect(html).toContain(`<a class="name" href="#${id}-${name}">`);
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        expect(html).toContain(`id="${id}-${status}"`);
        for (const name of Object.keys(headers)) expect(html).toContain(`id="${id}-response-${name}"`);
      }
    }
  }
  for (const name of Object.keys(document.components.schemas)) expect(html).toContain(`id="schema-${name}"`);
  for (const message of ['Missing API key', 'INVALID_KEY', 'Forbidden: organization access denied']) {
    expect(text).toContain(`{"error":"${message}"}`);
  }
  expect(text).toContain(`curl '${PUBLIC_URL}/v1/org_3Qv8rT5kWn2LxYbZ7cJd4M/posts'`);
});

test('the body of a success comes before the errors', () => {
  for (const id of ['listPosts', 'getPost', 'receiveWebhook']) {
    expect(html.indexOf(`id="${id}-body"`)).toBeGreaterThan(0);
    expect(html.indexOf(`id="${id}-body"`)).toBeLessThan(html.indexOf(`id="${id}-400"`));
  }
});

test('each id is there once', () => {
  const ids = Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id]) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

test('every link on the page leads somewhere', async () => {
  const ids = new Set(Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id]) => id));
  for (const [, href = ''] of html.matchAll(/href="([^"]+)"/g)) {
    if (href.startsWith('#')) expect(ids, href).toContain(href.slice(1));
    else expect((await app.request(href)).status).toBeLessThan(400);
  }
});

test('an unchanged page is 304', async () => {
  const headers = { 'if-none-match': page.headers.get('etag') ?? '' };
  expect((await app.request('/docs', { headers })).status).toBe(304);
});

test('the root redirects to the dashboard', async () => {
  const response = await app.request('/');
  expect(response.status).toBe(302);
  expect(response.headers.get('location')).toBe('/dashboard');
});
