import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type ContentType,
  contentTypes,
  type PageSelection,
  type PostStatus,
  postStatuses,
} from '../../src/posts/model.ts';
import { listPostPage } from '../../src/posts/store.ts';
import { createSharedDatabase, execute } from '../support/database.ts';
import { rounds } from '../support/rounds.ts';

// Pages anywhere in a long list.

interface Model {
  id: string;
  status: PostStatus;
  contentType: ContentType;
  createdAt: string;
}

const POSTS = 6_000;

/** A rare group, posts of one instant, and dates in no order of ids. */
function modelPost(number: number): Model {
  const minute = number % 10 < 3 ? 777 : (number * 7_919) % POSTS;
  return {
    id: `post_${number.toString(36)}`,
    status: number % 21 === 1 ? 'draft' : 'published',
    contentType: number % 5 === 4 ? 'linkedin_post' : 'changelog',
    createdAt: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  };
}

const subset = <Value>(values: readonly Value[]) =>
  fc.subarray([...values], { minLength: 1 }) as fc.Arbitrary<Value[]>;

const selection: fc.Arbitrary<PageSelection> = fc
  .record({
    statuses: subset(postStatuses),
    contentTypes: subset(contentTypes),
    limit: fc.constantFrom(1, 7, 10, 100),
    // In thousandths: doubles would nearly all be close to 0.
    place: fc.nat(1_010),
    sort: fc.constantFrom('asc' as const, 'desc' as const),
  })
  .map(({ place, ...rest }) => ({ ...rest, page: 1 + Math.floor((place * POSTS) / 1_000 / rest.limit) }));

function expectedPage(posts: readonly Model[], selected: PageSelection): string[] {
  const { statuses, contentTypes: types, limit, page, sort } = selected;
  const key = ({ createdAt, id }: Model) => createdAt + id;
  const list = posts
    .filter(({ status, contentType }) => statuses.includes(status) && types.includes(contentType))
    .toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  if (sort === 'desc') list.reverse();
  return list.slice((page - 1) * limit, page * limit).map(({ id }) => id);
}

test('every page of a long list agrees with a sorted array, whichever process wrote it', async () => {
  const shared = createSharedDatabase();
  const [db, other] = [shared.open(), shared.open()];
  let posts = Array.from({ length: POSTS }, (_, number) => modelPost(number));
  await execute(
    db,
    "insert into organizations (id, name, plan, created_at) values ('org_a', '', 'free', '')",
  );
  const rows = posts.map(
    ({ id, status, contentType, createdAt }) =>
      `('${id}', 'org_a', '${status}', '${contentType}', '${createdAt}', '${createdAt}', '', '', '')`,
  );
  await execute(
    other,
    `insert into posts (id, organization_id, status, content_type, created_at, updated_at, title, content, markdown)
     values ${rows.join()}`,
  );

  const expectPages = () =>
    fc.assert(
      fc.asyncProperty(selection, async (selected) => {
        const page = await db.read((tx) => listPostPage(tx, 'org_a', selected));
        expect(page.posts.map((json) => json.id)).toEqual(expectedPage(posts, selected));
      }),
      { numRuns: rounds(60, 2_000) },
    );
  await expectPages();

  await execute(other, "update posts set status = 'draft' where id like '%7'");
  posts = posts.map((post) => (post.id.endsWith('7') ? { ...post, status: 'draft' } : post));
  await expectPages();

  const instant = '2026-01-03T00:00:00.000Z';
  await execute(db, `update posts set created_at = '${instant}' where id like '%3'`);
  posts = posts.map((post) => (post.id.endsWith('3') ? { ...post, createdAt: instant } : post));
  await expectPages();

  const [from, to] = ['2026-01-02T00:00:00.000Z', '2026-01-02T20:00:00.000Z'];
  await execute(other, `delete from posts where created_at between '${from}' and '${to}'`);
  posts = posts.filter(({ createdAt }) => createdAt < from || createdAt > to);
  await expectPages();
}, 300_000);
