import type { ReadTx, WriteTx } from '../../../db/engine.ts';
import type { Event } from '../../providers/events.ts';
import { requestAt } from '../../providers/paths.ts';
import { findIssues, findLinks } from '../events.ts';
import { listDraftsNaming, type Material, type Shipped } from '../store.ts';
import type { PlannedDraft } from './kinds/kind.ts';
import { queueRun, repeatRuns } from './queue-store.ts';

// The issues that commits and pull requests name, and those that the tracker links to a pull request. A draft records
// both, so that an issue that is completed or linked later changes it.

/** Of one draft. */
const MAX_IDENTIFIERS = 2_000;

type Issue = Shipped<'issue'>;
type Links = Awaited<ReturnType<typeof findLinks>>;

/** The identifiers that the changes of a draft name. */
function identifiersOf({ pushes, pullRequests, issues, release }: Material): Set<string> {
  const commits = pushes.flatMap(({ data }) => data.commits);
  const named = [...pullRequests.map(({ data }) => data), ...commits].filter((each) => each.identifiers);
  const all = new Set(named.flatMap(({ identifiers = [] }) => identifiers));
  // Those of a tracker's release: the issues of a rolling draft queue its runs themselves.
  if (release !== null) for (const { data } of issues) all.add(data.identifier);
  return new Set([...all].slice(0, MAX_IDENTIFIERS));
}

/** The pull requests of a draft whose pages are known. */
function requestsOf({ pullRequests }: Material) {
  return pullRequests.slice(0, MAX_IDENTIFIERS).flatMap(({ data }) => requestAt(data.url ?? '') ?? []);
}

/** The drafts with the completed issues of the organization that they name, or that link to them. */
export async function withIssues<Draft extends PlannedDraft>(
  tx: ReadTx,
  organizationId: string,
  drafts: readonly Draft[],
): Promise<Draft[]> {
  const named = drafts.map(({ material }) => (material === null ? noNames : namesIn(material)));
  const urls = new Set(named.flatMap(({ requests }) => requests.map(({ url }) => url)));
  const links = await findLinks(tx, organizationId, urls);
  const issues = await findIssues(tx, organizationId, {
    identifiers: new Set(named.flatMap(({ identifiers }) => [...identifiers])),
    ids: new Set(links.map(({ issueId }) => issueId)),
  });
  return drafts.map((draft, index) => {
    if (draft.material === null) return draft;
    const { material, keys } = join(draft.material, named[index] ?? noNames, issues, links);
    return { ...draft, material, eventKeys: [...draft.eventKeys, ...keys] };
  });
}

/** The names in a draft: issues, and the pull requests that issues link to. */
const namesIn = (material: Material) => ({
  identifiers: identifiersOf(material),
  requests: requestsOf(material),
});

const noNames: ReturnType<typeof namesIn> = { identifiers: new Set(), requests: [] };

/** `keys`: the deliveries that change the draft are found by them. */
function join(
  material: Material,
  { identifiers, requests }: ReturnType<typeof namesIn>,
  issues: readonly Issue[],
  links: Links,
) {
  const pages = new Set(requests.map(({ url }) => url));
  const own = links.filter(({ url }) => pages.has(url));
  const ids = new Set(own.map(({ issueId }) => issueId));
  const linked = issues.filter(
    ({ key, data }) => ids.has(key) || namesOf(data).some((each) => identifiers.has(each)),
  );
  const keys = [
    ...[...identifiers].map((each) => `identifier ${each}`),
    ...requests.map(({ number }) => requestKey(number)),
    ...[...ids].map(awaitedKey),
    ...[...own, ...linked].map(({ key }) => `issue ${key}`),
  ];
  return { material: { ...material, linked, pullRequests: withLinks(material, linked, own) }, keys };
}

/** A pull request names the issues that link to it. */
function withLinks({ pullRequests }: Material, issues: readonly Issue[], links: Links) {
  const byId = new Map(issues.map(({ key, data }) => [key, data.identifier]));
  const byPage = Map.groupBy(links, ({ url }) => url);
  return pullRequests.map((each) => {
    const { url, identifiers = [] } = each.data;
    const linking = (byPage.get(requestAt(url ?? '')?.url ?? '') ?? []).flatMap(
      ({ issueId }) => byId.get(issueId) ?? [],
    );
    if (linking.length === 0) return each;
    const all = [...new Set([...identifiers, ...linking.toSorted()])];
    return { ...each, data: { ...each.data, identifiers: all } };
  });
}

/** A link to the pull request with this number may come, of this repository or of another. */
const requestKey = (number: number) => `request ${number}`;

/** A link came, and its issue may be completed later. */
const awaitedKey = (issueId: string) => `linked ${issueId}`;

const namesOf = ({ identifier, previousIdentifiers = [] }: Issue['data']) => [
  identifier,
  ...previousIdentifiers,
];

/** Plans the drafts again that name an issue, or that a link concerns, in the transaction of its delivery. */
export async function queueNaming(
  tx: WriteTx,
  integrationId: string,
  versions: readonly Event[],
  now: Date,
): Promise<void> {
  const keys = versions.flatMap((event) => (event.type === 'issue' ? keysOfIssue(event) : []));
  const [newest] = versions;
  if (newest === undefined || keys.length === 0) return;
  // First: a run that has read the issues and not written its draft is not found below.
  await repeatRuns(tx, integrationId);
  const naming = await listDraftsNaming(tx, integrationId, [...new Set(keys)]);
  for (const { triggerId, scope, until: since } of naming) {
    await queueRun(tx, { triggerId, scope, since, deliveryId: newest.deliveryId }, now);
  }
}

function keysOfIssue({ key, data }: Issue): string[] {
  if (data.linksTo === undefined)
    return [...namesOf(data).map((each) => `identifier ${each}`), awaitedKey(key)];
  const request = requestAt(data.linksTo ?? '');
  return request === null ? [] : [requestKey(request.number)];
}
