import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ContentType, PostStatus } from '../../src/posts/model.ts';
import { publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import { changePosts, createPost, deletePost, editPost } from '../../src/posts/service.ts';
import { erasePost, restorePost } from '../../src/posts/trash.ts';
import { createHookSender } from '../../src/readers/hooks/send.ts';
import { createHook } from '../../src/readers/hooks/service.ts';
import type { Surface } from '../../src/readers/public/model.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { fixedClock } from '../support/clock.ts';
import { LOCAL_HOSTS, startHookReceiver } from '../support/hook-receiver.ts';
import { rounds } from '../support/rounds.ts';
import { appWithOrganization, bearer, examplePost } from '../support/test-app.ts';

// A model of what everybody may read, held against every public surface after random edits. Each text has a word of its
// own, so a surface that shows one that it must not is found by the word.

const receiver = startHookReceiver();
afterAll(() => receiver[Symbol.dispose]());

const owners = ['org_a', 'org_b'] as const;
type Owner = (typeof owners)[number];
const slugs: Record<Owner, string> = { org_a: 'acme', org_b: 'other' };
const surfaces: readonly Surface[] = ['isPageOn', 'isFeedOn', 'isMcpOn'];

/** `place`: the post's number among those of the run. */
type Step =
  | { do: 'create'; owner: Owner; type: ContentType }
  | { do: 'import'; owner: Owner; type: ContentType; status: PostStatus }
  | { do: 'edit' | 'delete' | 'restore' | 'erase' | 'schedule'; place: number }
  | { do: 'status'; place: number; status: PostStatus; isBulk: boolean }
  | { do: 'retype'; place: number; type: ContentType }
  | { do: 'switch'; owner: Owner; surface: Surface; isOn: boolean }
  | { do: 'wait' };

const type = fc.constantFrom<ContentType>('changelog', 'changelog', 'linkedin_post');
const status = fc.constantFrom<PostStatus>('published', 'draft');
const place = fc.nat(7);
const owner = fc.constantFrom(...owners);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('create' as const), owner, type }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('import' as const), owner, type, status }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'edit' as const,
        'delete' as const,
        'restore' as const,
        'erase' as const,
        'schedule' as const,
      ),
      place,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('status' as const), place, status, isBulk: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('retype' as const), place, type }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('switch' as const),
      owner,
      surface: fc.constantFrom(...surfaces),
      isOn: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
);

interface Known {
  id: string;
  owner: Owner;
  type: ContentType;
  status: PostStatus;
  isScheduled: boolean;
  where: 'posts' | 'trash' | 'gone';
  word: string;
}

/** `2026-03-01T12:30`. */
const inHalfAnHour = (now: Date) => new Date(now.getTime() + 1_800_000).toISOString().slice(0, 16);

const isPublic = ({ where, status, type }: Known) =>
  where === 'posts' && status === 'published' && type === 'changelog';
const wordsIn = (text: string) => new Set(text.match(/zq\d+(?:title|text)/g) ?? []);
const wordsOf = ({ word }: Known) => [`${word}title`, `${word}text`];

async function createWorld() {
  const clock = fixedClock('2026-03-01T12:00:00.000Z');
  const app = await appWithOrganization({ clock, hookPrivateHosts: LOCAL_HOSTS, organizations: owners });
  const { deps } = app;
  const startedAt = clock.now();
  const keys = new Map<Owner, string>();
  const on: Record<Owner, Record<Surface, boolean>> = {
    org_a: { isPageOn: true, isFeedOn: true, isMcpOn: true },
    org_b: { isPageOn: true, isFeedOn: true, isMcpOn: true },
  };
  for (const each of owners) {
    keys.set(each, (await app.addKey(each)).key);
    await changePublication(deps, each, { slug: slugs[each], ...on[each] });
    await createHook(deps, {
      organizationId: each,
      name: 'Site',
      kind: 'signed',
      url: receiver.at(`/${each}`),
    });
    await createHook(deps, {
      organizationId: each,
      name: 'Chat',
      kind: 'slack',
      url: receiver.at(`/chat/${each}`),
    });
  }
  const posts: Known[] = [];
  /** The words that were public at some time, by organization. */
  const published: Record<Owner, Set<string>> = { org_a: new Set(), org_b: new Set() };
  const send = createHookSender(deps);
  let words = 0;

  async function take(step: Step): Promise<void> {
    clock.advance(1_000);
    const word = `zq${++words}`;
    const text = { title: `${word}title`, markdown: `${word}text` };
    const known = 'place' in step ? posts[step.place] : undefined;
    if ('place' in step && known === undefined) return;
    switch (step.do) {
      case 'create': {
        const { id } = await createPost(deps, step.owner, { ...text, contentType: step.type });
        posts.push({ id, ...step, status: 'draft', isScheduled: false, where: 'posts', word });
        break;
      }
      case 'import': {
        const [post] = await app.addPosts(step.owner, {
          ...examplePost(words),
          ...text,
          id: `post_${word}`,
          content: text.markdown,
          contentType: step.type,
          status: step.status,
        });
        posts.push({ id: post?.id ?? '', ...step, isScheduled: false, where: 'posts', word });
        break;
      }
      case 'switch':
        on[step.owner][step.surface] = step.isOn;
        await changePublication(deps, step.owner, { [step.surface]: step.isOn });
        break;
      case 'wait':
        clock.advance(3_600_000);
        await publishDuePosts(deps, { runningSince: startedAt });
        for (const each of posts.filter(({ isScheduled }) => isScheduled))
          Object.assign(each, { status: 'published', isScheduled: false });
        break;
      default:
        if (known !== undefined) await takeAbout(known, step, text, word);
    }
    for (const each of posts.filter(isPublic))
      for (const each_ of wordsOf(each)) published[each.owner].add(each_);
  }

  async function takeAbout(
    known: Known,
    step: Exclude<Step, { owner: Owner } | { do: 'wait' }>,
    text: { title: string; markdown: string },
    word: string,
  ): Promise<void> {
    const { id } = known;
    if (step.do === 'restore' ? known.where !== 'trash' : known.where !== 'posts') return;
    switch (step.do) {
      case 'edit':
        await editPost(deps, id, text);
        known.word = word;
        break;
      case 'status':
        if (step.isBulk) {
          await changePosts(deps, known.owner, [id], step.status === 'published' ? 'publish' : 'unpublish');
        } else {
          await editPost(deps, id, { status: step.status });
        }
        Object.assign(known, { status: step.status, isScheduled: false });
        break;
      case 'retype':
        await editPost(deps, id, { contentType: step.type });
        known.type = step.type;
        break;
      case 'schedule':
        if (known.status === 'published') return;
        await schedulePost(deps, id, { publishAt: inHalfAnHour(clock.now()), timeZone: 'UTC' });
        known.isScheduled = true;
        break;
      case 'delete':
        await deletePost(deps, id);
        Object.assign(known, { where: 'trash', isScheduled: false });
        break;
      case 'erase':
        await erasePost(deps, id);
        Object.assign(known, { where: 'gone', isScheduled: false });
        break;
      case 'restore':
        await restorePost(deps, id);
        known.where = 'posts';
        break;
    }
  }

  const read = async (path: string) => {
    const response = await app.fetch(new Request(`http://localhost${path}`));
    return { status: response.status, text: await response.text() };
  };

  async function callTool(each: Owner, name: string, input: object) {
    const response = await app.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          ...bearer(keys.get(each) ?? '').headers,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: input },
        }),
      }),
    );
    return { status: response.status, text: await response.text() };
  }

  /** Every public answer about an organization, by the surface that it belongs to. */
  async function* answers(each: Owner) {
    const page = `/changelog/${slugs[each]}`;
    const ids = posts.map(({ id }) => id);
    const ofPage = [
      ...[
        '',
        '?page=2',
        '?q=zq',
        '?q=zq1',
        '/archive/2026-03',
        '/archive/2026-01',
        '.md',
        '/llms.txt',
        '/sitemap.xml',
      ],
      ...ids.flatMap((id) => [`/${id}`, `/${id}.md`]),
    ];
    for (const path of ofPage)
      yield { surface: 'isPageOn' as const, path, ...(await read(`${page}${path}`)) };
    for (const path of ['/feed.atom', '/feed.rss', '/feed.json', '/feed.json?limit=5', '/widget.js'])
      yield { surface: 'isFeedOn' as const, path, ...(await read(`${page}${path}`)) };
    for (const [name, input] of [
      ['list_posts', {}],
      ['search_posts', { query: 'zq' }],
      ...ids.map((id) => ['get_post', { id }] as const),
    ] as const) {
      const path = `${name} ${JSON.stringify(input)}`;
      yield { surface: 'isMcpOn' as const, path, ...(await callTool(each, name, input)) };
    }
  }

  async function check(): Promise<void> {
    for (const each of owners) {
      const visible = posts.filter((post) => post.owner === each && isPublic(post));
      const allowed = new Set(visible.flatMap(wordsOf));
      for await (const { surface, path, status, text } of answers(each)) {
        const isOn = on[each][surface];
        const about = `${each} ${path}: ${status}`;
        const shown = wordsIn(text);
        expect([about, [...shown.difference(isOn ? allowed : new Set())]]).toEqual([about, []]);
        if (!isOn) expect([about, status < 400]).toEqual([about, false]);
        if (isOn && ['', '/feed.atom', '/feed.json', 'list_posts {}'].includes(path)) {
          const titles = visible.map(({ word }) => `${word}title`);
          expect([about, titles.filter((title) => !shown.has(title))]).toEqual([about, []]);
        }
      }
    }
    await send();
    for (const each of owners) {
      const sent = receiver.requests.filter(({ path }) => path.endsWith(each));
      for (const { body } of sent) expect([...wordsIn(body).difference(published[each])]).toEqual([]);
    }
    receiver.requests.length = 0;
  }

  return { take, check };
}

test(
  'no surface shows a draft, a LinkedIn post, a scheduled or deleted post, or one of another organization',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
        async (parts) => {
          const { take, check } = await createWorld();
          for (const part of parts) {
            for (const each of part) await take(each);
            await check();
          }
        },
      ),
      { numRuns: rounds(12, 500) },
    );
  },
  { timeout: 3_600_000 },
);
