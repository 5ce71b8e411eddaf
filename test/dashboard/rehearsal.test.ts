import { beforeEach, describe, expect, test } from 'bun:test';
import type { Compose } from '../../src/drafting/store.ts';
import { streamRehearsal } from '../../src/drafting/triggers/rehearse.ts';
import { changeTrigger, createTrigger } from '../../src/drafting/triggers/service.ts';
import { AppError } from '../../src/lib/app-error.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { signedIn } from '../support/dashboard.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { compose } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import type { TestApp } from '../support/test-app.ts';

// A rehearsal shows each post as it is composed, on a page that needs no script.

const RELEASES = 3;

let app: TestApp;
let triggerId: string;
let path: string;
let cookie: string;
/** Delivers a release, a minute later than the one before. */
let deliver: (number: number) => Promise<void>;
/** How the page composes; the first draft is the one of its preview. */
let composeOnPage: Compose;

beforeEach(async () => {
  const { app: made, connected } = await appWithGithub({
    compose: (recipe, material) => composeOnPage(recipe, material),
  });
  app = made;
  composeOnPage = compose;
  const { integrationId } = connected;
  ({ id: triggerId } = await createTrigger(app.deps, {
    integrationId,
    event: 'release',
    contentType: 'changelog',
  }));
  path = `/dashboard/org_a/integrations/${integrationId}/triggers/${triggerId}?rehearse=yes`;
  ({ cookie } = await signedIn(app, { organizationId: 'org_a' }));
  deliver = async (number) => {
    const at = new Date(Date.UTC(2026, 10, 20, 0, number)).toISOString();
    const sample =
      samplePayload('github', 'release', { repository: 'acme/rocket', now: app.clock.now() }) ?? {};
    const payload = changed(sample, {
      'release.tag_name': `v${number}`,
      'release.name': `Version ${number}`,
      'release.published_at': at,
      'release.updated_at': at,
    });
    expect((await app.request(...githubRequest(connected, payload, { event: 'release' }))).status).toBe(200);
  };
  for (let number = 1; number <= RELEASES; number++) await deliver(number);
});

async function open(signal?: AbortSignal): Promise<Response> {
  const options = signal === undefined ? {} : { signal };
  return app.fetch(new Request(`http://localhost${path}`, { headers: { cookie }, ...options }));
}

/** Reads a page as it comes. */
async function reading() {
  const response = await open();
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let html = '';
  return {
    cancel: () => reader.cancel(),
    /** The rehearsal and what follows it, as far as it came: once it holds `text`, or all of it. */
    async until(text: string | null): Promise<string> {
      while (text === null || !rehearsed(html).includes(text)) {
        const { done, value } = await reader.read();
        if (done) break;
        html += decoder.decode(value, { stream: true });
      }
      return rehearsed(html);
    },
  };
}

/** Composes one draft at a time, each when it is let through. */
function gate() {
  const waiting: (() => void)[] = [];
  let begun = 0;
  let isOpen = false;
  const gated: Compose = async (recipe, material) => {
    // That of the preview.
    if (++begun > 1 && !isOpen) await new Promise<void>((resolve) => waiting.push(resolve));
    return compose(recipe, material);
  };
  return {
    compose: gated,
    begun: () => begun,
    async letThrough() {
      while (waiting.length === 0) await Bun.sleep(1);
      waiting.shift()?.();
    },
    open() {
      isOpen = true;
      for (const letThrough of waiting) letThrough();
    },
  };
}

const title = (version: number) => `>Version ${version}</h3>`;
/** The preview above it has the newest post too. */
const rehearsed = (html: string) => html.split('id="rehearsal"')[1] ?? '';

describe('the page of a rehearsal', () => {
  test('has each post as soon as it is composed, newest first, and the rest of the page at the end', async () => {
    const { compose, letThrough, begun } = gate();
    composeOnPage = compose;
    const page = await reading();
    expect(await page.until('3 posts, newest first.')).not.toContain('<article');
    for (const version of [3, 2, 1]) {
      const shown = page.until(title(version));
      await letThrough();
      const html = await shown;
      if (version === 3) continue;
      expect(html.indexOf(title(version + 1))).toBeLessThan(html.indexOf(title(version)));
      expect(html).not.toContain('id="danger"');
    }
    const html = await page.until(null);
    expect(html.indexOf('id="danger"')).toBeGreaterThan(html.indexOf(title(1)));
    expect(html).toEndWith('</html>');
    expect(begun()).toBe(1 + RELEASES);
  });

  test('has twenty posts, and counts the rest', async () => {
    for (let number = RELEASES + 1; number <= 20; number++) await deliver(number);
    expect(await (await reading()).until(null)).not.toContain('older ones');
    await deliver(21);
    const html = await (await reading()).until(null);
    expect(html).toContain('…and 1 older ones.');
    expect([html.includes(title(2)), html.includes(title(1))]).toEqual([true, false]);
  });

  test('has the headers of every page, and asks proxies to pass it on', async () => {
    const { headers } = await open();
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-accel-buffering')).toBe('no');
  });

  test.each([
    ['of a template, in its words', new AppError(400, 'The title is too odd.'), 'The title is too odd.', 0],
    ['of the server, with the id of its log line', new Error('secret detail'), 'Look for req_', 1],
  ])('shows a failure %s below the posts before it', async (_, failure, words, logged) => {
    let composed = 0;
    composeOnPage = async (recipe, material) => {
      if (++composed === 3) throw failure;
      return compose(recipe, material);
    };
    const html = await (await reading()).until(null);
    expect(html).toContain(title(3));
    const told = html.indexOf('Only 1 of these posts could be made:');
    expect(told).toBeGreaterThan(html.indexOf(title(3)));
    expect(html.indexOf(words)).toBeGreaterThan(told);
    expect(html).not.toContain(title(2));
    expect(html).not.toContain('secret detail');
    expect(html).toContain('id="danger"');
    expect(html).toEndWith('</html>');
    expect(app.logged.filter(({ level }) => level === 'error')).toHaveLength(logged);
  });

  test('composes nothing more after its reader has left', async () => {
    const { compose, letThrough, begun, open } = gate();
    composeOnPage = compose;
    const page = await reading();
    await page.until('3 posts, newest first.');
    const shown = page.until(title(3));
    await letThrough();
    await shown;
    const left = page.cancel();
    open();
    await left;
    // The preview, the first one, and perhaps the one under way.
    expect(begun()).toBeLessThanOrEqual(3);
    expect(app.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

test('a rehearsal stops reading the log once its reader has left', async () => {
  const { deps } = app;
  const controller = new AbortController();
  controller.abort(new Error('left'));
  const options = { since: new Date('2026-11-01'), limit: 20, signal: controller.signal };
  expect(streamRehearsal(deps, compose, triggerId, options)).rejects.toThrow('left');
});

test('a rehearsal composes only the newest posts that are wanted, and counts all', async () => {
  const options = { since: new Date('2026-11-01'), limit: 2, signal: new AbortController().signal };
  const { total, posts } = await streamRehearsal(app.deps, compose, triggerId, options);
  expect(total).toBe(RELEASES);
  expect((await Array.fromAsync(posts)).map((post) => post.title)).toEqual(['Version 3', 'Version 2']);
});

test('where publishing needs a second person, its posts are drafts, and the pages say so', async () => {
  await changeTrigger(app.deps, triggerId, { publish: true });
  const statusesOf = async () => {
    const span = { since: new Date(0), limit: 10, signal: new AbortController().signal };
    const { posts } = await streamRehearsal(app.deps, compose, triggerId, span);
    return (await Array.fromAsync(posts)).map(({ status }) => status);
  };
  expect(await statusesOf()).toEqual(['published', 'published', 'published']);
  expect(await (await open()).text()).toContain('published at once');
  await changeOrganization(app.deps, 'org_a', { needsApproval: true });
  expect(await statusesOf()).toEqual(['draft', 'draft', 'draft']);
  const page = await (await open()).text();
  expect(page).toContain('as a draft that waits for approval');
  expect(page).toContain('Publishing needs a second person here');
  expect(page).not.toContain('published at once');
});
