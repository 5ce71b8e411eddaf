import { beforeEach, describe, expect, test } from 'bun:test';
import { listRuns } from '../../src/drafting/triggers/queue-store.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { checkRecord, type Post } from '../../src/posts/model.ts';
import type { EventType } from '../../src/providers/events.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { findActive } from '../support/active-html.ts';
import { connectGithub, connectLinear, githubRequest, linearRequest } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { rounds } from '../support/rounds.ts';
import { appWithOrganization, bearer, type TestApp } from '../support/test-app.ts';

// Hostile text in a delivery, from the receiver to the post that a site reads.

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization();
});

const NOW = new Date('2026-11-20T11:00:00.000Z');
const CELLS = '| pearl | ruby | opal |\n';

/** Each begins with a word that must still be there, in its title and its text. */
const texts: [name: string, text: string, more?: string[]][] = [
  [
    'a script',
    'keepsake\n\n<script>alert("x")</script>\n\n- pearl <script src="https://x.test/a.js"></script>',
    ['pearl'],
  ],
  [
    'event handlers',
    'keepsake <img src=x onerror=alert(1)>\n\n- <b onclick="alert(1)">pearl</b>\n\n<details ontoggle=alert(1) open>ruby</details>',
    ['pearl', 'ruby'],
  ],
  [
    'addresses that run',
    'keepsake\n\n- [pearl](javascript:alert(1))\n- <a href="java&#9;script:alert(1)">ruby</a>\n- ![opal](data:text/html;base64,PHNjcmlwdD4=)\n\n[x]: vbscript:x\n',
    ['pearl', 'ruby', 'opal'],
  ],
  [
    'tags that are never closed',
    'keepsake <!-- \n\n- pearl <svg><style>*{display:none}\n\n<iframe src="https://x.test"><form action="//x.test"><input name=a>',
    [],
  ],
  [
    'a huge table',
    `keepsake\n\n| a | b | c |\n|---|---|---|\n${CELLS.repeat(1_000_000 / CELLS.length)}`,
    ['pearl', 'ruby', 'opal'],
  ],
  ['a megabyte in one line', `keepsake ${'*a* [b](c) <d '.repeat(75_000)}`],
  [
    'a megabyte of items',
    `keepsake\n\n${'- pearl #12 by @ann in https://github.com/a/b/pull/12\n'.repeat(18_000)}`,
    ['pearl'],
  ],
  ['quotes in quotes', `keepsake\n\n${'> '.repeat(20_000)}pearl`],
  [
    'lists in lists',
    `keepsake\n\n${Array.from({ length: 1_500 }, (_, depth) => `${'  '.repeat(depth)}- pearl`).join('\n')}`,
    ['pearl'],
  ],
  ['brackets in brackets', `keepsake ${'['.repeat(50_000)}pearl${'](x)'.repeat(50_000)}`],
  ['tags in tags', `keepsake ${'<b><details>'.repeat(20_000)}pearl`],
  [
    'right-to-left text',
    'keepsake שלום עולם\n\n- مرحبا بالعالم pearl',
    ['שלום עולם', 'مرحبا بالعالم', 'pearl'],
  ],
  [
    'direction overrides',
    'keepsake \u202eexe.txt\u202c \u2066pearl\u2069\n\n- ruby \u202d321',
    ['exe.txt', 'pearl', 'ruby'],
  ],
  ['emoji', 'keepsake 👩‍👩‍👧‍👦🇩🇪\n\n- pearl 🎉👍🏽', ['👩‍👩‍👧‍👦🇩🇪', 'pearl 🎉👍🏽']],
  ['a megabyte of emoji', `keepsake ${'👩‍👩‍👧‍👦'.repeat(40_000)}`],
  ['lone surrogates', 'keepsake \ud800 \udfff\n\n- pearl \ud83d\n- \ude00 ruby', ['pearl', 'ruby']],
  [
    'control characters',
    'keepsake \u0000\u0001\u001b[31m\u009b\n\n- pearl\u0000\n- ruby \u0007',
    ['pearl', 'ruby'],
  ],
  ['only parts that are left out', 'keepsake\n\n\u0000\u202e\ud800<!-- x -->\n\n<script></script>'],
  [
    'Liquid',
    "keepsake {{ 'x' | date }} {% raw %}\n\n- {{ release.name }} pearl {% for i in (1..9) %}{{ i }}{% endfor %}",
    ["{{ 'x' | date }} {% raw %}", '{{ release.name }} pearl {% for i in (1..9) %}{{ i }}{% endfor %}'],
  ],
];

/** Each event with the hostile text wherever a person can write something. */
const events: Record<EventType, (text: string) => [event: string, payload: Record<string, unknown>]> = {
  release: (text) =>
    github('release', { name: text, body: text, 'author.login': text, target_commitish: 'main' }),
  push: (text) => {
    const person = { name: text, username: text, email: `${text.slice(0, 20)}@x.test` };
    const commits = Array.from({ length: 2 }, (_, n) => ({
      id: Bun.SHA1.hash(String(n), 'hex'),
      message: `${text.replace('keepsake', `keepsake ${n}`)}\n\nBREAKING CHANGE: ${text}`,
      author: { ...person, name: `${n} ${text}`, username: `${n} ${text}` },
      url: `javascript:alert(1)//${text.slice(0, 100)}`,
    }));
    const [event, payload] = github('push', {});
    return [event, { ...payload, commits, compare: `javascript:${text}` }];
  },
  pull_request: (text) =>
    github('pull_request', {
      title: text,
      body: `BREAKING CHANGE: ${text}`,
      'user.login': text,
      labels: [{ name: text }],
    }),
  issue: (text) => linear('Issue', { title: text, description: text, labels: [{ id: 'x', name: text }] }),
  project: (text) => linear('Project', { name: text, content: text, description: text }),
  project_update: (text) => linear('ProjectUpdate', { body: text, 'project.name': text, health: text }),
};

const isLinear = (type: EventType) => ['issue', 'project', 'project_update'].includes(type);

function github(event: string, fields: Record<string, unknown>): [string, Record<string, unknown>] {
  return [
    event,
    changed(
      samplePayload('github', event, { repository: 'acme/rocket', now: NOW }) ?? {},
      under(event, fields),
    ),
  ];
}

function linear(event: string, fields: Record<string, unknown>): [string, Record<string, unknown>] {
  return [
    event,
    changed(samplePayload('linear', event, { now: app.clock.now() }) ?? {}, under('data', fields)),
  ];
}

const under = (parent: string, fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${parent}.${name}`, value]));

/** Delivers it, with a trigger for each type of post. Returns the posts, by their types. */
async function draftsOf(type: EventType, text: string): Promise<{ changelog: Post; linkedin_post: Post }> {
  const connected = isLinear(type) ? await connectLinear(app, 'org_a') : await connectGithub(app, 'org_a');
  for (const contentType of ['changelog', 'linkedin_post'] as const) {
    await createTrigger(app.deps, { integrationId: connected.integrationId, event: type, contentType });
  }
  await deliver(connected, type, text);
  return currentDrafts();
}

async function deliver(connected: Connected, type: EventType, text: string): Promise<void> {
  const [event, payload] = events[type](text);
  const request = isLinear(type) ? linearRequest : githubRequest;
  expect((await app.request(...request(connected, payload, { event }))).status).toBe(200);
  await runAll(app);
  expect(await app.db.read((tx) => listRuns(tx, {}))).toEqual([]);
}

async function currentDrafts(): Promise<{ changelog: Post; linkedin_post: Post }> {
  const found = await postsOf(app);
  expect(found).toHaveLength(2);
  const [changelog] = found.filter(({ contentType }) => contentType === 'changelog');
  const [linkedin_post] = found.filter(({ contentType }) => contentType === 'linkedin_post');
  if (changelog === undefined || linkedin_post === undefined) throw new Error('a draft is missing');
  return { changelog, linkedin_post };
}

/** Active HTML in a post's Markdown, according to an independent parser and a lenient reader. */
function activeIn(markdown: string): string[] {
  const found: string[] = [];
  const html = Bun.markdown.html(markdown, { autolinks: true });
  new HTMLRewriter()
    .on('*', {
      element({ tagName, attributes }) {
        if (/^(script|style|iframe|object|embed|form|svg|math|base|meta|link)$/.test(tagName))
          found.push(tagName);
        for (const [name, value = ''] of attributes) {
          if (name.startsWith('on') || name === 'style') found.push(name);
          if (/^(javascript|vbscript|data):/i.test(value.replaceAll(/[\s\p{Cc}]/gu, ''))) found.push(value);
        }
      },
    })
    .transform(html);
  return [...found, ...findActive(html)];
}

/** A post that any site can show: within its bounds, whole, and with nothing active in it. */
function expectHarmless(post: Post): void {
  const { title, markdown, content, contentType } = post;
  const isLinkedIn = contentType === 'linkedin_post';
  const maxLength = isLinkedIn ? 3_000 : 200_000;
  expect(title.length).toBeWithin(1, 501);
  expect(markdown.length).toBeWithin(1, maxLength + 1);
  expect(content.length).toBeWithin(1, maxLength + 1);
  expect(title).not.toContain('\n');
  for (const text of [title, markdown, content]) {
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toMatch(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
  }
  expect(activeIn(markdown)).toEqual([]);
  // An export can be imported.
  expect(checkRecord({ ...post })).not.toHaveProperty('problem');
}

test.each([
  ['<script>x</script>', 'script'],
  ['a <b onclick=x>', 'onclick'],
  ['[a](javascript:x)', 'javascript:x'],
])('the check can fail: %s', (markdown, found) => {
  expect(activeIn(markdown)).toContain(found);
});

/** Kinds of events share what makes text safe, so the check takes those with the most of it. */
const checkedTypes = (Object.keys(events) as EventType[]).slice(0, rounds(2, 6));

describe.each(checkedTypes)('in a %s', (type) => {
  test.each(texts)('%s', async (_, text, more = []) => {
    const drafts = await draftsOf(type, text);
    for (const post of Object.values(drafts)) {
      expectHarmless(post);
      expect(`${post.title}\n${post.content}`.toLowerCase()).toContain('keepsake');
    }
    if (type === 'release' || type === 'project') {
      for (const word of more) expect(drafts.changelog.content).toContain(word);
      expect(drafts.changelog.content).toStartWith('keepsake');
    }

    const key = await app.addKey('org_a');
    for (const post of Object.values(drafts)) {
      const response = await app.request(`/v1/org_a/posts/${post.id}?status=draft`, bearer(key));
      expect(await response.json()).toEqual({ post });
    }
  });
});

test.each(['"', '\ud800', '\u0000', 'é'])(
  "names of a thousand %j leave room for a post's metadata",
  async (character) => {
    const connected = await connectGithub(app, 'org_a');
    const { integrationId } = connected;
    await createTrigger(app.deps, { integrationId, event: 'push', contentType: 'changelog' });
    const [event, payload] = github('push', {});
    const commits = Array.from({ length: 20 }, (_, n) => ({
      id: Bun.SHA1.hash(String(n), 'hex'),
      message: `feat: keepsake ${n}`,
      author: { name: `${n}${character.repeat(1_000)}` },
    }));
    const request = githubRequest(connected, { ...payload, commits }, { event });
    expect((await app.request(...request)).status).toBe(200);
    await runAll(app);
    const [post] = await postsOf(app);
    expect(checkRecord({ ...post })).not.toHaveProperty('problem');
    expect(post?.sourceMetadata).toMatchObject({ author: expect.stringMatching(/^0/) });
  },
);

describe("a draft of hostile text is still the trigger's own, and follows the next event", () => {
  test.each(texts)('%s', async (_, text) => {
    const connected = await connectGithub(app, 'org_a');
    const { integrationId } = connected;
    await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
    await deliver(connected, 'release', text);
    const [before] = await postsOf(app);
    await deliver(connected, 'release', `${text.slice(0, 200)}\n\nAnd a lagniappe.`);
    const [after] = await postsOf(app);
    expect(after?.id).toBe(before?.id as string);
    expect(after?.content).toContain('And a lagniappe.');
  });
});
