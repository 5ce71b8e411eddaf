import { describe, expect, test } from 'bun:test';
import type { PublicationChange } from '../../src/readers/public/model.ts';
import { changePublication, readPublication } from '../../src/readers/public/service.ts';
import { hostile, isHarmed, signedIn } from '../support/dashboard.ts';
import { imageFixture, testMedia, uploadOf } from '../support/media.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, PUBLIC_URL, type WithOrganization } from '../support/test-app.ts';

const PATH = '/dashboard/org_a/publishing';

type Fields = Record<string, string | string[]>;

/** The form as a browser sends it. */
function formOf(fields: Fields): RequestInit {
  const body = new URLSearchParams();
  for (const [name, values] of Object.entries({ accentPicker: '#2563eb', ...fields })) {
    for (const value of [values].flat()) body.append(name, value);
  }
  return { method: 'POST', body };
}

async function world(options: WithOrganization = {}) {
  const app = await appWithOrganization(options);
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const html = async (path = PATH) => (await visit(path)).text();
  const stored = () => app.db.read((tx) => readPublication(tx, 'org_a'));
  const change = (input: PublicationChange) => changePublication(app.deps, 'org_a', input);
  return { app, visit, html, stored, change };
}

const filled: Fields = {
  isPageOn: 'on',
  isFeedOn: 'on',
  slug: ' acme ',
  title: 'Acme news',
  description: 'What is new.',
  accentColor: '#2F6F4F',
  logoId: '',
  linkLabel: ['Docs', '', ' Status '],
  linkUrl: ['https://acme.test/docs', '', 'https://status.acme.test'],
  address: '',
};

describe('before anything is public', () => {
  test('the page says how many posts a switch would show', async () => {
    const { app, html } = await world();
    expect(await html()).toContain('Nothing is public yet. Switch the page on');
    await app.addPosts('org_a', {}, {}, { status: 'draft' }, { contentType: 'linkedin_post' });
    const page = await html();
    expect(page).toContain(
      'When you switch the page or the feeds on, 2 published changelog posts become public',
    );
    expect(page).toContain(`${PUBLIC_URL}/changelog/`);
    expect(page).not.toContain('widget.js');
  });

  test('a second organization of the same name starts with another address', async () => {
    const { app, change } = await world({ organizations: ['org_a', 'org_b'] });
    await change({ slug: 'organization-org-b' });
    const { slug } = await app.db.read((tx) => readPublication(tx, 'org_b'));
    expect(slug).toBe('org-b-organization-org-b');
  });
});

test('a saved form switches the page on, and shows the addresses', async () => {
  const { visit, html, stored } = await world();
  const saved = await visit(PATH, formOf(filled));
  expect([saved.status, saved.headers.get('location')]).toEqual([303, PATH]);
  expect(await stored()).toMatchObject({
    isPageOn: true,
    isFeedOn: true,
    isMcpOn: false,
    slug: 'acme',
    title: 'Acme news',
    description: 'What is new.',
    accentColor: '#2f6f4f',
    logoId: null,
    links: [
      { label: 'Docs', url: 'https://acme.test/docs' },
      { label: 'Status', url: 'https://status.acme.test' },
    ],
    address: null,
  });
  const page = await html();
  const address = `${PUBLIC_URL}/changelog/acme`;
  expect(page).toContain(`href="${address}"`);
  for (const feed of ['atom', 'rss', 'json']) expect(page).toContain(`${address}/feed.${feed}`);
  expect(page).toContain(`&lt;script src=&quot;${address}/widget.js&quot; async>`);
});

test('the form leaves the switch of agents alone, and turns the others off', async () => {
  const { visit, stored, change } = await world();
  await change({ isPageOn: true, isFeedOn: true, isMcpOn: true });
  const { isPageOn: _, isFeedOn: __, ...off } = filled;
  await visit(PATH, formOf(off));
  expect(await stored()).toMatchObject({ isPageOn: false, isFeedOn: false, isMcpOn: true });
});

test('the code of the widget comes with a warning while its link is dead', async () => {
  const { html, change } = await world();
  const warning = 'the link in this code is dead without the script';
  await change({ isFeedOn: true });
  expect((await html()).replaceAll(/\s+/g, ' ')).toContain(warning);
  await change({ isPageOn: true });
  expect((await html()).replaceAll(/\s+/g, ' ')).not.toContain(warning);
});

test('first steps offer the public page once a post is published', async () => {
  const { app, html, change } = await world();
  const steps = () => html('/dashboard/org_a/start');
  expect(await steps()).not.toContain('Show your posts');
  await app.addPosts('org_a', {});
  expect(await steps()).toContain('href="/dashboard/org_a/publishing">Set up public page');
  await change({ isFeedOn: true });
  expect(await steps()).toContain('Show your posts<span class="hidden">: done');
});

test("the browser's color counts when the text is the stored one", async () => {
  const { visit, stored } = await world();
  await visit(PATH, formOf({ ...filled, accentColor: '#2563eb', accentPicker: '#aa0000' }));
  expect((await stored()).accentColor).toBe('#aa0000');
  await visit(PATH, formOf({ ...filled, accentColor: '#00aa00', accentPicker: '#aa0000' }));
  expect((await stored()).accentColor).toBe('#00aa00');
});

describe('a refused form stores nothing and keeps what was typed:', () => {
  const refused: [string, Fields, string][] = [
    ['address', { slug: 'No Spaces' }, 'The address must be 1 to 63 lowercase letters'],
    ['title', { title: ' ' }, 'The title must not be empty'],
    ['color', { accentColor: 'red' }, 'The accent color must be a color such as'],
    ['custom domain', { address: 'changelog.acme.test' }, 'The custom domain must be an http or https URL'],
    ['logo', { logoId: 'img_of_nobody' }, 'Choose one of your images.'],
    [
      'link',
      { linkLabel: ['', 'Docs'], linkUrl: ['', 'javascript:alert(1)'] },
      'The URL of link 1 must be an http or https URL',
    ],
    ['label', { linkLabel: [''], linkUrl: ['https://acme.test'] }, 'The label of link 1 must not be empty'],
  ];
  test.each(refused)('%s', async (_, fields, sentence) => {
    const { app, visit } = await world();
    const before = await allRows(app.db);
    const response = await visit(PATH, formOf({ ...filled, description: 'Typed words', ...fields }));
    expect(response.status).toBe(400);
    const html = await response.text();
    expect(html).toContain(sentence);
    expect(html).toContain('Typed words');
    const { logoId: _unknown, ...typed } = fields;
    for (const value of Object.values(typed).flat()) expect(html).toContain(value);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('an address of another organization', async () => {
    const { app, visit, stored } = await world({ organizations: ['org_a', 'org_b'] });
    await changePublication(app.deps, 'org_b', { slug: 'acme' });
    const response = await visit(PATH, formOf(filled));
    expect(response.status).toBe(409);
    expect(await response.text()).toContain('The address is in use. Choose another one.');
    expect((await stored()).version).toBe('');
  });
});

test('members see the settings, and cannot change them', async () => {
  const { app, change, stored } = await world();
  const before = await change({ title: hostile, isPageOn: true });
  const visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  const html = await (await visit(PATH)).text();
  expect(html).toContain('Only owners can change these settings.');
  expect(html).not.toContain('Save settings');
  expect(isHarmed(html)).toBe(false);
  expect((await visit(PATH, formOf(filled))).status).toBe(403);
  expect(await stored()).toEqual(before);
});

describe('the logo', () => {
  test('is an image of the organization, chosen or uploaded', async () => {
    using media = testMedia('folder');
    const { visit, html, stored } = await world({ media: media.place });
    const uploaded = await visit(`${PATH}/logo`, uploadOf('photo.png', imageFixture('photo.png')));
    expect(uploaded.status).toBe(303);
    const { logoId } = await stored();
    expect(logoId).toStartWith('img_');
    expect(await html()).toContain(`src="/media/${logoId}.png"`);
    await visit(PATH, formOf(filled));
    expect((await stored()).logoId).toBeNull();
    await visit(PATH, formOf({ ...filled, logoId: logoId ?? '' }));
    expect((await stored()).logoId).toBe(logoId);
  });

  test('must be an image', async () => {
    using media = testMedia('folder');
    const { visit, stored } = await world({ media: media.place });
    const refused = await visit(`${PATH}/logo`, uploadOf('note.png', new TextEncoder().encode('words')));
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('not a PNG, JPEG, GIF, WebP or AVIF image');
    expect((await stored()).version).toBe('');
  });
});

describe('the page of a post', () => {
  const link = (id: string) => `href="${PUBLIC_URL}/changelog/acme/${id}">View on the public page`;

  test('leads to the public page while that is on', async () => {
    const { app, html, change } = await world();
    await app.addPosts('org_a', { id: 'post_shown' });
    expect(await html('/dashboard/org_a/posts/post_shown')).not.toContain('View on the public page');
    await change({ slug: 'acme', isPageOn: true });
    expect(await html('/dashboard/org_a/posts/post_shown')).toContain(link('post_shown'));
  });

  test.each([{ status: 'draft' as const }, { contentType: 'linkedin_post' as const }])(
    '%j has no link',
    async (fields) => {
      const { app, html, change } = await world();
      await change({ isPageOn: true });
      await app.addPosts('org_a', { id: 'post_hidden', ...fields });
      expect(await html('/dashboard/org_a/posts/post_hidden')).not.toContain('View on the public page');
    },
  );
});
