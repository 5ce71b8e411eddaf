import type { LeftOut } from '../../drafting/changes/rules.ts';
import { versionOf } from '../../drafting/links.ts';
import type { Compose, Recipe, Shipped } from '../../drafting/store.ts';
import { pushesOf } from '../../drafting/triggers/kinds/branch.ts';
import { draftOf, inPaths, isOneOf, prefixesOf } from '../../drafting/triggers/kinds/kind.ts';
import { withIssues } from '../../drafting/triggers/material.ts';
import { getTrigger, kinds, type Trigger } from '../../drafting/triggers/model.ts';
import { recipeOf } from '../../drafting/triggers/plan.ts';
import type { RangeCommit } from '../../drafting/triggers/range-store.ts';
import { readableAt, readCommits } from '../../drafting/triggers/ranges.ts';
import { getIntegration } from '../../integrations/store.ts';
import { openReaderOf } from '../../integrations/token.ts';
import { placeName } from '../../integrations/words.ts';
import { AppError, invalidField } from '../../lib/app-error.ts';
import type { AuditDeps } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { getOrganization } from '../../people/organization-store.ts';
import { type ContentType, DEFAULT_CONTENT_TYPE, type Post } from '../../posts/model.ts';
import { createPost } from '../../posts/service.ts';
import type { IntegrationType } from '../../providers/index.ts';
import type { RemoteRepository, RepositoryReader } from '../../providers/reader.ts';
import { findConnected } from './service.ts';

// A draft of the changes between two points of a repository, which no trigger has to have seen.

/** Of the list of merged pull requests, newest first. */
const MAX_PAGES = 20;

/** Longer than two tags can be. */
const MAX_RANGE_LENGTH = 600;

export type Needs = AuditDeps & Pick<Deps, 'ids' | 'publicUrl' | 'providerUrls' | 'secrets' | 'openReader'>;

export interface CompareRequest {
  type: IntegrationType;
  organizationId: string;
  /** Its name or URL. */
  repository: string;
  /** `v1.2.0..v1.3.0`. */
  range: string;
  /** Absent: that of the trigger, else a changelog. */
  contentType?: ContentType | undefined;
  /** Its templates, filters and rules. Absent: the built-in ones. */
  triggerId?: string | undefined;
}

export interface CompareDraft {
  post: Post;
  commits: number;
  pullRequests: number;
  leftOut: LeftOut[];
}

/** Reads the changes, and writes the draft at the end. Throws `AppError` 400, 404 and 409, `ProviderProblem`, `TemplateError`. */
export async function draftCompare(
  deps: Needs,
  compose: Compose,
  request: CompareRequest,
  signal?: AbortSignal,
): Promise<CompareDraft> {
  const { organizationId, triggerId } = request;
  const { base, head } = parseRange(request.range);
  await deps.db.read((tx) => getOrganization(tx, organizationId));
  const trigger = triggerId === undefined ? null : await deps.db.read((tx) => getTrigger(tx, triggerId));
  const { reader, remote } = await openRepository(deps, request, trigger, signal);
  const filters = trigger?.filters ?? {};
  const range = await reader.listCommits(remote, base, head);
  const { length } = range.commits;
  if (length === 0) throw refused(`${head} of ${remote.fullName} has no commits that ${base} lacks.`);
  const most = `${length.toLocaleString('en')} commits, the most that Tidings reads`;
  if (range.isCut) throw refused(`${base}..${head} has more than ${most}. Choose a shorter range.`);
  const prefixes = filters.path === undefined ? [] : (prefixesOf(filters.path) ?? []);
  const commits = await readCommits({ reader, remote, prefixes }, head, range);
  const merged = await listMergedBy(reader, remote, commits);
  const { fullName: repository, defaultBranch: branch } = remote;
  const times = commits.flatMap(({ at }) => at ?? []);
  const occurredAt = times.sort().at(-1) ?? '';
  const point = { branch, repository, deliveryId: '', occurredAt };
  const all = inPaths(filters.path, { pushes: pushesOf(commits, point), pullRequests: merged });
  const pullRequests = all.pullRequests.filter(({ data }) => isOneOf(filters.label, ...data.labels));
  const pushes = trigger?.event === 'pull_request' ? [] : all.pushes;
  if (pushes.length + pullRequests.length === 0) throw refused(nothingIn(request.range, []));
  const recipe = recipeFor(request, trigger, reader.type);
  const isRelease = trigger?.event === 'release' || /^\d/.test(versionOf(head));
  const planned = draftOf(`${base}..${head}`, [], {
    repository,
    branch: isRelease ? branch : head,
    isDefaultBranch: isRelease || head === branch,
    release: isRelease ? releaseAt(head, point) : null,
    previousTag: base,
    pushes,
    pullRequests,
  });
  const [draft] = await deps.db.read((tx) => withIssues(tx, organizationId, [planned]));
  const material = draft?.material;
  const { text, leftOut } = material ? await compose(recipe, material) : { text: null, leftOut: [] };
  if (text === null) throw refused(nothingIn(request.range, leftOut));
  signal?.throwIfAborted();
  const post = await createPost(deps, organizationId, { ...text, contentType: recipe.contentType });
  return { post, commits: length, pullRequests: pullRequests.length, leftOut };
}

/** Throws `AppError` 400. */
export function parseRange(text: string): { base: string; head: string } {
  const given = text.slice(0, MAX_RANGE_LENGTH).trim();
  const [base = '', head = '', ...more] = given.split(/\.{2,3}/);
  if (base !== '' && head !== '' && more.length === 0) return { base, head };
  throw invalidField('range', 'must be two tags, branches or commits, such as v1.2.0..v1.3.0');
}

const refused = (sentence: string) => new AppError(409, sentence, { code: 'nothing_to_draft' });

function nothingIn(range: string, [first, ...others]: readonly LeftOut[]): string {
  if (first === undefined) return `Nothing in ${range} is a change that passes the filters.`;
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return `Everything in ${range} is left out: ${first.reference.label} (${first.reason})${more}.`;
}

/** With the credential of the integration that has it, or without any. */
export async function openRepository(
  deps: Needs,
  request: Pick<CompareRequest, 'type' | 'organizationId' | 'repository'>,
  trigger: Trigger | null,
  signal?: AbortSignal,
) {
  const { type } = request;
  const name = placeName(deps, type, request.repository);
  const place = await findConnected(deps, request, { name });
  if (trigger !== null) {
    const isOther = trigger.repositoryId !== null && trigger.repositoryId !== place?.repositoryId;
    if (trigger.integrationId !== place?.integrationId || isOther || !kinds[trigger.event].isOfBranch) {
      throw invalidField('trigger', `must be a trigger of the releases, pushes or pull requests of ${name}`);
    }
  }
  const integration = place && (await deps.db.read((tx) => getIntegration(tx, place.integrationId)));
  const reader = integration
    ? await openReaderOf(deps, integration, signal)
    : await deps.openReader(type, null, signal);
  return { place, reader, remote: await reader.getRepository(name) };
}

/** The merged pull requests that brought these commits, as far as the provider's list goes back. */
async function listMergedBy(
  reader: RepositoryReader,
  remote: RemoteRepository,
  commits: readonly RangeCommit[],
): Promise<Shipped<'pull_request'>[]> {
  const shas = new Set(commits.map(({ sha }) => sha));
  // Commits of a merged branch may be much older than its merge.
  const [first = ''] = commits.flatMap(({ at, broughtBy }) => (broughtBy ? [] : (at ?? []))).sort();
  const merged = new Map<string, Shipped<'pull_request'>>();
  let cursor: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await reader.listMerged(remote, { cursor });
    for (const delivery of page?.items ?? []) {
      const event = requestIn(reader, remote, delivery);
      const isIn = event !== null && shas.has(event.data.mergeCommitSha ?? '');
      if (isIn && !merged.has(event.key)) merged.set(event.key, event);
    }
    cursor = page?.next ?? null;
    // A pull request changes after its merge, never before.
    if (cursor === null || (page?.oldest ?? '') < first) break;
  }
  return [...merged.values()];
}

/** Null also for one that cannot be read: its commits are listed in its place. */
export function requestIn(...delivery: Parameters<typeof readableAt>): Shipped<'pull_request'> | null {
  const event = readableAt(...delivery);
  return event?.type === 'pull_request' ? event : null;
}

/** Composed as a push: a release without changes would still have a text. */
function recipeFor(
  { contentType }: CompareRequest,
  trigger: Trigger | null,
  platform: IntegrationType,
): Recipe {
  const own = trigger && recipeOf(trigger);
  return {
    ...{ triggerId: null, platform, titleTemplate: null, bodyTemplate: null },
    ...own,
    event: 'push',
    contentType: contentType ?? own?.contentType ?? DEFAULT_CONTENT_TYPE,
  };
}

function releaseAt(
  tag: string,
  point: Pick<Shipped<'release'>, 'branch' | 'repository' | 'deliveryId' | 'occurredAt'>,
): Shipped<'release'> {
  const data = { tag, name: null, notes: null, isPrerelease: false, author: null, url: null };
  return { ...point, type: 'release', key: tag, version: '', data };
}
