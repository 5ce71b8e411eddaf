import { samplePayload } from '../../../src/providers/index.ts';
import { sampleAccount, sampleLabel } from '../github-api/objects.ts';
import { changed, type Payload } from '../payloads.ts';

// Payloads as GitHub sends them: our samples, with what happened written over them.

export const PAGE = 'https://github.com/acme/rocket';
const API = 'https://api.github.com/repos/acme/rocket';

/** People by login: the name that Git has, and how far from UTC they live, in hours. `jo` has no account. */
const people: Record<string, [name: string, offset: number]> = {
  ann: ['Ann Lee', 0],
  ben: ['Ben Okafor', 1],
  cleo: ['Cléo Martin', 1],
  dmitri: ['Dmitri Volkov', 3],
  fatima: ['فاطمة الزهراء', 3],
  hiroshi: ['田中 宏', 9],
  jo: ['Jo Nguyen', 7],
  mei: ['陈美', 8],
  'sam-w': ['Sam Whitfield', -5],
};

export interface CommitRow {
  author: string;
  message: string;
}

export interface PullRow {
  number: number;
  how: string;
  author: string;
  head: string;
  base: string;
  labels: string[];
  title: string;
  body: string | null;
}

export interface ReleaseRow {
  tag: string;
  name: string;
  notes: string;
  isPrerelease?: boolean;
  publishedAt: Date;
  updatedAt: Date;
  action: 'published' | 'edited';
}

/** A commit's id: the same for the same things. */
export function shaOf(...parts: unknown[]): string {
  return Bun.SHA1.hash(parts.join(' '), 'hex');
}

/** As GitHub writes times: without milliseconds. */
function stamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** A push to `branch`; its last commit was made a minute before it, each other one ten minutes before the next. */
export function pushPayload(
  rows: CommitRow[],
  { branch, at, before }: { branch: string; at: Date; before: string },
): Payload {
  const commits = rows.map((row, index) => {
    const time = new Date(at.getTime() - (1 + 10 * (rows.length - 1 - index)) * 60_000);
    return commitObject(row, time, shaOf(before, index, row.message));
  });
  const after = commits.at(-1)?.id ?? before;
  return changed(sampleOf('push', at), {
    ref: `refs/heads/${branch}`,
    before,
    after,
    compare: `${PAGE}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`,
    commits,
    head_commit: commits.at(-1),
    pusher: { name: rows.at(-1)?.author, email: null },
    'repository.pushed_at': Math.floor(at.getTime() / 1000),
  });
}

function commitObject({ author, message }: CommitRow, time: Date, id: string) {
  const [name, offset] = people[author] ?? [author, 0];
  const email = `${author.replace('[bot]', '')}@acme.test`;
  const person = author === 'jo' ? { name, email } : { name, email, username: author };
  const local = new Date(time.getTime() + offset * 3_600_000).toISOString().slice(0, 19);
  const zone = `${offset < 0 ? '-' : '+'}${String(Math.abs(offset)).padStart(2, '0')}:00`;
  return {
    id,
    tree_id: shaOf('tree', id),
    distinct: true,
    message,
    timestamp: offset === 0 ? stamp(time) : `${local}${zone}`,
    url: `${PAGE}/commit/${id}`,
    author: person,
    committer: person,
    added: [],
    removed: [],
    modified: ['src/engine.ts'],
  };
}

/** A pull request that was merged. */
export function pullPayload(row: PullRow, mergedAt: Date, mergeCommitSha: string): Payload {
  const { number, author, head, base, labels, title, body } = row;
  const time = stamp(mergedAt);
  const text = JSON.stringify(sampleOf('pull_request', mergedAt));
  const numbered = text.replaceAll(/\/(pulls|pull|issues)\/12\b/g, `/$1/${number}`);
  return changed(JSON.parse(numbered), {
    number,
    'pull_request.number': number,
    'pull_request.id': 1_402_877_000 + number,
    'pull_request.title': title,
    'pull_request.body': body,
    'pull_request.user': accountOf(author),
    'pull_request.labels': labels.map((label) => sampleLabel(API, label, 'd73a4a')),
    'pull_request.milestone': null,
    'pull_request.head.ref': head,
    'pull_request.head.label': `acme:${head}`,
    'pull_request.base.ref': base,
    'pull_request.base.label': `acme:${base}`,
    'pull_request.merge_commit_sha': mergeCommitSha,
    'pull_request.updated_at': time,
    'pull_request.closed_at': time,
    'pull_request.merged_at': time,
  });
}

function accountOf(login: string): Payload {
  const isBot = login.endsWith('[bot]');
  const account = sampleAccount(encodeURIComponent(login), 583_200 + login.length);
  return { ...account, login, type: isBot ? 'Bot' : 'User' };
}

/** A release, just published or edited later. Empty notes are empty text, as GitHub has it. */
export function releasePayload(row: ReleaseRow): Payload {
  const { tag, name, notes, isPrerelease = false, action, ...times } = row;
  const sample = JSON.stringify(sampleOf('release', times.updatedAt)).replaceAll('v2.4.0', tag);
  const fields = {
    action,
    ...(action === 'edited' ? { changes: { body: { from: 'What it was before.' } } } : {}),
    'release.id': Bun.hash.crc32(tag),
    'release.name': name,
    'release.body': notes.replaceAll('\n', '\r\n'),
    'release.prerelease': isPrerelease,
    'release.created_at': stamp(new Date(times.publishedAt.getTime() - 600_000)),
    'release.published_at': stamp(times.publishedAt),
    'release.updated_at': stamp(times.updatedAt),
  };
  return changed(JSON.parse(sample), fields);
}

function sampleOf(event: string, now: Date): Payload {
  const payload = samplePayload('github', event, { repository: 'acme/rocket', now });
  if (payload === null) throw new Error(`there is no sample of ${event}`);
  return payload;
}
