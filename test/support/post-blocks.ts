import type { Database as Sqlite } from 'bun:sqlite';

/** The limits of the migration: posts of a block, and blocks or sums of a sum. */
const BLOCK_LIMITS = { posts: 128, blocks: 32 } as const;

interface Limits {
  posts: number;
  blocks: number;
}

const COUNTS = 'draft_changelog, draft_linkedin_post, published_changelog, published_linkedin_post';

/** Groups to count, in the order of the columns. */
const isIn = (status: string, type: string) =>
  `coalesce(sum(status = '${status}' and content_type = '${type}'), 0)`;
const counted = [
  isIn('draft', 'changelog'),
  isIn('draft', 'linkedin_post'),
  isIn('published', 'changelog'),
  isIn('published', 'linkedin_post'),
].join(', ');

/** Compares `post_blocks` with the posts. Returns a line for each disagreement, at best none. */
export function blockProblems(sqlite: Sqlite, limits: Limits = BLOCK_LIMITS): string[] {
  const problems: string[] = [];
  const say = (what: string, rows: unknown[][]) =>
    problems.push(...rows.map((row) => `${what}: ${JSON.stringify(row)}`));
  const all = (query: string) => sqlite.query(query).values();
  const ranges = `select *, coalesce(lead(start) over (partition by organization_id, level order by start), '~') as until
    from post_blocks`;
  const sum = COUNTS.replaceAll(', ', ' + ');

  say(
    'an organization without its first block',
    all(`select id, level.column1 from organizations, (values (1), (2), (3)) as level
      except select organization_id, level from post_blocks where start = ''`),
  );
  say(
    'a block whose counts are not those of its posts',
    all(`select organization_id, start, ${COUNTS} from (${ranges}) as block where level = 1
      and (${COUNTS}) is not (select ${counted} from posts where organization_id = block.organization_id
        and (created_at, id) >= (substr(start, 1, 24), substr(start, 25))
        and (created_at, id) < (substr(until, 1, 24), substr(until, 25)))`),
  );
  say(
    'a sum that is not that of its blocks',
    all(`select organization_id, level, start, ${COUNTS} from (${ranges}) as big where level > 1
      and (${COUNTS}) is not (select ${COUNTS.replaceAll(/\w+/g, 'coalesce(sum($&), 0)')}
        from post_blocks where organization_id = big.organization_id and level = big.level - 1
        and start >= big.start and start < big.until)`),
  );
  say(
    'a sum that begins with no block',
    all(`select organization_id, level - 1, start from post_blocks where level > 1
      except select organization_id, level, start from post_blocks`),
  );
  say(
    'a block that is too large',
    all(
      `select organization_id, start, ${sum} from post_blocks where level = 1 and ${sum} > ${limits.posts}`,
    ),
  );
  say(
    'a sum of too many blocks',
    all(`select organization_id, level, start from (${ranges}) as big where level > 1 and (
      select count(*) from post_blocks where organization_id = big.organization_id and level = big.level - 1
      and start >= big.start and start < big.until) > ${limits.blocks}`),
  );
  say(
    'an empty block that begins no sum',
    all(`select organization_id, level, start from post_blocks as block where ${sum} = 0 and start <> ''
      and not exists (select 1 from post_blocks as big where big.organization_id = block.organization_id
        and big.level = block.level + 1 and big.start = block.start)`),
  );
  return problems;
}

/** Makes blocks small, so that a few posts fill many: at most 4 posts in a block, and 4 blocks or sums in a sum. */
export function useSmallBlocks(sqlite: Sqlite): Limits {
  const [[split] = []] = sqlite
    .query("select sql from sqlite_schema where name = 'post_blocks_split'")
    .values();
  const smaller = String(split)
    .replace('> 128', '> 4')
    .replace('LIMIT 65 OFFSET 64', 'LIMIT 3 OFFSET 2')
    .replaceAll('LIMIT 17 OFFSET 16', 'LIMIT 3 OFFSET 2')
    .replaceAll('count(*) = 17', 'count(*) = 3');
  if (/\b(128|65|64|17|16)\b/.test(smaller)) throw new Error('the trigger has other limits');
  sqlite.run('drop trigger post_blocks_split');
  sqlite.run(smaller);
  return { posts: 4, blocks: 4 };
}
