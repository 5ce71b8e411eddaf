import { afterAll, describe, expect, test } from 'bun:test';
import { readImage } from '../../src/posts/media/service.ts';
import { editPost } from '../../src/posts/service.ts';
import { layOut } from '../../src/readers/public/card-draw.ts';
import { type Card, cardOf, threadedPainter } from '../../src/readers/public/cards.ts';
import type { Publication, PublicationChange } from '../../src/readers/public/model.ts';
import { changePublication, readPublication } from '../../src/readers/public/service.ts';
import { appWithOrganization } from '../support/test-app.ts';

const painter = threadedPainter({ after: () => () => undefined });
afterAll(() => painter.close());

const PAGE = '/changelog/acme';

/** A published page with one post. The images are their texts, unless `draw` makes others. */
async function world(draw?: (card: Card) => Promise<Uint8Array<ArrayBuffer>>) {
  const drawn: Card[] = [];
  const app = await appWithOrganization({
    drawCard: async (card) => {
      drawn.push(card);
      return draw === undefined ? new TextEncoder().encode(card.title) : draw(card);
    },
  });
  const change = (input: PublicationChange) => changePublication(app.deps, 'org_a', input);
  await change({ slug: 'acme', title: 'Acme news', isPageOn: true });
  await app.addPosts('org_a', { id: 'post_a', title: 'Quieter engines' });
  const get = async (path: string, headers: Record<string, string> = {}) =>
    app.fetch(new Request(`http://localhost${PAGE}/${path}`, { headers }));
  return { app, change, drawn, get };
}

describe('an image', () => {
  test('is a PNG of 1200 by 630 pixels, drawn in a thread', async () => {
    const { get } = await world(painter.draw);
    for (const path of ['card.png', 'post_a.png']) {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'image/png',
        // Switching off takes effect on the next request, also behind a cache.
        'cache-control': 'public, no-cache',
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
      });
      const image = await readImage(await response.bytes());
      expect(image).toMatchObject({ type: 'image/png', width: 1200, height: 630 });
      expect(image.bytes.length).toBeLessThan(60_000);
    }
  });

  test('has the texts of the page and the post', async () => {
    const { get, drawn } = await world();
    await get('card.png');
    await get('post_a.png');
    expect(drawn).toEqual([
      { heading: '', title: 'Acme news', footer: 'tidings.test/changelog/acme', accentColor: '#2563eb' },
      { heading: 'Acme news', title: 'Quieter engines', footer: 'January 1, 2026', accentColor: '#2563eb' },
    ]);
  });

  test('has a title in Arabic letters, which stands at the right', async () => {
    const { app, get, drawn } = await world();
    const title = 'إطلاق Rocket 2.4: محركات أهدأ';
    await app.addPosts('org_a', { id: 'post_arabic', title });
    await get('post_arabic.png');
    expect(drawn.map((card) => card.title)).toEqual([title]);
    const [, ofTitle, ofFooter] = layOut(drawn[0] as Card).children.map(({ style }) => style);
    expect(ofTitle).toMatchObject({ direction: 'rtl', textAlign: 'right' });
    expect(ofFooter).not.toHaveProperty('direction');
    const { get: getImage, app: other } = await world(painter.draw);
    await other.addPosts('org_a', { id: 'post_arabic', title });
    expect((await getImage('post_arabic.png')).status).toBe(200);
  });

  test('is kept until one of its texts changes, and a client that has it gets 304', async () => {
    const { app, change, get, drawn } = await world();
    const first = await get('post_a.png');
    const etag = first.headers.get('etag') ?? '';
    expect((await get('post_a.png')).headers.get('etag')).toBe(etag);
    expect((await get('post_a.png', { 'if-none-match': etag })).status).toBe(304);
    await editPost(app.deps, 'post_a', { markdown: 'Other words' });
    expect((await get('post_a.png', { 'if-none-match': etag })).status).toBe(304);
    expect(drawn).toHaveLength(1);
    const changes = [
      () => editPost(app.deps, 'post_a', { title: 'Louder engines' }),
      () => change({ title: 'News of Acme' }),
      () => change({ accentColor: '#aa0000' }),
    ];
    for (const [index, make] of changes.entries()) {
      await make();
      const response = await get('post_a.png', { 'if-none-match': etag });
      expect([response.status, drawn.length]).toEqual([200, index + 2]);
    }
    expect(drawn.at(-1)).toMatchObject({ heading: 'News of Acme', title: 'Louder engines' });
  });

  test('is drawn without a request for what a client has', async () => {
    const { get, drawn } = await world();
    const etag = (await get('card.png')).headers.get('etag') ?? '';
    const again = await world();
    expect((await again.get('card.png', { 'if-none-match': etag })).status).toBe(304);
    expect([drawn.length, again.drawn.length]).toEqual([1, 0]);
  });
});

describe('there is no image of', () => {
  test('a page that is off, from the next request on', async () => {
    const { change, get } = await world();
    expect((await get('card.png')).status).toBe(200);
    await change({ isPageOn: false, isFeedOn: true });
    for (const path of ['card.png', 'post_a.png']) {
      const response = await get(path);
      expect([response.status, await response.json()]).toEqual([404, { error: 'Not found' }]);
    }
  });

  test('anything but a published changelog post of the organization', async () => {
    const { app, get, drawn } = await world();
    await app.addOrganization('org_b');
    await app.addPosts(
      'org_a',
      { id: 'post_draft', status: 'draft' },
      { id: 'post_linkedin', contentType: 'linkedin_post' },
    );
    await app.addPosts('org_b', { id: 'post_other' });
    for (const name of ['post_draft', 'post_linkedin', 'post_other', 'post_unknown']) {
      expect((await get(`${name}.png`)).status).toBe(404);
    }
    for (const path of ['a%20b.png', `${'a'.repeat(65)}.png`, 'post_a.PNG', 'post_a.png/']) {
      expect((await get(path)).status).toBe(404);
    }
    expect(drawn).toEqual([]);
  });
});

describe('strangers cannot make Tidings draw without end:', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ id: `many_${at}`, title: `Title ${at}` }));
  const statuses = (responses: Response[]) => responses.map(({ status }) => status);

  test('an image that several ask for is drawn once', async () => {
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const { get, drawn } = await world(async () => {
      started.resolve();
      await gate.promise;
      return new Uint8Array(8);
    });
    const asked = Promise.all(Array.from({ length: 20 }, () => get('post_a.png')));
    await started.promise;
    gate.resolve();
    expect(new Set(statuses(await asked))).toEqual(new Set([200]));
    expect(drawn).toHaveLength(1);
  });

  test('beyond eight that wait, others are told to come back', async () => {
    const gate = Promise.withResolvers<void>();
    const full = Promise.withResolvers<void>();
    let begun = 0;
    const { app, get, drawn } = await world(async () => {
      if (++begun === 8) full.resolve();
      await gate.promise;
      return new Uint8Array(8);
    });
    await app.addPosts('org_a', ...many(9));
    const waiting = many(8).map(({ id }) => get(`${id}.png`));
    await full.promise;
    const refused = await get('many_8.png');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    gate.resolve();
    expect(statuses(await Promise.all(waiting))).toEqual(Array(8).fill(200));
    expect(drawn).toHaveLength(8);
    expect((await get('many_8.png')).status).toBe(200);
  });

  test('sixty at once, then one a second; those that are kept still arrive', async () => {
    const { app, get, drawn } = await world();
    await app.addPosts('org_a', ...many(63));
    const ask = async (at: number) => (await get(`many_${at}.png`)).status;
    for (let at = 0; at < 60; at++) expect(await ask(at)).toBe(200);
    expect([await ask(60), await ask(0)]).toEqual([503, 200]);
    app.clock.advance(1_000);
    expect([await ask(60), await ask(61)]).toEqual([200, 503]);
    expect(drawn).toHaveLength(61);
  });

  test('a failure is not kept', async () => {
    let isBroken = true;
    const { get } = await world(async () => {
      if (isBroken) throw new Error('broken');
      return new Uint8Array(8);
    });
    expect((await get('card.png')).status).toBe(500);
    isBroken = false;
    expect((await get('card.png')).status).toBe(200);
  });
});

describe('the texts of an image', () => {
  const publication = async (fields: Partial<Publication> = {}): Promise<Publication> => {
    const app = await appWithOrganization();
    const stored = await app.db.read((tx) => readPublication(tx, 'org_a'));
    return { ...stored, slug: 'acme', title: 'Acme news', ...fields };
  };
  const textsOf = async (title: string, fields?: Partial<Publication>) => {
    const post = { title, createdAt: '2026-11-23T23:30:00.000Z' };
    const { heading, title: shown } = cardOf(await publication(fields), 'https://tidings.test', post);
    return [heading, shown];
  };

  test.each([
    ['Zażółć, Ελληνικά, Привет, tiếng Việt', 'Zażółć, Ελληνικά, Привет, tiếng Việt'],
    ['🎉 Rocket 2.0 is out 🚀🇪🇺 👩‍🚀', 'Rocket 2.0 is out'],
    ['Cafe\u0301', 'Café'],
    ['one\n two\u0000\u202ethree', 'one two three'],
    ['a'.repeat(400), `${'a'.repeat(159)}…`],
  ])('%p: %p', async (title, shown) => {
    expect(await textsOf(title)).toEqual(['Acme news', shown]);
  });

  test.each(['日本語のタイトル', 'כותרת', 'Release 二', '🎉'])(
    '%p gives way to the title of the page, because the typefaces lack it',
    async (title) => {
      expect(await textsOf(title)).toEqual(['', 'Acme news']);
      expect(await textsOf(title, { title: '火箭' })).toEqual(['', 'tidings.test/changelog/acme']);
      const address = 'https://news.acme.test';
      expect(await textsOf(title, { title: '火箭', address })).toEqual(['', 'news.acme.test']);
    },
  );
});

test('a painter that closes refuses what comes later', async () => {
  const closed = threadedPainter();
  closed.close();
  const card = { heading: '', title: 'A', footer: 'B', accentColor: '#000000' };
  await expect(closed.draw(card)).rejects.toMatchObject({
    status: 503,
    message: 'The image was not made: the server is stopping',
  });
});
