import { beforeEach, describe, expect, test } from 'bun:test';
import { deleteAccount } from '../../src/people/accounts.ts';
import { listAuditEvents } from '../../src/people/audit.ts';
import { setRole } from '../../src/people/members.ts';
import { insertIdentity } from '../../src/people/oidc/store.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { approvePost, declineApproval, withdrawApproval } from '../../src/posts/approval-requests.ts';
import { findApproval, isApproved } from '../../src/posts/approval-rule.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { cancelSchedule, findSchedule, publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import {
  changePosts,
  createPost,
  datePost,
  deletePost,
  duplicatePost,
  editPost,
  restoreVersion,
} from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { acceptChange, suggestChange } from '../../src/posts/suggestions.ts';
import { erasePost, restorePost } from '../../src/posts/trash.ts';
import { listVersions } from '../../src/posts/versions.ts';
import { createTeam, type Team } from '../support/approval.ts';
import { valuesOf } from '../support/database.ts';
import { allRows } from '../support/rows.ts';

let team: Team;
let id: string;
const TEXT = { title: 'A draft', markdown: 'Text', contentType: 'changelog' } as const;

beforeEach(async () => {
  team = await createTeam();
  id = (await createPost(team.as('ann'), 'org_a', TEXT)).id;
});

const stored = async (postId = id) => team.app.db.read((tx) => readPost(tx, postId));
const approval = (postId = id) => team.app.db.read((tx) => findApproval(tx, postId));
const publish = (name: string, postId = id) => editPost(team.as(name), postId, { status: 'published' });
const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    ({ status, code }) => [status, code].filter(Boolean),
  );
const events = async () => (await team.app.db.read((tx) => listAuditEvents(tx, 'org_a', {}, 100))).reverse();
const summaries = async () =>
  (await events())
    .filter(({ action }) => action.startsWith('post.'))
    .map(({ actor, summary }) => `${actor.name ?? actor.type} ${summary}`);
/** The refused work leaves every row as it was. */
async function refuses(work: () => Promise<unknown>, refusal: unknown[]) {
  const before = await allRows(team.app.db);
  expect(await refusalOf(work())).toEqual(refusal);
  expect(await allRows(team.app.db)).toEqual(before);
}
const later = (minutes: number) => team.app.clock.advance(minutes * 60_000);
async function public_(text: Partial<typeof TEXT> = {}): Promise<string> {
  const post = await createPost(team.as('ann'), 'org_a', { ...TEXT, ...text });
  await team.ask('ann', post.id);
  await team.approve('bob', post.id, true);
  return post.id;
}
const NEEDED = [409, 'approval_needed'];

describe('a draft', () => {
  test('is published after one person asked and another approved, and the audit log names the version', async () => {
    await refuses(() => publish('ann'), NEEDED);
    await team.ask('ann', id);
    await refuses(() => publish('bob'), NEEDED);
    await team.approve('bob', id);
    expect((await stored())?.status).toBe('draft');
    await publish('ann');
    expect((await stored())?.status).toBe('published');
    const [version] = await team.app.db.read((tx) => listVersions(tx, id));
    expect(await summaries()).toEqual([
      'ann@acme.example asked to approve the post “A draft”',
      `bob@acme.example approved version ${version?.id} of the post “A draft”, as ann@acme.example asked`,
      'ann@acme.example published the post “A draft”',
    ]);
    expect(await approval()).toMatchObject({
      state: 'approved',
      askedById: 'usr_ann',
      decidedById: 'usr_bob',
      versionId: version?.id,
      change: null,
    });
  });

  test('needs approval again after any change, by anybody, also after one that was undone', async () => {
    const changes: (() => Promise<unknown>)[] = [
      () => editPost(team.as('bob'), id, { title: 'Other' }),
      () => editPost(team.as('ann'), id, { markdown: 'Other' }),
      () => editPost(team.app.deps, id, { contentType: 'linkedin_post' }),
      () => datePost(team.as('oda'), id, new Date('2026-01-01')),
      async () => {
        await editPost(team.as('ann'), id, { title: 'Away' });
        await editPost(team.as('ann'), id, { title: TEXT.title });
      },
      async () => {
        await editPost(team.as('ann'), id, { title: 'Away' });
        const [, before] = await team.app.db.read((tx) => listVersions(tx, id));
        await restoreVersion(team.as('ann'), id, before?.id ?? '');
      },
    ];
    for (const change of changes) {
      id = (await createPost(team.as('ann'), 'org_a', TEXT)).id;
      await team.ask('ann', id);
      await team.approve('bob', id);
      later(1);
      await change();
      await refuses(() => publish('ann'), NEEDED);
    }
  });

  test('is approved by nobody who asked or changed it since readers last saw it', async () => {
    await editPost(team.as('bob'), id, { markdown: 'By Bob' });
    await team.ask('ann', id);
    for (const name of ['ann', 'bob']) await refuses(() => team.approve(name, id), [409, 'own_text']);
    await refuses(() => team.approve('wim', id), [403]);
    await team.approve('oda', id);
    later(1);
    // Approved, but never published: Bob is still one of its authors.
    await editPost(team.as('ann'), id, { markdown: 'By Ann' });
    await team.ask('ann', id);
    await refuses(() => team.approve('bob', id), [409, 'own_text']);
    await team.approve('oda', id);
    await publish('bob');
    await editPost(team.as('bob'), id, { status: 'draft' });
    later(1);
    await editPost(team.as('oda'), id, { markdown: 'By Oda' });
    await team.ask('ann', id);
    await refuses(() => team.approve('oda', id), [409, 'own_text']);
    await team.approve('bob', id);
    await publish('bob');
  });

  test('is approved by nobody who set its date', async () => {
    await datePost(team.as('bob'), id, new Date('2026-01-01'));
    await team.ask('ann', id);
    await refuses(() => team.approve('bob', id), [409, 'own_text']);
  });

  test.each([
    ['case, dots and tags', 'annlee@acme.example', 'Ann.Lee+news@acme.example'],
    ['full-width letters', 'annlee@acme.example', 'ａnnlee@acme.example'],
    ['quotes', 'annlee@acme.example', '"ann.lee"@acme.example'],
    ['the dot of the root', 'annlee@acme.example', 'annlee@acme.example.'],
    ['Punycode', 'annlee@münchen.example', 'annlee@xn--mnchen-3ya.example'],
  ])('is approved by no second account of one mailbox: %s', async (_, one, other) => {
    await team.add('one', { email: one });
    await team.add('other', { email: other });
    await team.ask('one', id);
    await refuses(() => team.approve('other', id), [409, 'own_text']);
    await team.approve('bob', id);
  });

  test('is approved by no second account of one person of the identity provider', async () => {
    await team.add('one', { email: 'annlee@acme.example' });
    await team.add('other', { email: 'boss@acme.example' });
    const identity = { issuer: 'https://sso.test', subject: '1', userId: 'usr_other', createdAt: '' };
    const name = 'ann.lee@acme.example';
    await team.app.db.write((tx) => insertIdentity(tx, { ...identity, name }));
    await team.ask('one', id);
    await refuses(() => team.approve('other', id), [409, 'own_text']);
  });

  test('is approved by nobody with a new account in place of the one that wrote it', async () => {
    await team.add('other', { email: 'annlee@acme.example' });
    await editPost(team.as('other'), id, { markdown: 'By another' });
    await team.ask('ann', id);
    await deleteAccount(team.app.deps, 'annlee@acme.example');
    await team.add('again', { email: 'ann.lee@acme.example' });
    await refuses(() => team.approve('again', id), [409, 'own_text']);
  });

  test('is not approved as another text than the person saw', async () => {
    await team.ask('ann', id);
    const hash = await team.hashOf(id);
    await editPost(team.as('ann'), id, { title: 'Sneaked in' });
    const approve = () => approvePost(team.as('bob'), id, { hash });
    await refuses(approve, [409, 'approval_outdated']);
    await team.ask('ann', id);
    await refuses(approve, [409, 'approval_outdated']);
    for (const name of ['wim', 'bob', 'oda']) {
      await refuses(() => withdrawApproval(team.as(name), id), [403, 'not_your_request']);
    }
    await withdrawApproval(team.as('ann'), id);
    await refuses(approve, [409, 'not_waiting']);
    await refuses(() => approvePost(team.as('bob'), 'gone', { hash }), [404, 'post_not_found']);
  });

  test('counts an approval only while its author may approve', async () => {
    await team.ask('ann', id);
    await team.approve('bob', id);
    for (const role of ['writer', null] as const) {
      await team.setRole('bob', role);
      await refuses(() => publish('ann'), NEEDED);
    }
    await team.setRole('bob', 'owner');
    await publish('ann');
  });

  test('is declined with a reason, also after its approval, and asked for again', async () => {
    await team.ask('ann', id);
    const decline = async (name: string, note: string) =>
      declineApproval(team.as(name), id, { hash: await team.hashOf(id), note });
    await refuses(async () => decline('bob', ' '), [400, 'invalid_field']);
    await refuses(async () => decline('wim', 'No'), [403]);
    await team.approve('bob', id);
    await decline('oda', 'Too long');
    expect((await summaries()).at(-1)).toBe('oda@acme.example declined the post “A draft”: Too long');
    expect(await approval()).toMatchObject({ state: 'declined', note: 'Too long', decidedById: 'usr_oda' });
    await refuses(() => publish('ann'), NEEDED);
    await team.ask('ann', id);
    expect(await approval()).toMatchObject({ state: 'waiting', note: null });
  });

  test('is asked for only where publishing needs it, and once', async () => {
    await team.ask('ann', id);
    await team.ask('bob', id);
    expect(await approval()).toMatchObject({ askedById: 'usr_ann' });
    await team.approve('bob', id, true);
    await refuses(() => team.ask('ann', id), [409, 'post_is_published']);
    await changeOrganization(team.app.deps, 'org_a', { needsApproval: false });
    id = (await createPost(team.as('ann'), 'org_a', TEXT)).id;
    await refuses(() => team.ask('ann', id), [409, 'approval_off']);
    await publish('ann');
  });

  test('may be unpublished, deleted and brought back as it was approved, but not otherwise', async () => {
    id = await public_();
    await editPost(team.as('bob'), id, { status: 'draft' });
    await publish('ann');
    await deletePost(team.as('bob'), id);
    await restorePost(team.as('bob'), id);
    expect((await stored())?.status).toBe('published');
    // It became public before the switch was on.
    await team.app.addPosts('org_a', { id: 'old', status: 'published' });
    await deletePost(team.as('bob'), 'old');
    await restorePost(team.as('bob'), 'old');
    expect((await stored('old'))?.status).toBe('draft');
    await erasePost(team.as('bob'), id);
    expect(await approval()).toBeNull();
  });

  test('is not created as published or scheduled', async () => {
    const create = (more: object) => () => createPost(team.as('ann'), 'org_a', TEXT, more);
    await refuses(create({ isPublished: true }), NEEDED);
    await refuses(create({ schedule: { publishAt: '2026-12-24T09:00', timeZone: 'UTC' } }), NEEDED);
    const copy = await duplicatePost(team.as('bob'), await public_());
    await refuses(() => publish('ann', copy.id), NEEDED);
  });

  test('is left out by an action on several posts', async () => {
    await team.ask('ann', id);
    await team.approve('bob', id);
    const other = await createPost(team.as('ann'), 'org_a', TEXT);
    const result = await changePosts(team.as('ann'), 'org_a', [id, other.id], 'publish');
    expect(result).toMatchObject({ changed: [id], unapproved: 1 });
    expect((await stored(other.id))?.status).toBe('draft');
  });
});

describe('a schedule', () => {
  const AT = { publishAt: '2026-11-24T09:00', timeZone: 'UTC' };
  const schedule = (name: string) => schedulePost(team.as(name), id, AT);
  const publishDue = async () => {
    team.app.clock.set('2026-11-24T09:00:00.000Z');
    return publishDuePosts(team.app.deps, { runningSince: team.app.clock.now() });
  };

  test('needs the approval, and is published with the date that it gets', async () => {
    await refuses(() => schedule('ann'), NEEDED);
    await team.ask('ann', id);
    await team.approve('bob', id);
    await schedule('ann');
    expect(await publishDue()).toBe(1);
    expect(await stored()).toMatchObject({ status: 'published', createdAt: '2026-11-24T09:00:00.000Z' });
    expect(
      await team.app.db.read(async (tx) => isApproved(tx, (await readPost(tx, id)) ?? ({} as never))),
    ).toBe(true);
  });

  test.each([
    ['its text changed', () => editPost(team.as('ann'), id, { markdown: 'Changed' })],
    ['its approver is no publisher any more', () => team.setRole('bob', 'writer')],
  ])('ends without a publication when %s, and Tidings asks for the approval', async (_, change) => {
    await team.ask('ann', id);
    await team.approve('bob', id);
    await schedule('ann');
    await change();
    expect(await publishDue()).toBe(0);
    expect((await stored())?.status).toBe('draft');
    expect(await team.app.db.read((tx) => findSchedule(tx, id))).toBeNull();
    expect(await approval()).toMatchObject({ state: 'waiting', askedById: null, askedBy: 'Tidings' });
    expect((await summaries()).slice(-2)).toEqual([
      'ann@acme.example did not publish the post “A draft” at its time, because nobody has approved its text',
      'server asked to approve the post “A draft”',
    ]);
    // It takes two people: one asks, another approves.
    await refuses(() => team.approve('bob', id), expect.arrayContaining([expect.anything()]) as never);
    await team.setRole('bob', 'member');
    await refuses(() => team.approve('oda', id), [409, 'not_asked']);
    await team.ask('bob', id);
    await team.approve('oda', id, true);
  });

  test('is published when the change was approved in time, and keeps the request of a person', async () => {
    await team.ask('ann', id);
    await team.approve('bob', id);
    await schedule('ann');
    later(1);
    await editPost(team.as('ann'), id, { markdown: 'Changed' });
    await team.ask('ann', id);
    expect(await publishDue()).toBe(0);
    expect(await approval()).toMatchObject({ state: 'waiting', askedById: 'usr_ann' });
  });
});

describe('a change of a published post', () => {
  beforeEach(async () => {
    id = await public_();
  });
  const edit = (name: string, markdown: string) => editPost(team.as(name), id, { markdown });

  test('waits beside it until another person approves it, who becomes no author of it', async () => {
    await edit('ann', 'Newer');
    expect((await stored())?.markdown).toBe('Text');
    expect(await approval()).toMatchObject({
      state: 'waiting',
      change: { markdown: 'Newer', content: 'Newer' },
    });
    await refuses(() => team.approve('ann', id), [409, 'own_text']);
    await refuses(() => edit('bob', 'Mine'), [409, 'change_waiting']);
    // Its author may write it again.
    await edit('ann', 'Newest');
    await team.approve('bob', id);
    expect(await stored()).toMatchObject({ markdown: 'Newest', content: 'Newest', status: 'published' });
    const [version] = await team.app.db.read((tx) => listVersions(tx, id));
    expect(version).toMatchObject({ actorId: 'usr_ann', actorName: 'ann@acme.example' });
    expect(await approval()).toMatchObject({ state: 'approved', change: null, versionId: version?.id });
  });

  test('waits as well when a version is restored or a suggestion is accepted', async () => {
    await edit('ann', 'Newer');
    await team.approve('bob', id);
    const versions = await team.app.db.read((tx) => listVersions(tx, id));
    const { post, previousId } = await restoreVersion(team.as('ann'), id, versions.at(-1)?.id ?? '');
    expect([post.markdown, previousId]).toEqual(['Newer', null]);
    expect(await approval()).toMatchObject({ state: 'waiting', change: { markdown: 'Text' } });
    await withdrawApproval(team.as('ann'), id);
    const key = { keyId: 'key_1', name: 'Agent' };
    await suggestChange(team.app.deps, 'org_a', key, { id, markdown: 'By an agent' });
    const [[suggestion] = []] = await valuesOf(team.app.db, 'select id from post_suggestions');
    await acceptChange(team.as('bob'), String(suggestion));
    expect((await stored())?.markdown).toBe('Newer');
    expect(await approval()).toMatchObject({ askedById: 'usr_bob', change: { markdown: 'By an agent' } });
    await refuses(() => team.approve('bob', id), [409, 'own_text']);
    await team.approve('ann', id);
    expect((await stored())?.markdown).toBe('By an agent');
  });

  test('is refused for the date, and where no person makes it', async () => {
    await refuses(() => datePost(team.as('ann'), id, new Date('2026-01-01')), [409, 'post_is_published']);
    await refuses(() => editPost(team.app.deps, id, { title: 'Other' }), NEEDED);
  });

  test('becomes the text of the draft when the post was unpublished meanwhile', async () => {
    await edit('ann', 'Newer');
    await editPost(team.as('bob'), id, { status: 'draft' });
    await team.approve('oda', id);
    expect(await stored()).toMatchObject({ markdown: 'Newer', status: 'draft' });
    await publish('bob');
  });

  test('is lost to nobody who approves while its author saves', async () => {
    await edit('ann', 'Seen');
    const hash = await team.hashOf(id);
    const [, approved] = await Promise.allSettled([
      edit('ann', 'Unseen'),
      approvePost(team.as('bob'), id, { hash }),
    ]);
    const { markdown = '' } = (await stored()) ?? {};
    expect(markdown).toBe(approved.status === 'fulfilled' ? 'Seen' : 'Text');
  });
});

describe('an import', () => {
  const records = (status: string) =>
    JSON.stringify([
      { id: 'one', title: 'One', markdown: 'One', status },
      { id: 'two', title: 'Two', markdown: 'Two', status: 'draft' },
    ]);
  const importAll = (text: string, deps = team.as('ann')) =>
    importFile(
      deps,
      { name: 'a.json', text },
      { organizationId: 'org_a', status: 'published', contentType: 'changelog' },
    );

  test('makes drafts of what would be public, and leaves public posts as they are', async () => {
    const result = await importAll(records('published'));
    expect(result).toMatchObject({ created: 2, unapproved: 1 });
    expect((await stored('one'))?.status).toBe('draft');
    await refuses(() => publish('bob', 'one'), NEEDED);
    await team.ask('bob', 'one');
    // Ann imported it.
    await refuses(() => team.approve('ann', 'one'), [409, 'own_text']);
    await team.approve('oda', 'one', true);
    const before = await stored('one');
    const changed = records('published').replace('"markdown":"One"', '"markdown":"Changed"');
    expect(await importAll(changed)).toMatchObject({ updated: 0, unapproved: 1 });
    expect(await stored('one')).toEqual(before);
  });

  test('publishes what is approved as it is', async () => {
    await importAll(records('draft'));
    await team.ask('bob', 'one');
    await team.approve('oda', 'one');
    const result = await importAll(records('published'));
    expect(result.unapproved).toBeUndefined();
    expect((await stored('one'))?.status).toBe('published');
  });

  test('of an operator may skip the approval, which the audit log shows', async () => {
    const deps = { ...team.app.deps, skipsApproval: true };
    expect((await importAll(records('published'), deps)).unapproved).toBeUndefined();
    expect((await stored('one'))?.status).toBe('published');
    expect((await summaries()).at(-1)).toBe(
      'server imported 2 posts (1 published, 1 without approval) from “a.json”',
    );
  });
});

test('an operator may skip the approval of exactly this text, also for a schedule', async () => {
  const operator = {
    ...team.app.deps,
    skipsApproval: true,
    actor: { type: 'command_line', id: null, name: 'root', address: null },
  } as const;
  await schedulePost(operator, id, { publishAt: '2026-11-24T09:00', timeZone: 'UTC' });
  expect(await summaries()).toEqual([
    'root skipped the approval of the post “A draft”',
    'root scheduled the post “A draft” for Nov 24, 2026, 09:00 UTC',
  ]);
  expect(await approval()).toMatchObject({ state: 'approved', decidedById: null });
  await editPost(operator, id, { title: 'Changed' });
  team.app.clock.set('2026-11-24T09:00:00.000Z');
  expect(await publishDuePosts(team.app.deps, { runningSince: team.app.clock.now() })).toBe(0);
  await editPost(operator, id, { status: 'published' });
  await editPost(operator, id, { title: 'Changed again' });
  expect(await stored()).toMatchObject({ status: 'published', title: 'Changed again' });
  expect((await summaries()).at(-1)).toBe('root skipped the approval of the post “Changed”');
});

describe('a writer', () => {
  test.each([true, false])(
    'writes drafts and nothing else, where approval is needed: %p',
    async (needsApproval) => {
      await changeOrganization(team.app.deps, 'org_a', { needsApproval });
      await team.app.addPosts('org_a', { id: 'pub', status: 'published', markdown: 'Text' });
      const wim = team.as('wim');
      const own = await createPost(wim, 'org_a', TEXT);
      await editPost(wim, own.id, { title: 'Edited' });
      await datePost(wim, own.id, new Date('2026-01-01'));
      await refuses(() => publish('wim', own.id), [403]);
      await refuses(() => createPost(wim, 'org_a', TEXT, { isPublished: true }), [403]);
      await refuses(
        () => schedulePost(wim, own.id, { publishAt: '2026-12-24T09:00', timeZone: 'UTC' }),
        [403],
      );
      await refuses(() => editPost(wim, 'pub', { status: 'draft' }), [403]);
      await refuses(() => deletePost(wim, 'pub'), [403]);
      await refuses(() => changePosts(wim, 'org_a', ['pub'], 'unpublish'), [403]);
      if (!needsApproval) {
        await refuses(() => editPost(wim, 'pub', { title: 'Edited' }), [403]);
        await refuses(() => datePost(wim, 'pub', new Date('2026-01-01')), [403]);
        await schedulePost(team.as('ann'), own.id, { publishAt: '2026-12-24T09:00', timeZone: 'UTC' });
        await refuses(() => editPost(wim, own.id, { title: 'Sneaked in' }), [403]);
        await refuses(() => cancelSchedule(wim, own.id), [403]);
        await refuses(() => deletePost(wim, own.id), [403]);
      } else {
        await editPost(wim, 'pub', { title: 'Edited' });
        expect((await stored('pub'))?.title).not.toBe('Edited');
        await team.approve('ann', 'pub');
        expect((await stored('pub'))?.title).toBe('Edited');
      }
      await deletePost(team.as('ann'), 'pub');
      await restorePost(wim, 'pub');
      expect((await stored('pub'))?.status).toBe('draft');
    },
  );

  test('who becomes a publisher may approve from then on', async () => {
    await team.ask('ann', id);
    await refuses(() => team.approve('wim', id), [403]);
    await setRole(team.as('oda'), 'usr_wim', 'org_a', 'member');
    await team.approve('wim', id, true);
  });
});

test('the newest version of each person stays among many, so that they still cannot approve', async () => {
  await editPost(team.as('bob'), id, { markdown: 'By Bob' });
  for (let number = 0; number < 105; number++) {
    later(1);
    await editPost(team.as('ann'), id, { markdown: `${number}` });
  }
  await team.ask('ann', id);
  await refuses(() => team.approve('bob', id), [409, 'own_text']);
});
