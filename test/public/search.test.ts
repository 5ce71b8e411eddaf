import { describe, expect, test } from 'bun:test';
import { appWithPage, attributesOf, headingsOf } from '../support/public-page.ts';

async function world() {
  const page = await appWithPage({ clientIpHeader: 'x-client' });
  const search = (q: string, more = '', headers: Record<string, string> = {}) =>
    page.open(`?q=${encodeURIComponent(q)}${more}`, headers);
  return { ...page, search };
}

test('finds posts by words of title and text, in pages of twenty', async () => {
  const { app, search } = await world();
  await app.addPosts(
    'org_acme',
    ...Array.from({ length: 21 }, (_, at) => ({ id: `p${at}`, content: `- Quiet engines\n- ${at}` })),
    { id: 'other', title: 'Other', content: 'nothing' },
  );
  const { response, text } = await search('quiet engin');
  expect(response.headers.get('cache-control')).toBe('public, no-cache');
  expect(headingsOf(text).slice(0, 2)).toEqual(['1 21 posts match “quiet engin”', '2 Post 21']);
  expect(text).toContain('Quiet engines · 20');
  expect(text).toContain('<meta name="robots" content="noindex"/>');
  expect(attributesOf(text, 'value')).toEqual(['quiet engin']);
  expect(attributesOf(text, 'href')).toContain('/changelog/acme?q=quiet%20engin&page=2');
  expect(headingsOf((await search('quiet engin', '&page=2')).text)).toHaveLength(2);
  expect((await search('quiet engin', '&page=3')).status).toBe(404);
  expect(headingsOf((await search('other')).text)[0]).toBe('1 1 post matches “other”');
  expect(headingsOf((await search(' ')).text)).toContain('2 Other');
});

test('without results, says what to do', async () => {
  const { app, search } = await world();
  await app.addPosts('org_acme', {});
  const { status, text } = await search('<zeppelin>');
  expect([status, headingsOf(text)]).toEqual([200, ['1 No posts match “&lt;zeppelin>”']]);
  expect(text).toContain('Check the spelling, or search for fewer words.');
  expect(attributesOf(text, 'href')).toContain('/changelog/acme');
});

describe('is bounded:', () => {
  test('in results', async () => {
    const { app, search } = await world();
    await app.addPosts('org_acme', ...Array.from({ length: 200 }, () => ({})));
    expect(headingsOf((await search('text')).text)[0]).toBe('1 200 posts match “text”');
    await app.addPosts('org_acme', {});
    const { text } = await search('text', '&page=10');
    expect(headingsOf(text)[0]).toBe('1 More than 200 posts match “text”');
    expect((await search('text', '&page=11')).status).toBe(404);
  });

  test('in characters and words', async () => {
    const { search } = await world();
    expect((await search('x'.repeat(100))).status).toBe(200);
    expect((await search('x'.repeat(101))).status).toBe(400);
    expect((await search('a b c d e f g h')).status).toBe(200);
    const { status, text } = await search('a b c d e f g h i');
    expect([status, headingsOf(text)]).toEqual([400, ['1 Check the address']]);
    expect(text).toContain('Search for at most 8 words.');
  });

  test('in searches of a client, which other pages are not', async () => {
    const { app, open, search } = await world();
    await app.addPosts('org_acme', {});
    const from = (client: string) => search('text', '', { 'x-client': client });
    for (let at = 0; at < 20; at++) expect((await from('192.0.2.1')).status).toBe(200);
    const { response, status, text } = await from('192.0.2.1');
    expect([status, response.headers.get('retry-after')]).toEqual([429, '1']);
    expect(text).toContain('Too many searches. Try again in 1 second.');
    expect((await from('192.0.2.2')).status).toBe(200);
    expect((await open('', { 'x-client': '192.0.2.1' })).status).toBe(200);
    app.clock.advance(1_000);
    expect((await from('192.0.2.1')).status).toBe(200);
    expect((await from('192.0.2.1')).status).toBe(429);
  });

  test('in searches of all clients', async () => {
    const { search, app } = await world();
    const from = (client: number) => search('text', '', { 'x-client': `192.0.2.${client}` });
    for (let at = 0; at < 50; at++) expect((await from(at)).status).toBe(200);
    expect((await from(50)).status).toBe(429);
    app.clock.advance(200);
    expect((await from(51)).status).toBe(200);
  });

  test('a page that is off refuses before it counts', async () => {
    const { change, search } = await world();
    await change({ isPageOn: false });
    for (let at = 0; at < 25; at++) expect((await search('text')).status).toBe(404);
    await change({ isPageOn: true });
    expect((await search('text')).status).toBe(200);
  });
});
