import { expect, test } from 'bun:test';
import { disableAccount } from '../../src/people/accounts.ts';
import { removeMember, setRole } from '../../src/people/members.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { approvePost, declineApproval } from '../../src/posts/approval-requests.ts';
import type { Post } from '../../src/posts/model.ts';
import { publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import { createPost, editPost } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { createTeam, type Team } from '../support/approval.ts';
import { valuesOf } from '../support/database.ts';
import { rounds } from '../support/rounds.ts';

// Two things at the same time. The transaction that writes decides, so one of them is first, and the log has them in this order.

interface Race {
  team: Team;
  id: string;
  publish(): Promise<Post>;
}

/** Runs both at once, several times. Returns the actions of each round, in the order of the log. */
async function race(
  one: (given: Race) => Promise<unknown>,
  other: (given: Race) => Promise<unknown>,
  prepare: (given: Race) => Promise<unknown> = async () => undefined,
): Promise<string[][]> {
  const logs: string[][] = [];
  for (let round = 0; round < rounds(6, 60); round++) {
    const team = await createTeam();
    const text = { title: 'A draft', markdown: 'Text', contentType: 'changelog' } as const;
    const { id } = await createPost(team.as('ann'), 'org_a', text);
    await team.ask('ann', id);
    await team.approve('bob', id);
    const given = { team, id, publish: () => editPost(team.as('ann'), id, { status: 'published' }) };
    await prepare(given);
    const before = (await valuesOf(team.app.db, 'select id from audit_events')).length;
    const both = round % 2 === 0 ? [one, other] : [other, one];
    for (const result of await Promise.allSettled(both.map((work) => work(given)))) {
      // Nothing but a refusal.
      if (result.status === 'rejected') expect([403, 409]).toContain(result.reason.status);
    }
    const log = (await valuesOf<[string]>(team.app.db, 'select action from audit_events order by id')).flat();
    logs.push(log.slice(before));
    const isPublished = (await team.app.db.read((tx) => readPost(tx, id)))?.status === 'published';
    expect([isPublished, log.filter((action) => action === 'post.published').length]).toEqual([
      isPublished,
      isPublished ? 1 : 0,
    ]);
    await team.app.db.close();
  }
  return logs;
}

/** A publication is in the log only before what forbids it. */
function expectFirst(logs: readonly string[][], end: string): void {
  for (const log of logs) {
    expect(log).toContain(end);
    const isPublished = log.includes('post.published');
    expect([log, isPublished && log.indexOf('post.published') > log.indexOf(end)]).toEqual([log, false]);
  }
}

test.each<[string, string, (team: Team) => Promise<unknown>]>([
  ['the approver leaves', 'member.removed', (team) => removeMember(team.as('bob'), 'usr_bob', 'org_a')],
  [
    'the approver becomes a writer',
    'member.role_changed',
    (team) => setRole(team.as('oda'), 'usr_bob', 'org_a', 'writer'),
  ],
  [
    'the account of the approver is disabled',
    'user.disabled',
    (team) => disableAccount(team.app.deps, 'bob@acme.example'),
  ],
])('a post is published before %s, or not at all', async (_, end, act) => {
  expectFirst(
    await race(
      ({ publish }) => publish(),
      ({ team }) => act(team),
    ),
    end,
  );
});

test('a scheduled post is published before its approver leaves, or not at all', async () => {
  const logs = await race(
    ({ team }) => publishDuePosts(team.app.deps, { runningSince: team.app.clock.now() }),
    ({ team }) => removeMember(team.as('bob'), 'usr_bob', 'org_a'),
    async ({ team, id }) => {
      await schedulePost(team.as('ann'), id, { publishAt: '2026-11-24T09:00', timeZone: 'UTC' });
      team.app.clock.set('2026-11-24T09:00:00.000Z');
    },
  );
  expectFirst(logs, 'member.removed');
});

test('a post that nobody approved is published before the rule is on, or not at all', async () => {
  const logs = await race(
    ({ publish }) => publish(),
    ({ team }) => changeOrganization(team.as('oda'), 'org_a', { needsApproval: true }),
    async ({ team, id }) => {
      await changeOrganization(team.as('oda'), 'org_a', { needsApproval: false });
      await editPost(team.as('ann'), id, { title: 'Unapproved' });
    },
  );
  expectFirst(logs, 'organization.changed');
});

test('a post is published before somebody declines it, or not at all', async () => {
  await race(
    ({ publish }) => publish(),
    async ({ team, id }) => {
      const hash = await team.hashOf(id);
      await declineApproval(team.as('oda'), id, { hash, note: 'Too long' });
    },
  );
});

test('what is published while somebody saves is what was approved', async () => {
  for (const isApproved of [true, false]) {
    let hash = '';
    await race(
      async ({ team, id, publish }) => {
        const published = isApproved
          ? await publish()
          : await approvePost(team.as('bob'), id, { hash, publish: true });
        expect(published.title).toBe(isApproved ? 'A draft' : 'Asked');
      },
      ({ team, id }) => editPost(team.as('wim'), id, { title: 'Sneaked in' }),
      async ({ team, id }) => {
        if (isApproved) return;
        await editPost(team.as('ann'), id, { title: 'Asked' });
        await team.ask('ann', id);
        hash = await team.hashOf(id);
      },
    );
  }
});

test('one of two people publishes with their approval', async () => {
  const approve =
    (name: string) =>
    async ({ team, id }: Race) =>
      approvePost(team.as(name), id, { hash: await team.hashOf(id), publish: true });
  await race(approve('bob'), approve('oda'), async ({ team, id }) => {
    await editPost(team.as('ann'), id, { title: 'Asked' });
    await team.ask('ann', id);
  });
});
