import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { mailboxOf, type Role } from '../../src/people/permission.ts';
import { approvePost, askApproval, withdrawApproval } from '../../src/posts/approval-requests.ts';
import { findApproval, hashOfSeen } from '../../src/posts/approval-rule.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import {
  changePosts,
  datePost,
  deletePost,
  duplicatePost,
  editPost,
  restoreVersion,
} from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { restorePost } from '../../src/posts/trash.ts';
import { listVersions } from '../../src/posts/versions.ts';
import { createTeam } from '../support/approval.ts';
import { rounds } from '../support/rounds.ts';

// Whatever several people do, in whatever order: no text is public that two different people did not stand behind, one by
// asking for its approval and another one, who may publish and changed none of it since readers last saw it, by approving it.

const PEOPLE = ['ann', 'a.nn', 'bob', 'cat', 'wim'];
const POSTS = ['one', 'two'];
const TEXTS = ['A', 'B', 'C'];
const ROLES: (Role | null)[] = ['writer', 'member', 'owner', null];

const step = fc.record({
  who: fc.constantFrom(...PEOPLE),
  post: fc.constantFrom(...POSTS),
  act: fc.constantFrom(
    ...[
      'edit',
      'edit',
      'ask',
      'approve',
      'approve',
      'publish',
      'publish',
      'unpublish',
      'both',
      'both',
      'both',
    ],
    ...['schedule', 'due', 'role', 'trash', 'import', 'restore', 'date', 'withdraw', 'bulk', 'duplicate'],
  ),
  text: fc.constantFrom(...TEXTS),
  number: fc.nat(3),
});

test('random histories of edits, approvals, publications and roles', async () => {
  let published = 0;
  const histories = () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const team = await createTeam({
          ann: 'member',
          'a.nn': 'member',
          bob: 'member',
          cat: 'owner',
          wim: 'writer',
        });
        const { app } = team;
        const ids = [...POSTS];
        await app.addPosts(
          'org_a',
          ...POSTS.map((id) => ({ id, status: 'draft' as const, title: 'A', markdown: 'A' })),
        );
        const roles = new Map<string, Role | null>([
          ...(['ann', 'a.nn', 'bob'] as const).map((name) => [name, 'member'] as const),
          ['cat', 'owner'],
          ['wim', 'writer'],
        ]);
        /** By post and text without a date of publication: the two who stood behind it. */
        const behind = new Map<string, [asker: string, approver: string]>();
        /** By post: the mailboxes of those who changed it since it was last public. */
        const authors = new Map<string, Set<string | null>>();
        const mailboxOfPerson = (name: string) => mailboxOf(`${name}@acme.example`);
        const authorsOf = (id: string) => authors.get(id) ?? new Set();
        const readAll = () =>
          app.db.read((tx) => Promise.all(ids.map(async (id) => [id, await readPost(tx, id)] as const)));
        /** Keeps who changed which post. */
        async function watching(who: string, work: () => Promise<unknown>): Promise<void> {
          const before = new Map(await readAll());
          await work().finally(async () => {
            for (const [id, post] of await readAll()) {
              const old = before.get(id);
              if (post == null) continue;
              if (post.status === 'published') authors.delete(id);
              else if (
                old == null ||
                hashOfSeen({ ...old, isDateSet: false }) !== hashOfSeen({ ...post, isDateSet: false })
              ) {
                authors.set(id, new Set([...authorsOf(id), mailboxOfPerson(who)]));
              }
            }
          });
        }
        const textOf = ({ title, markdown }: { title: string; markdown: string }) => `${title}\n${markdown}`;
        const runningSince = app.clock.now();

        const run = async ({ who, post, act, text, number }: (typeof steps)[number]): Promise<void> => {
          const id = ids[number % ids.length] ?? post;
          const as = team.as(who);
          if (act === 'both') {
            // Often enough, one asks and another one approves at once.
            await run({ who, post, act: 'ask', text, number });
            await run({
              who: PEOPLE[(number + 1) % PEOPLE.length] ?? who,
              post,
              act: 'approve',
              text,
              number,
            });
          }
          app.clock.advance(1000);
          if (act === 'edit') await editPost(as, id, { [number % 2 === 0 ? 'title' : 'markdown']: text });
          else if (act === 'ask') await askApproval(as, id);
          else if (act === 'approve') {
            const found = await app.db.read((tx) => findApproval(tx, id));
            const { askedBy: asker = '', hash = '' } = found ?? {};
            const before = await app.db.read((tx) => readPost(tx, id));
            const approved = await approvePost(as, id, { hash, publish: number === 0 });
            // The oracle: different people, and the approver may approve.
            expect(mailboxOf(asker)).not.toBe(mailboxOf(`${who}@acme.example`));
            expect(['member', 'owner']).toContain(roles.get(who) ?? 'none');
            if (!found?.change) expect([...authorsOf(id)]).not.toContain(mailboxOfPerson(who));
            // It is what was asked for, and nothing that came since.
            if (before !== null) expect(textOf(approved)).toBe(textOf({ ...before, ...found?.change }));
            behind.set(`${id} ${textOf(approved)}`, [asker, who]);
          } else if (act === 'publish') await editPost(as, id, { status: 'published' });
          else if (act === 'unpublish') await editPost(as, id, { status: 'draft' });
          else if (act === 'bulk') await changePosts(as, 'org_a', ids, 'publish');
          else if (act === 'withdraw') await withdrawApproval(as, id);
          else if (act === 'date') await datePost(as, id, new Date(Date.UTC(2026, number)));
          else if (act === 'duplicate' && ids.length < 4) {
            const { id: copy } = await duplicatePost(as, id);
            ids.push(copy);
            authors.set(copy, new Set(authorsOf(id)));
          } else if (act === 'schedule') {
            const publishAt = new Date(app.clock.now().getTime() + 60_000).toISOString();
            await schedulePost(as, id, { publishAt, timeZone: 'UTC' });
          } else if (act === 'due') {
            app.clock.advance(61_000);
            await publishDuePosts(app.deps, { runningSince });
          } else if (act === 'role') {
            const role = ROLES[number] ?? null;
            await team.setRole(who, role);
            roles.set(who, role);
          } else if (act === 'trash') {
            await deletePost(as, id);
            await restorePost(as, id);
          } else if (act === 'restore') {
            const versions = await app.db.read((tx) => listVersions(tx, id));
            await restoreVersion(as, id, versions[number]?.id ?? '');
          } else if (act === 'import') {
            const record = { id, title: text, markdown: text, status: 'published' };
            const options = {
              organizationId: 'org_a',
              status: 'published',
              contentType: 'changelog',
            } as const;
            await importFile(as, { name: 'a.json', text: JSON.stringify([record]) }, options);
          }
        };

        for (const each of steps) {
          await watching(each.who, () => run(each)).catch((error) => {
            // A refusal, and no failure.
            if (!(error.status >= 400 && error.status < 500)) throw error;
          });
          for (const id of ids) {
            const post = await app.db.read((tx) => readPost(tx, id));
            if (post?.status !== 'published') continue;
            published++;
            const people = behind.get(`${id} ${textOf(post)}`);
            expect([id, hashOfSeen(post), people]).toEqual([
              id,
              hashOfSeen(post),
              [expect.any(String), expect.any(String)],
            ]);
          }
        }
        await app.db.close();
      }),
      { numRuns: rounds(40, 2_000) },
    );
  for (let left = 5; left > 0 && published <= 20; left--) await histories();
  // The histories come that far.
  expect(published).toBeGreaterThan(20);
}, 300_000);
