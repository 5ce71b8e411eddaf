import { beforeEach, describe, expect, test } from 'bun:test';
import { deleteAccount, disableAccount } from '../../src/people/accounts.ts';
import { removeMember, setRole } from '../../src/people/members.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { approvalOf } from '../../src/posts/approval-requests.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { addImage, describeImage } from '../../src/posts/media/service.ts';
import { cancelSchedule, publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import { datePost, deletePost, editPost, restoreVersion } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { acceptChange, suggestChange } from '../../src/posts/suggestions.ts';
import { restorePost } from '../../src/posts/trash.ts';
import { listVersions } from '../../src/posts/versions.ts';
import { createTeam, type Team } from '../support/approval.ts';
import { valuesOf } from '../support/database.ts';
import { imageFixture, testMedia } from '../support/media.ts';

// What ends an approval, and what leaves it: every way to change a post, or what is around it, between the approval and the
// publication.

let team: Team;
const id = 'draft';
const AT = { publishAt: '2026-11-24T09:00', timeZone: 'UTC' };
const NEEDED = { status: 409, code: 'approval_needed' };
const root = { type: 'command_line', id: null, name: 'root', address: null } as const;

beforeEach(async () => {
  team = await createTeam();
  // Its date is fixed, unlike that of a draft which is dated when it is published.
  await team.app.addPosts('org_a', {
    id,
    status: 'draft',
    title: 'A draft',
    markdown: 'Text',
    content: 'Text',
  });
  await team.ask('ann', id);
  await team.approve('bob', id);
  team.app.clock.advance(60_000);
});

const stateOf = () =>
  team.app.db.read(async (tx) => {
    const post = await readPost(tx, id);
    return post === null ? null : (await approvalOf(tx, post)).state;
  });
const statusOf = async () => (await team.app.db.read((tx) => readPost(tx, id)))?.status;
const edit = (name: string, change: Parameters<typeof editPost>[2]) => editPost(team.as(name), id, change);
const publish = (name = 'ann') => edit(name, { status: 'published' });
const publishDue = async () => {
  team.app.clock.set('2026-11-24T09:00:00.000Z');
  return publishDuePosts(team.app.deps, { runningSince: team.app.clock.now() });
};
function importOver(record: object, deps = team.as('oda')) {
  const text = JSON.stringify([{ id, title: 'A draft', markdown: 'Text', ...record }]);
  const options = { organizationId: 'org_a', status: 'draft', contentType: 'changelog' } as const;
  return importFile(deps, { name: 'a.json', text }, options);
}
async function suggest(markdown: string) {
  await suggestChange(team.app.deps, 'org_a', { keyId: 'key_1', name: 'Agent' }, { id, markdown });
  const [[suggestion] = []] = await valuesOf(team.app.db, 'select id from post_suggestions');
  return String(suggestion);
}

type Act = () => Promise<unknown>;

describe.each<[string, Act]>([
  ['its asker changes the title', () => edit('ann', { title: 'Other' })],
  ['its approver changes the text', () => edit('bob', { markdown: 'Other' })],
  ['an owner adds a space', () => edit('oda', { markdown: 'Text ' })],
  ['a writer changes the type', () => edit('wim', { contentType: 'linkedin_post' })],
  ['a tab of another person saves by itself', () => edit('oda', { markdown: 'Typed', isAutosave: true })],
  [
    'somebody changes it and changes it back',
    async () => {
      await edit('wim', { title: 'Other' });
      await edit('wim', { title: 'A draft' });
    },
  ],
  [
    'somebody restores an older version',
    async () => {
      await edit('ann', { title: 'Other' });
      const [, before] = await team.app.db.read((tx) => listVersions(tx, id));
      await restoreVersion(team.as('oda'), id, before?.id ?? '');
    },
  ],
  ['somebody sets its date', () => datePost(team.as('bob'), id, new Date('2026-01-01'))],
  ['somebody takes its date away', () => datePost(team.as('oda'), id, null)],
  ['somebody accepts a suggestion', async () => acceptChange(team.as('ann'), await suggest('By an agent'))],
  ['an import changes the text', () => importOver({ markdown: 'Imported' })],
  ['an import changes the author', () => importOver({ sourceMetadata: { author: 'eve' } })],
  ['an import changes the date', () => importOver({ createdAt: '2026-01-01' })],
  [
    'imports change the author and change it back',
    async () => {
      await importOver({ sourceMetadata: { author: 'eve' } });
      await importOver({ sourceMetadata: null });
    },
  ],
  [
    'the command line edits it',
    () => editPost({ ...team.app.deps, actor: root }, id, { markdown: 'By an operator' }),
  ],
  [
    'an import changes it while it is in the trash',
    async () => {
      await deletePost(team.as('bob'), id);
      await importOver({ title: 'Imported' });
    },
  ],
  [
    'somebody changes it while the rule is off',
    async () => {
      await changeOrganization(team.as('oda'), 'org_a', { needsApproval: false });
      await edit('ann', { title: 'Other' });
      await changeOrganization(team.as('oda'), 'org_a', { needsApproval: true });
    },
  ],
  ['its approver becomes a writer', () => setRole(team.as('oda'), 'usr_bob', 'org_a', 'writer')],
  ['its approver leaves', () => removeMember(team.as('bob'), 'usr_bob', 'org_a')],
  ['the account of its approver is disabled', () => disableAccount(team.app.deps, 'bob@acme.example')],
  [
    'the account of its approver is deleted and made again',
    async () => {
      await deleteAccount(team.app.deps, 'bob@acme.example');
      await team.add('bob2', { email: 'bob@acme.example' });
    },
  ],
])('an approval ends when %s', (_, change) => {
  test('before the publication', async () => {
    await change();
    await expect(publish()).rejects.toMatchObject(NEEDED);
    await expect(schedulePost(team.as('oda'), id, AT)).rejects.toMatchObject(NEEDED);
    await expect(importOver({ status: 'published' })).resolves.toMatchObject({ unapproved: 1 });
    expect([await stateOf(), await statusOf()]).toEqual(['needed', 'draft']);
  });

  test('before the minute of its schedule', async () => {
    await schedulePost(team.as('ann'), id, AT);
    await change();
    expect(await publishDue()).toBe(0);
    expect(await statusOf()).toBe('draft');
  });
});

test.each<[string, Act]>([
  ['a suggestion of an agent waits', () => suggest('By an agent')],
  [
    'the same text is saved and imported again',
    async () => {
      await edit('oda', { title: 'A draft', markdown: 'Text' });
      await importOver({});
    },
  ],
  [
    'it was in the trash',
    async () => {
      await deletePost(team.as('bob'), id);
      await restorePost(team.as('wim'), id);
    },
  ],
  ['the organization is renamed', () => changeOrganization(team.as('oda'), 'org_a', { name: 'Other' })],
  [
    'the rule was off',
    async () => {
      await changeOrganization(team.as('oda'), 'org_a', { needsApproval: false });
      await changeOrganization(team.as('oda'), 'org_a', { needsApproval: true });
    },
  ],
  [
    'its schedule and time zone change',
    async () => {
      await schedulePost(team.as('ann'), id, AT);
      await schedulePost(team.as('oda'), id, { publishAt: '2026-12-24T09:00', timeZone: 'Asia/Tokyo' });
      await cancelSchedule(team.as('bob'), id);
    },
  ],
  ['who asked leaves', () => removeMember(team.as('ann'), 'usr_ann', 'org_a')],
  ['its approver becomes an owner', () => setRole(team.as('oda'), 'usr_bob', 'org_a', 'owner')],
  [
    'an image gets another description',
    async () => {
      using media = testMedia();
      const deps = { ...team.as('wim'), media: media.place };
      const bytes = imageFixture('photo.png');
      const image = await addImage(deps, { organizationId: 'org_a', name: 'a.png', bytes });
      await describeImage(deps, { organizationId: 'org_a', id: image.id, alt: 'Other' });
    },
  ],
])('an approval stays when %s', async (_, act) => {
  await act();
  await publish('oda');
  expect(await statusOf()).toBe('published');
});

describe('the rule', () => {
  const turn = (needsApproval: boolean) => changeOrganization(team.as('oda'), 'org_a', { needsApproval });

  test('holds for what was scheduled before it was on', async () => {
    await turn(false);
    await edit('ann', { title: 'Other' });
    await schedulePost(team.as('ann'), id, AT);
    await turn(true);
    expect(await publishDue()).toBe(0);
    expect([await statusOf(), await stateOf()]).toEqual(['draft', 'waiting']);
    await turn(false);
    await publish();
    expect(await statusOf()).toBe('published');
  });

  test('keeps a change that waits when it goes off, until its author saves it', async () => {
    await publish();
    await edit('ann', { markdown: 'Newer' });
    await turn(false);
    expect(await stateOf()).toBe('waiting');
    await edit('ann', { markdown: 'Newer' });
    expect((await team.app.db.read((tx) => readPost(tx, id)))?.markdown).toBe('Newer');
    await turn(true);
    // The change of Ann is out of date, and blocks nobody.
    await edit('bob', { markdown: 'Newest' });
    expect(await stateOf()).toBe('waiting');
  });
});
