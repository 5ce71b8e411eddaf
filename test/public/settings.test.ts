import { describe, expect, test } from 'bun:test';
import { listAuditEvents } from '../../src/people/audit.ts';
import { addImage } from '../../src/posts/media/service.ts';
import type { PublicationChange } from '../../src/readers/public/model.ts';
import { changePublication, readPublication } from '../../src/readers/public/service.ts';
import { valuesOf } from '../support/database.ts';
import { imageFixture, testMedia } from '../support/media.ts';
import { appWithOrganization } from '../support/test-app.ts';

async function world() {
  const app = await appWithOrganization({ organizations: ['org_acme', 'org_other'] });
  const change = (input: PublicationChange, organizationId = 'org_acme') =>
    changePublication(app.deps, organizationId, input);
  return { app, change };
}

test('nothing is public before somebody switches it on', async () => {
  const { app } = await world();
  const publication = await app.db.read((tx) => readPublication(tx, 'org_acme'));
  expect(publication).toMatchObject({ isPageOn: false, isFeedOn: false, isMcpOn: false });
  expect(await valuesOf(app.db, 'SELECT count(*) FROM publications')).toEqual([[0]]);
});

test('a change keeps the other settings, gives a new version, and is in the audit log', async () => {
  const { app, change } = await world();
  const first = await change({ slug: 'acme', title: ' Acme news ', isPageOn: true, isFeedOn: true });
  const second = await change({ isFeedOn: false, links: [{ label: 'Docs', url: 'https://acme.test/docs' }] });
  expect(second).toMatchObject({ slug: 'acme', title: 'Acme news', isPageOn: true, isFeedOn: false });
  expect(second.version).not.toBe(first.version);
  expect(await app.db.read((tx) => readPublication(tx, 'org_acme'))).toEqual(second);
  const events = await app.db.read((tx) => listAuditEvents(tx, 'org_acme', {}, 10));
  expect(events.slice(0, 2).map(({ summary }) => summary)).toEqual([
    'switched the public feeds off',
    'switched the public page on and switched the public feeds on',
  ]);
});

test('two organizations cannot have one address', async () => {
  const { app, change } = await world();
  await change({ slug: 'acme' });
  await expect(change({ slug: 'acme' }, 'org_other')).rejects.toMatchObject({
    status: 409,
    code: 'slug_taken',
    fields: { slug: 'is in use. Choose another one' },
  });
  expect(await valuesOf(app.db, 'SELECT organization_id FROM publications')).toEqual([['org_acme']]);
});

describe('a refused change stores nothing:', () => {
  const refused: [PublicationChange, string][] = [
    [{ slug: 'Acme' }, 'slug'],
    [{ slug: '-acme' }, 'slug'],
    [{ slug: 'a'.repeat(64) }, 'slug'],
    [{ title: ' ' }, 'title'],
    [{ accentColor: 'red' }, 'accentColor'],
    [{ links: [{ label: 'x', url: 'javascript:alert(1)' }] }, 'links.0.url'],
    [{ links: Array.from({ length: 9 }, () => ({ label: 'x', url: 'https://acme.test' })) }, 'links'],
    [{ address: 'https://changelog.acme.test/' }, 'address'],
    [{ address: 'ftp://acme.test' }, 'address'],
    [{ address: 'https://acme.test:99999' }, 'address'],
    [{ address: 'https://acme<test' }, 'address'],
    // These would change the meaning of the Content-Security-Policy.
    [{ address: 'https://acme.test;script-src' }, 'address'],
    [{ address: 'https://acme.test,default-src' }, 'address'],
    [{ address: 'https://*' }, 'address'],
    [{ logoId: 'media_of_nobody' }, 'logoId'],
  ];
  test.each(refused)('%j', async (input, field) => {
    const { app, change } = await world();
    await expect(change(input)).rejects.toMatchObject({
      status: 400,
      fields: { [field]: expect.any(String) },
    });
    expect(await valuesOf(app.db, 'SELECT count(*) FROM publications')).toEqual([[0]]);
  });
});

test('the image of another organization is no logo', async () => {
  using media = testMedia();
  const app = await appWithOrganization({ media: media.place, organizations: ['org_acme', 'org_other'] });
  const image = { bytes: imageFixture('photo.png'), name: 'logo.png' };
  const { id: logoId } = await addImage(app.deps, { organizationId: 'org_other', ...image });
  const change = changePublication(app.deps, 'org_acme', { logoId });
  await expect(change).rejects.toMatchObject({ status: 400, fields: { logoId: expect.any(String) } });
  expect((await changePublication(app.deps, 'org_other', { logoId })).logoId).toBe(logoId);
});

test('the address of a proxy is stored as browsers write it', async () => {
  const { change } = await world();
  for (const [given, stored] of [
    ['https://Changelog.ACME.test:443', 'https://changelog.acme.test'],
    ['https://müller.test/Neues "hier"', 'https://xn--mller-kva.test/Neues%20%22hier%22'],
    ['http://[::1]:8080/news', 'http://[::1]:8080/news'],
    ['https://acme.test/..', 'https://acme.test'],
  ] as const) {
    expect((await change({ address: given.replaceAll(' ', '%20') })).address).toBe(stored);
  }
  expect((await change({ address: null })).address).toBeNull();
});
