// The code of a stored repository: a graph of commits, and what people made of it.

export interface Person {
  name: string;
  email: string;
  /** Null when GitHub knows nobody with the address. */
  login: string | null;
}

export interface StoredCommit {
  readonly sha: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly author: Person;
  readonly committer: Person;
  readonly committedAt: string;
  /** The files that it changes. */
  readonly paths: readonly string[];
  /** Larger than that of every parent. */
  readonly index: number;
}

export interface StoredRelease {
  readonly id: number;
  readonly tag: string;
  name: string | null;
  notes: string | null;
  isDraft: boolean;
  isPrerelease: boolean;
  readonly target: string;
  readonly author: string;
  /** The date of its commit. */
  readonly createdAt: string;
  publishedAt: string | null;
  updatedAt: string;
}

export interface StoredPull {
  readonly id: number;
  readonly number: number;
  title: string;
  readonly body: string | null;
  readonly labels: readonly string[];
  readonly author: string;
  readonly baseBranch: string;
  readonly headBranch: string;
  readonly headSha: string;
  readonly baseSha: string;
  readonly createdAt: string;
  updatedAt: string;
  readonly closedAt: string;
  /** Null when it was closed without a merge. */
  readonly merged: { at: string; by: string; commit: string } | null;
}

export interface StoredActivity {
  readonly id: number;
  readonly before: string;
  readonly after: string;
  /** `refs/heads/main` */
  readonly ref: string;
  readonly at: string;
  readonly type: 'push' | 'force_push' | 'branch_creation' | 'pr_merge';
  readonly actor: string;
}

export interface StoredCode {
  readonly commits: Map<string, StoredCommit>;
  readonly branches: Map<string, string>;
  readonly tags: Map<string, string>;
  readonly releases: StoredRelease[];
  readonly pulls: StoredPull[];
  /** Oldest first. */
  readonly activity: StoredActivity[];
}

export const noCode = (): StoredCode => ({
  commits: new Map(),
  branches: new Map(),
  tags: new Map(),
  releases: [],
  pulls: [],
  activity: [],
});

export const NO_COMMIT = '0'.repeat(40);

export function addCommit(
  code: StoredCode,
  commit: Omit<StoredCommit, 'sha' | 'index' | 'paths'> & { paths?: readonly string[] | undefined },
): StoredCommit {
  const index = code.commits.size;
  const { parents, message, committedAt, author } = commit;
  const identity = JSON.stringify([parents, message, committedAt, author, index]);
  const sha = new Bun.CryptoHasher('sha1').update(identity).digest('hex');
  const stored = { ...commit, paths: commit.paths ?? [], sha, index };
  code.commits.set(sha, stored);
  return stored;
}

/** The commit of a tag, a branch, or a number, which may be cut to its first seven digits. */
export function resolveRef(code: StoredCode, ref: string): StoredCommit | undefined {
  const { commits, tags, branches } = code;
  const name = ref.replace(/^refs\/(heads|tags)\//, '');
  const known = tags.get(name) ?? branches.get(name);
  if (known !== undefined) return commits.get(known);
  if (!/^[0-9a-f]{7,40}$/.test(ref)) return undefined;
  return commits.get(ref) ?? [...commits.values()].find(({ sha }) => sha.startsWith(ref));
}

/** The commits that `head` has and `base` lacks, oldest first, as `git log --reverse base..head`. */
export function rangeOf(code: StoredCode, base: string | null, head: string): StoredCommit[] {
  const known = base === null ? new Set<string>() : ancestorsOf(code, base, new Set());
  const found = [...ancestorsOf(code, head, known)].flatMap((sha) => code.commits.get(sha) ?? []);
  return found.sort((a, b) => a.index - b.index);
}

/** The newest commit that both have. */
export function mergeBaseOf(code: StoredCode, one: string, other: string): StoredCommit | undefined {
  const ofOne = ancestorsOf(code, one, new Set());
  const shared = [...ancestorsOf(code, other, new Set())].filter((sha) => ofOne.has(sha));
  return shared.flatMap((sha) => code.commits.get(sha) ?? []).sort((a, b) => b.index - a.index)[0];
}

/** With the commit itself, and without those of `known` and their own ancestors. */
function ancestorsOf({ commits }: StoredCode, sha: string, known: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  const waiting = [sha];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next) || known.has(next)) continue;
    const commit = commits.get(next);
    if (commit === undefined) continue;
    found.add(next);
    waiting.push(...commit.parents);
  }
  return found;
}
