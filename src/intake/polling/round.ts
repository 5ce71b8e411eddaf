import { POLLED_ID } from '../../integrations/deliveries/store.ts';
import { IntegrationProblem } from '../../integrations/words.ts';
import type { Logger } from '../../lib/log.ts';
import { count } from '../../lib/text.ts';
import { ProviderProblem } from '../../providers/api.ts';
import type { Event, EventData } from '../../providers/events.ts';
import { providerOf } from '../../providers/index.ts';
import { eventOf, MalformedPayload, type Payload, parseEvent } from '../../providers/provider.ts';
import type {
  PageOf,
  RangeCommit,
  ReadDelivery,
  RemoteRepository,
  RepositoryReader,
} from '../../providers/reader.ts';
import { digestOf, type Mark, type Seen, withFiles } from './cursor.ts';

// One round of requests about a repository: what is there now, and what of it is news since the last round.

/** The rounds after which to ask for the repository itself: its name and its default branch may have changed. */
const CHECK_ROUNDS = 10;

/** The most pages of a list in one round. Reaching it takes thousands of changes between two rounds. */
const MAX_PAGES = 30;

/** A list may show a pull request that was merged a moment ago after one that was merged later, in milliseconds. */
const LATE_MS = 600_000;

const NO_COMMIT = '0'.repeat(40);

/** Something that a webhook would have delivered. */
export interface News {
  name: string;
  title: string;
  action: string;
  data: Payload;
  event: Event;
  /** The list had it before, with another content. */
  isEdit: boolean;
}

export interface Round {
  remote: RemoteRepository;
  seen: Seen;
  /** Oldest first. */
  news: News[];
  /** Something that polling could not read, for the log. */
  notes: string[];
}

/** The repository as it is known before a round. */
export interface Subject {
  id: string;
  fullName: string;
  providerId: number | null;
}

interface RoundDeps {
  reader: RepositoryReader;
  log: Logger;
  now: Date;
  repositoryId: string;
  /** A trigger filters by path. */
  needsFiles: boolean;
  /** The pushes that are known already, by their commits. */
  findPushes(keys: readonly string[]): Promise<Extract<Event, { type: 'push' }>[]>;
}

/**
 * `seen` null: the first round, which takes the present as the start and has no news. Throws `ProviderProblem`, and
 * `IntegrationProblem` `name_reused`.
 */
export async function readRound(
  reading: Omit<RoundDeps, 'repositoryId'>,
  subject: Subject,
  seen: Seen | null,
): Promise<Round> {
  const { id: repositoryId, providerId, fullName } = subject;
  const deps = { ...reading, repositoryId };
  const isCheckDue = seen === null || providerId === null || seen.rounds + 1 >= CHECK_ROUNDS;
  const known = { providerId: providerId ?? 0, fullName, defaultBranch: seen?.branch ?? '', isPrivate: true };
  const remote = isCheckDue ? await identify(deps, subject) : known;
  const first = await ask(deps, remote, seen, isCheckDue);
  if (first !== null && (isCheckDue || !hasChanged(first.seen, seen))) return first;
  // Look before anything is drafted: another repository may have the name by now, and the payloads name the default branch.
  const present = await identify(deps, subject);
  const isSame = present.fullName === remote.fullName && present.defaultBranch === remote.defaultBranch;
  const round = first !== null && isSame ? first : await ask(deps, present, seen, true);
  if (round === null) throw new Error('a round about the present repository has a result');
  return { ...round, seen: { ...round.seen, rounds: 0 } };
}

/** The repository as it is now. Throws `IntegrationProblem` when it is another one. */
async function identify({ reader }: RoundDeps, { fullName, providerId }: Subject): Promise<RemoteRepository> {
  const remote = await reader.getRepository(fullName);
  if (providerId === null || remote.providerId === providerId) return remote;
  throw new IntegrationProblem({ code: 'name_reused', place: fullName, type: reader.type });
}

const CONTENTS = ['branch', 'head', 'releases', 'merged'] as const;

function hasChanged(now: Seen, before: Seen | null): boolean {
  return before === null || CONTENTS.some((name) => !Bun.deepEquals(now[name], before[name]));
}

/** Null when the branch is gone, so that the repository must be asked for its default branch. */
async function ask(
  deps: RoundDeps,
  remote: RemoteRepository,
  seen: Seen | null,
  isPresent: boolean,
): Promise<Round | null> {
  const releases = await readReleases(deps, remote, seen);
  const merged = await readMerged(deps, remote, seen);
  const head = await readHead(deps, remote, seen, isPresent, merged.commits);
  if (head === null) return null;
  const news = [...releases.news, ...merged.news, ...head.news];
  news.sort((a, b) => (a.event.occurredAt < b.event.occurredAt ? -1 : 1));
  const rounds = isPresent ? 0 : (seen?.rounds ?? 0) + 1;
  return {
    remote,
    seen: { ...releases.seen, ...merged.seen, ...head.seen, rounds },
    news,
    notes: [...merged.notes, ...head.notes],
  };
}

type Listed = PageOf<ReadDelivery>;

/** Further pages while `isMore` wants them; null when the first has not changed. */
async function readPages(
  list: (request: { cursor?: string; etag?: string | null }) => Promise<Listed | null>,
  etag: string | null,
  isMore: (page: Listed) => boolean,
): Promise<{ pages: Listed[]; isCut: boolean } | null> {
  let page = await list({ etag });
  if (page === null) return null;
  const pages = [page];
  while (page.next !== null && isMore(page)) {
    if (pages.length === MAX_PAGES) return { pages, isCut: true };
    page = await list({ cursor: page.next });
    if (page === null) break;
    pages.push(page);
  }
  return { pages, isCut: false };
}

/** A new one stands before a known one, or is newer than all, or all were known. Others rose when one was deleted. */
async function readReleases(deps: RoundDeps, remote: RemoteRepository, seen: Seen | null) {
  const known = new Map(seen?.releases.map(({ id, content }) => [id, content]));
  const isKnown = (item: Read) => known.has(item.mark.id);
  const read = await readPages(
    (request) => deps.reader.listReleases(remote, request),
    seen?.releasesEtag ?? null,
    (page) => seen !== null && !itemsOf(deps, remote, page).some(isKnown),
  );
  if (read === null && seen !== null) {
    const { releases, releasesEtag, hasAllReleases, releasedUntil } = seen;
    return { seen: { releases, releasesEtag, hasAllReleases, releasedUntil }, news: [] };
  }
  const [first] = read?.pages ?? [];
  const items = (read?.pages ?? []).flatMap((page) => itemsOf(deps, remote, page));
  const lastKnown = items.findLastIndex(isKnown);
  const until = seen?.releasedUntil ?? '';
  const isNew = (item: Read, at: number) =>
    seen !== null && (seen.hasAllReleases || at < lastKnown || item.news.event.occurredAt > until);
  const news = items.flatMap((item, at) => {
    const content = known.get(item.mark.id);
    if (content === undefined) return isNew(item, at) ? [item.news] : [];
    return content === item.mark.content ? [] : [asEdit(deps, item.news)];
  });
  const times = items.map((item) => item.news.event.occurredAt);
  return {
    seen: {
      releases: (first === undefined ? [] : itemsOf(deps, remote, first)).map(({ mark }) => mark),
      releasesEtag: first?.etag ?? null,
      hasAllReleases: (first?.next ?? null) === null,
      // A release may be dated in the future, and others are published before.
      releasedUntil: latestOf([until, ...times.filter((time) => time <= deps.now.toISOString())]),
    },
    news,
  };
}

/** The list is sorted by the last change, and a comment changes an old one too: only a merge is news. */
async function readMerged(deps: RoundDeps, remote: RemoteRepository, seen: Seen | null) {
  const from = seen?.mergedFrom ?? '';
  const read = await readPages(
    (request) => deps.reader.listMerged(remote, request),
    seen?.mergedEtag ?? null,
    (page) => seen !== null && (page.oldest ?? '') >= from,
  );
  if (read === null && seen !== null) {
    const { merged, mergedEtag, mergedFrom } = seen;
    return { seen: { merged, mergedEtag, mergedFrom }, news: [], notes: [], commits: new Set<string>() };
  }
  const [first] = read?.pages ?? [];
  const items = (read?.pages ?? []).flatMap((page) => itemsOf(deps, remote, page));
  const known = new Set(seen?.merged.map(({ id }) => id));
  const fresh = items.filter(
    ({ mark, news }) => seen !== null && !known.has(mark.id) && news.event.occurredAt >= from,
  );
  const newest = latestOf(items.map(({ news }) => news.event.occurredAt));
  // Pull requests beyond the first page were merged before its oldest change.
  const start = latestOf([newest, first?.next == null ? '' : (first.oldest ?? '')]);
  return {
    seen: {
      merged: (first === undefined ? [] : itemsOf(deps, remote, first)).map(({ mark }) => mark),
      mergedEtag: first?.etag ?? null,
      mergedFrom: seen === null ? start : latestOf([from, earlier(newest)]),
    },
    news: fresh.map(({ news }) => news),
    commits: new Set(items.flatMap(({ news }) => mergeCommitOf(news.event) ?? [])),
    notes: read?.isCut ? [CUT] : [],
  };
}

const CUT = `More than ${MAX_PAGES} pages of pull requests had changed: Tidings took the newest. Read the history for the others.`;

const mergeCommitOf = (event: Event) => (event.type === 'pull_request' ? event.data.mergeCommitSha : null);

async function readHead(
  deps: RoundDeps,
  remote: RemoteRepository,
  seen: Seen | null,
  isPresent: boolean,
  merges: ReadonlySet<string>,
) {
  const { reader } = deps;
  const branch = remote.defaultBranch;
  const isSameBranch = seen?.branch === branch;
  const etag = isSameBranch ? (seen?.headEtag ?? null) : null;
  const head = await findHead(reader, remote, branch, etag);
  // A repository without commits has no branch.
  if (head === undefined && !isPresent) return null;
  const unchanged = { branch, head: seen?.head ?? NO_COMMIT, headEtag: seen?.headEtag ?? null };
  if (head === undefined || head === null) return { seen: unchanged, news: [], notes: [] };
  const now = { branch, head: head.sha, headEtag: head.etag };
  if (seen === null || head.sha === seen.head) return { seen: now, news: [], notes: [] };
  // Another branch became the default one. A branch that is gone was renamed, and its commits go on.
  const isOther = !isSameBranch && (await findHead(reader, remote, seen.branch, null)) !== undefined;
  if (isOther) return { seen: now, news: [], notes: [] };
  const { pushes, note } = await readPushes(deps, remote, seen.head, head.sha, merges);
  const known = deps.needsFiles ? await withFiles(reader, remote, pushes) : { pushes, unknown: 0 };
  const items = known.pushes.flatMap((push) => readItem(deps, remote.fullName, push) ?? []);
  const notes = [note, unknownFiles(known.unknown)].filter((each) => each !== null);
  return { seen: now, news: items.map(({ news }) => news), notes };
}

const unknownFiles = (commits: number) =>
  commits === 0
    ? null
    : `Tidings did not read the files of ${count(commits, 'commit')}: triggers that filter by path keep them.`;

/** Null when it has not changed, undefined when there is no such branch. */
async function findHead(
  reader: RepositoryReader,
  remote: RemoteRepository,
  branch: string,
  etag: string | null,
) {
  try {
    return await reader.getHead(remote, branch, etag);
  } catch (error) {
    if (error instanceof ProviderProblem && error.kind === 'refused') return undefined;
    throw error;
  }
}

/** Oldest first. After a forced push: what the new head has and the old one lacks. */
async function readPushes(
  deps: RoundDeps,
  remote: RemoteRepository,
  before: string,
  after: string,
  merges: ReadonlySet<string>,
) {
  const { reader } = deps;
  const branch = remote.defaultBranch;
  try {
    const { pushes, isCut } =
      (await reader.listPushes?.(remote, before, after)) ??
      (await asPushes(deps, remote, before, after, merges));
    const note = isCut ? `A push to ${branch} had too many commits: Tidings took the newest.` : null;
    return { pushes, note };
  } catch (error) {
    if (!(error instanceof ProviderProblem) || error.kind !== 'refused') throw error;
    const lost = `The history of ${branch} was replaced: the provider no longer knows ${before.slice(0, 12)}. Tidings goes on from ${after.slice(0, 12)}.`;
    return { pushes: [], note: lost };
  }
}

/**
 * The pushes that webhooks did not deliver. Each merge is a push of its own, as at the provider; what was pushed between two
 * others is one.
 */
async function asPushes(
  { reader, findPushes }: RoundDeps,
  remote: RemoteRepository,
  before: string,
  after: string,
  merges: ReadonlySet<string>,
) {
  const base = before === NO_COMMIT ? null : before;
  const { commits, isCut } = await reader.listCommits(remote, base, after);
  const known = new Map((await findPushes(commits.map(({ sha }) => sha))).map((push) => [push.key, push]));
  const line = mainLineOf(commits);
  const pushes: ReadDelivery[] = [];
  let start = before;
  const add = (pushed: readonly RangeCommit[]) => {
    if (pushed.length > 0) pushes.push(reader.pushOf(remote, start, pushed));
    start = pushed.at(-1)?.sha ?? start;
  };
  let segment: RangeCommit[] = [];
  for (const commit of commits) {
    const push = known.get(commit.sha);
    const isMerge = merges.has(commit.sha);
    if (push !== undefined) add(without([...segment, commit], push.data));
    else if (isMerge) {
      add(segment.filter(({ sha }) => line.has(sha)));
      add([...segment.filter(({ sha }) => !line.has(sha)), commit]);
    } else if (commit === commits.at(-1)) add([...segment, commit]);
    else {
      segment.push(commit);
      continue;
    }
    segment = [];
    start = commit.sha;
  }
  return { pushes, isCut };
}

/** The commits that the branch was at; all of them where the provider does not name their parents. */
function mainLineOf(commits: readonly RangeCommit[]): ReadonlySet<string> {
  const bySha = new Map(commits.map((commit) => [commit.sha, commit]));
  if (commits.some(({ parents }) => parents === undefined)) return new Set(bySha.keys());
  const line = new Set<string>();
  for (let commit = commits.at(-1); commit !== undefined && !line.has(commit.sha); ) {
    line.add(commit.sha);
    commit = bySha.get(commit.parents?.[0] ?? '');
  }
  return line;
}

/** A webhook may name only the newest commits of a push. */
function without(segment: readonly RangeCommit[], { commits, total }: EventData['push']): RangeCommit[] {
  if (total !== undefined) return segment.slice(0, Math.max(0, segment.length - total));
  const known = new Set(commits.map(({ sha }) => sha));
  return segment.filter(({ sha }) => !known.has(sha));
}

interface Read {
  mark: Mark;
  news: News;
}

const itemsOf = (deps: RoundDeps, { fullName }: RemoteRepository, { items }: Listed): Read[] =>
  items.flatMap((item) => readItem(deps, fullName, item) ?? []);

/** Null for one that means nothing, or cannot be read: it must not keep the others from being polled. */
export function readItem(
  deps: Source & Pick<RoundDeps, 'log'>,
  repository: string | null,
  item: ReadDelivery,
): Read | null {
  const provider = providerOf(deps.reader.type);
  try {
    const result = parseEvent(provider, item.event, item.payload);
    if (result.outcome !== 'processed') return null;
    const { title, processed } = result;
    const { action, data } = processed;
    const delivery = { name: item.event, action, data, repository };
    const event = eventIn(deps, delivery);
    if (event === null) return null;
    // The addresses change with the name of the repository, which is no edit.
    const { url: _, ...content } = event.data as Payload;
    const mark = { id: digestOf(data.id ?? event.key), content: digestOf([event.version, content]) };
    return { mark, news: { name: item.event, title, action, data, event, isEdit: false } };
  } catch (error) {
    if (!(error instanceof MalformedPayload)) throw error;
    deps.log.warn({ err: error, repository, event: item.event }, 'could not read what was polled');
    return null;
  }
}

interface Source {
  reader: Pick<RepositoryReader, 'type'>;
  /** Empty for what is of no repository. */
  repositoryId: string;
  now: Date;
}

/** The same text of the same thing always gets the same delivery id. */
function eventIn(
  { reader, repositoryId, now }: Source,
  { name, action, data, repository }: Pick<News, 'name' | 'action' | 'data'> & { repository: string | null },
): Event | null {
  const deliveryId = `${POLLED_ID}${digestOf([repositoryId, name, action, data])}`;
  const delivery = { deliveryId, receivedAt: now.toISOString(), repository };
  return eventOf(providerOf(reader.type), { ...delivery, event: name, action, data });
}

/** As the webhook of an edit has it. */
export function asEdit(source: Source, news: News): News {
  const { name, data, title, event } = news;
  const edit = { name, action: 'edited', data, repository: event.repository };
  const edited = { event: eventIn(source, edit) ?? event, title: title.replace(/published$/, 'edited') };
  return { ...news, ...edited, action: 'edited', isEdit: true };
}

const latestOf = (times: readonly string[]) => times.toSorted().at(-1) ?? '';

const earlier = (time: string) => (time === '' ? '' : new Date(Date.parse(time) - LATE_MS).toISOString());
