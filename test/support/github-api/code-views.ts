import type { StoredActivity, StoredCommit, StoredPull, StoredRelease } from './code.ts';
import { nodeId, sampleAccount, sampleLabel } from './objects.ts';

// Releases, pull requests and commits as GitHub's responses and its webhooks show them.

type Named = { name: string };

export const pageUrlOf = ({ name }: Named) => `https://github.com/${name}`;
const apiUrlOf = ({ name }: Named) => `https://api.github.com/repos/${name}`;

/** As GitHub writes times: without milliseconds. */
const seconds = (iso: string) => `${new Date(iso).toISOString().slice(0, 19)}Z`;

/** An account, whose number follows from its login. */
export function accountView(login: string) {
  const digest = new Bun.CryptoHasher('sha1').update(login).digest();
  const type = login.endsWith('[bot]') ? 'Bot' : 'User';
  const account = sampleAccount(encodeURIComponent(login), 1 + (digest.readUInt32BE() % 90_000_000));
  return { ...account, login, type };
}

export const emailOf = (login: string) => `${login.replaceAll(/[^\w-]/g, '')}@acme.test`;

/** The same in responses and in webhooks. */
export function releaseView(repository: Named, release: StoredRelease) {
  const { id, tag, name, notes, isDraft, isPrerelease, target, author } = release;
  const [page, api] = [pageUrlOf(repository), apiUrlOf(repository)];
  const self = `${api}/releases/${id}`;
  return {
    url: self,
    assets_url: `${self}/assets`,
    upload_url: `${self.replace('//api.', '//uploads.')}/assets{?name,label}`,
    html_url: `${page}/releases/tag/${encodeURIComponent(tag)}`,
    id,
    author: accountView(author),
    node_id: nodeId('Release', id),
    tag_name: tag,
    target_commitish: target,
    name,
    draft: isDraft,
    immutable: false,
    prerelease: isPrerelease,
    created_at: seconds(release.createdAt),
    updated_at: seconds(release.updatedAt),
    published_at: release.publishedAt && seconds(release.publishedAt),
    assets: [],
    tarball_url: isDraft ? null : `${api}/tarball/${tag}`,
    zipball_url: isDraft ? null : `${api}/zipball/${tag}`,
    body: notes,
  };
}

/** By itself. */
export const onePullView = (repository: Named, pull: StoredPull, view: object) => ({
  ...pullView(repository, pull, view),
  merged: pull.merged !== null,
  mergeable: null,
  rebaseable: null,
  mergeable_state: 'unknown',
  merged_by: pull.merged === null ? null : accountView(pull.author),
  comments: 0,
  review_comments: 0,
  maintainer_can_modify: false,
  commits: 1,
  additions: 1,
  deletions: 0,
  changed_files: 1,
});

/** As in a list. `view`: the repository as the response or the webhook has it. */
export function pullView(repository: Named, pull: StoredPull, view: object) {
  const { id, number, title, body, labels, author, baseBranch, headBranch, headSha, baseSha, merged } = pull;
  const [page, api] = [`${pageUrlOf(repository)}/pull/${number}`, apiUrlOf(repository)];
  const [self, issue] = [`${api}/pulls/${number}`, `${api}/issues/${number}`];
  const links = {
    comments: `${issue}/comments`,
    review_comments: `${self}/comments`,
    review_comment: `${api}/pulls/comments{/number}`,
    commits: `${self}/commits`,
    statuses: `${api}/statuses/${headSha}`,
  };
  const owner = repository.name.split('/')[0] ?? '';
  const branch = (ref: string, sha: string) => ({
    label: `${owner}:${ref}`,
    ref,
    sha,
    user: accountView(owner),
    repo: view,
  });
  const urls = Object.entries(links).map(([name, href]) => [`${name}_url`, href] as const);
  return {
    url: self,
    id,
    node_id: nodeId('PullRequest', id),
    html_url: page,
    diff_url: `${page}.diff`,
    patch_url: `${page}.patch`,
    issue_url: issue,
    ...(Object.fromEntries(urls) as Record<`${keyof typeof links}_url`, string>),
    number,
    state: 'closed',
    locked: false,
    title,
    user: accountView(author),
    body,
    created_at: seconds(pull.createdAt),
    updated_at: seconds(pull.updatedAt),
    closed_at: seconds(pull.closedAt),
    merged_at: merged && seconds(merged.at),
    merge_commit_sha: merged?.commit ?? null,
    assignee: null,
    assignees: [],
    requested_reviewers: [],
    requested_teams: [],
    labels: labels.map((label) => ({ ...sampleLabel(api, label, 'd73a4a'), description: '' })),
    milestone: null,
    draft: false,
    head: branch(headBranch, headSha),
    base: branch(baseBranch, baseSha),
    _links: Object.fromEntries(
      Object.entries({ ...links, self, issue, html: page }).map(([name, href]) => [name, { href }]),
    ),
    author_association: 'CONTRIBUTOR',
    auto_merge: null,
    active_lock_reason: null,
  };
}

export function commitView(repository: Named, commit: StoredCommit) {
  const { sha, parents, message, author, committer } = commit;
  const [page, api] = [pageUrlOf(repository), apiUrlOf(repository)];
  const date = seconds(commit.committedAt);
  const urls = (each: string) => ({
    sha: each,
    url: `${api}/commits/${each}`,
    html_url: `${page}/commit/${each}`,
  });
  const unsigned = { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null };
  return {
    ...urls(sha),
    node_id: nodeId('Commit', commit.index + 1),
    commit: {
      author: { name: author.name, email: author.email, date },
      committer: { name: committer.name, email: committer.email, date },
      message,
      tree: { sha: sha.split('').reverse().join(''), url: `${api}/git/trees/${sha}` },
      url: `${api}/git/commits/${sha}`,
      comment_count: 0,
      verification: unsigned,
    },
    comments_url: `${api}/commits/${sha}/comments`,
    author: author.login === null ? null : accountView(author.login),
    committer: committer.login === null ? null : accountView(committer.login),
    parents: parents.map(urls),
  };
}

/** A file that a commit changes. */
export function fileView(filename: string) {
  const url = `https://github.test/${filename}`;
  return {
    ...{ sha: '0'.repeat(40), filename, status: 'modified', additions: 1, deletions: 0, changes: 1 },
    ...{ blob_url: url, raw_url: url, contents_url: url },
  };
}

/** A commit of a push in a webhook. */
export function pushedCommitView(repository: Named, commit: StoredCommit) {
  const { sha, message, author, committer, paths, committedAt } = commit;
  const person = ({ name, email, login }: StoredCommit['author']) => ({
    name,
    email,
    ...(login !== null && { username: login }),
  });
  return {
    id: sha,
    tree_id: sha.split('').reverse().join(''),
    distinct: true,
    message,
    timestamp: seconds(committedAt),
    url: `${pageUrlOf(repository)}/commit/${sha}`,
    author: person(author),
    committer: person(committer),
    added: [],
    removed: [],
    modified: [...paths],
  };
}

export function refView(repository: Named, ref: string, sha: string) {
  const api = apiUrlOf(repository);
  const object = { sha, type: 'commit', url: `${api}/git/commits/${sha}` };
  return { ref: `refs/${ref}`, node_id: nodeId('Ref', 1), url: encodeURI(`${api}/git/refs/${ref}`), object };
}

export function activityView({ id, before, after, ref, at, type, actor }: StoredActivity) {
  const node_id = nodeId('Push', id);
  return {
    id,
    node_id,
    before,
    after,
    ref,
    timestamp: seconds(at),
    activity_type: type,
    actor: accountView(actor),
  };
}
