import { blocksOf, kindOf } from '../../drafting/changes/reached.ts';
import { type EntryRules, entryRulesOf, findBlocks, RELEASE_NOTE } from '../../drafting/changes/rules.ts';
import { whyGroup } from '../../drafting/changes/titles.ts';
import { changeLine } from '../../drafting/links.ts';
import type { Shipped } from '../../drafting/store.ts';
import { emptyMaterial, isOneOf, touches } from '../../drafting/triggers/kinds/kind.ts';
import { findExclusion, kinds, listTriggers, type Trigger } from '../../drafting/triggers/model.ts';
import { readCommits } from '../../drafting/triggers/ranges.ts';
import { changesIn } from '../../drafting/variables.ts';
import { AppError } from '../../lib/app-error.ts';
import { getOrganization } from '../../people/organization-store.ts';
import { ProviderProblem } from '../../providers/api.ts';
import type { Commit } from '../../providers/events.ts';
import { type IntegrationType, providerOf } from '../../providers/index.ts';
import { requestAt } from '../../providers/paths.ts';
import type { ReadRequest, RemoteRepository, RepositoryReader } from '../../providers/reader.ts';
import { type Needs, openRepository, requestIn } from './compare.ts';
import { findProvider } from './service.ts';

// The entries that a pull request would add to drafts, and why. Reads the provider, and writes nothing.

/** A pull request as a person names it. */
export interface RequestName {
  /** Its name or URL. */
  repository: string;
  number: number;
  /** As it was written before the number. Absent: `#`, or a URL. */
  mark?: '!';
}

/** Reads `owner/name#12`, `group/name!12`, or the URL of its page. Null for anything else. */
export function parseRequest(text: string): RequestName | null {
  const given = text.trim();
  const page = requestAt(given);
  if (page !== null) return { repository: page.repository, number: page.number };
  const [, repository = '', mark, number] = /^([^#!]{1,500})([#!])(\d{1,9})$/.exec(given) ?? [];
  return number === undefined ? null : { repository, number: Number(number), ...(mark === '!' && { mark }) };
}

/** Its part of the drafts of one trigger. */
interface PreviewedEntries {
  /** Null without a trigger: by the built-in rules. */
  triggerId: string | null;
  event: string | null;
  contentType: string | null;
  /** As the lists of a draft have them, in Markdown. */
  entries: { group: string; line: string }[];
  /** The origins of the words, and of the group. */
  because: { words: string; group: string };
  /** Why there are no entries. */
  leftOut: string | null;
}

export interface RequestPreview {
  type: IntegrationType;
  /** As its provider writes it: `owner/name#12`. */
  reference: string;
  repository: string;
  number: number;
  title: string;
  url: string | null;
  state: ReadRequest['state'];
  drafts: PreviewedEntries[];
}

/** `type`: of the provider; absent: as the repository tells. Throws `AppError` 400 and 404, and `ProviderProblem`. */
export async function previewRequest(
  deps: Needs,
  organizationId: string,
  { number, repository: name, mark: written }: RequestName,
  { type: asked, signal }: { type?: IntegrationType | undefined; signal?: AbortSignal } = {},
): Promise<RequestPreview> {
  await deps.db.read((tx) => getOrganization(tx, organizationId));
  const type = asked ?? (await findProvider(deps, organizationId, name, written));
  const request = { type, organizationId, repository: name };
  const { place, reader, remote } = await openRepository(deps, request, null, signal);
  const read = await reader.getRequest(remote, number);
  const event = read && requestIn(reader, remote, read.delivery);
  const mark = providerOf(type).requestMark ?? '#';
  if (read === null || event === null)
    throw new AppError(404, `There is no pull request ${mark}${number} in ${remote.fullName}.`);
  const triggers =
    place === null
      ? []
      : await deps.db.read((tx) => listTriggers(tx, { integrationId: place.integrationId }));
  const ofCode = triggers.filter(
    ({ event: type, enabled, repositoryId }) =>
      enabled && kinds[type].isOfBranch && (repositoryId === null || repositoryId === place?.repositoryId),
  );
  const files = ofCode.some(({ filters }) => filters.path !== undefined)
    ? await reader.listRequestFiles(remote, number)
    : null;
  const changed = files === null ? {} : { paths: files };
  const push = pushOf(event, await commitsOf(reader, remote, read));
  const drafts = (ofCode.length === 0 ? [null] : ofCode).map((trigger) =>
    explain(trigger, event, push, changed),
  );
  const { title, url } = event.data;
  const { fullName: repository } = remote;
  const reference = `${repository}${mark}${number}`;
  return { type, reference, repository, number, title, url, state: read.state, drafts };
}

/** Those of its branch; none when the provider has lost them. */
async function commitsOf(
  reader: RepositoryReader,
  remote: RemoteRepository,
  { base, head }: ReadRequest,
): Promise<Commit[]> {
  try {
    const range = await reader.listCommits(remote, base, head);
    const commits = await readCommits({ reader, remote, prefixes: [] }, head, range);
    return commits.map(({ at: _, broughtBy: __, ...commit }) => commit);
  } catch (error) {
    if (error instanceof ProviderProblem && error.kind === 'refused') return [];
    throw error;
  }
}

function pushOf(event: Shipped<'pull_request'>, commits: Commit[]): Shipped<'push'> {
  const after = event.data.mergeCommitSha ?? '';
  return { ...event, type: 'push', key: after, data: { after, compareUrl: null, commits } };
}

const filtered = (name: string) => `outside of the trigger's filter by ${name}`;

function explain(
  trigger: Trigger | null,
  event: Shipped<'pull_request'>,
  push: Shipped<'push'>,
  changed: Pick<Commit, 'paths'>,
): PreviewedEntries {
  const filters = trigger?.filters ?? {};
  const rules = entryRulesOf(filters);
  const about = {
    triggerId: trigger?.id ?? null,
    event: trigger?.event ?? null,
    contentType: trigger?.contentType ?? null,
    because: because(event, push, rules),
  };
  const exclusion = trigger === null || trigger.event === 'release' ? null : findExclusion(trigger, event);
  if (exclusion !== null || !isOneOf(filters.label, ...event.data.labels)) {
    const leftOut = exclusion === 'default' ? 'merged into another branch' : filtered(exclusion ?? 'label');
    return { ...about, entries: [], leftOut };
  }
  if (!touches(filters.path, changed)) return { ...about, entries: [], leftOut: filtered('path') };
  const pushes = trigger?.event === 'pull_request' || push.data.commits.length === 0 ? [] : [push];
  const { changes, leftOut } = changesIn({ ...emptyMaterial, pushes, pullRequests: [event] }, rules);
  const entries = changes.map((change) => ({ group: change.group, line: changeLine(change) }));
  return { ...about, entries, leftOut: leftOut[0]?.reason ?? null };
}

function because(
  { data }: Shipped<'pull_request'>,
  { data: { commits } }: Shipped<'push'>,
  rules: EntryRules,
): PreviewedEntries['because'] {
  const kind = kindOf(commits);
  const { blocks = [], at } = findBlocks(rules, [data.blocks, blocksOf(commits)]) ?? {};
  const block = `block ${rules.block ?? RELEASE_NOTE}`;
  const from = at === undefined ? 'title' : at === 0 ? `${block} of the description` : `${block} of a commit`;
  const entries = blocks.flatMap((each) => each.entries);
  return { words: from, group: whyGroup({ ...data, kind }, entries) };
}
