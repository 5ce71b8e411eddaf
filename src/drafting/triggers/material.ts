import type { ReadTx, WriteTx } from '../../../db/engine.ts';
import { imagesIn, replaceAddress } from '../../lib/markdown/media.ts';
import type { Deps } from '../../people/deps.ts';
import { fileNameOf, findCopies, queueCopies } from '../../posts/media/store.ts';
import { ATTACHMENTS } from '../../providers/api.ts';
import type { Event } from '../../providers/events.ts';
import { type IntegrationType, imagePlaceAt } from '../../providers/index.ts';
import { requestAt } from '../../providers/paths.ts';
import { findIssues, findLinks } from '../events.ts';
import { listDraftsNaming, type Material, type Shipped } from '../store.ts';
import type { PlannedDraft } from './kinds/kind.ts';
import { queueRun, repeatRuns } from './queue-store.ts';

// Completes the material of drafts: with the copies of images, and with the issues of a tracker.

// Images in the notes of events. A job copies them, and drafts show the copies.

/** Of one event. */
const MAX_IMAGES = 20;

/** How long a draft waits for the copies of its images, in milliseconds. */
const WAIT_MS = 60_000;

/** The same while nobody has tried yet, because the images of many events come first. */
const QUEUE_MS = 15 * 60_000;

/** The Markdown of an event; null when it has none. */
function notesOf(event: Event): string | null {
  if (event.type === 'release') return event.data.notes;
  if (event.type === 'project_update') return event.data.body;
  return event.type === 'project' ? event.data.summary : null;
}

type PlaceOf = ReturnType<typeof imagePlaceAt>;

/**
 * The images of an event to copy: none of this server, and none in another repository. The integration's token may read
 * private repositories that the author of the notes can't.
 */
function imagesOf(event: Event, placeOf: PlaceOf): string[] {
  const notes = notesOf(event);
  if (notes === null || !/!\[|<img/i.test(notes)) return [];
  const places = [null, ATTACHMENTS, event.repository?.toLowerCase()];
  return imagesIn(notes, MAX_IMAGES).filter((address) => {
    if (/\/media\/img_[A-Za-z0-9_-]+\.\w+$/.test(address)) return false;
    const url = URL.parse(address);
    return url !== null && places.includes(placeOf(url));
  });
}

/** The owner of the copies. */
export interface ImageOwner {
  organizationId: string;
  placeOf: PlaceOf;
}

/** Null where there is no place for copies. */
export function imageOwner(
  deps: Pick<Deps, 'media' | 'providerUrls'>,
  { organizationId, integrationType }: { organizationId: string; integrationType: IntegrationType },
): ImageOwner | null {
  if (deps.media.files === null) return null;
  return { organizationId, placeOf: imagePlaceAt(integrationType, deps) };
}

/** In the delivery's transaction, so that the images of an acknowledged event are copied. */
export async function queueImages(
  tx: WriteTx,
  { organizationId, placeOf }: ImageOwner,
  integrationId: string,
  event: Event,
  now: Date,
): Promise<void> {
  await queueCopies(tx, { integrationId, organizationId }, imagesOf(event, placeOf), now);
}

/** The copies of the drafts' images by address. Null while some are still being made. */
export async function readCopies(
  tx: ReadTx,
  { integrationId, placeOf }: { integrationId: string; placeOf: PlaceOf },
  drafts: readonly PlannedDraft[],
  now: Date,
): Promise<ReadonlyMap<string, string> | null> {
  const events = drafts.flatMap(({ material }) => eventsOf(material));
  const urls = new Set(events.flatMap((event) => imagesOf(event, placeOf)));
  const copies = await findCopies(tx, integrationId, [...urls]);
  // A copy that was queued later than now dates from a clock set ahead.
  const isPending = ({ status, attempts, createdAt }: (typeof copies)[number]) =>
    status === 'queued' &&
    Math.abs(now.getTime() - Date.parse(createdAt)) < (attempts === 0 ? QUEUE_MS : WAIT_MS);
  if (copies.some(isPending)) return null;
  return new Map(
    copies.flatMap(({ url, mediaId: id, type }) =>
      id === null || type === null ? [] : [[url, `/media/${fileNameOf({ id, type })}`]],
    ),
  );
}

function eventsOf(material: Material | null): Event[] {
  return [material?.release, material?.update, material?.project].filter((event) => event != null);
}

export function withCopies(
  material: Material,
  copies: ReadonlyMap<string, string>,
  publicUrl: string,
): Material {
  if (copies.size === 0) return material;
  const replaced = (text: string | null) => {
    let current = text;
    for (const [url, path] of copies) current = current && replaceAddress(current, url, publicUrl + path);
    return current;
  };
  const { release, update, project } = material;
  return {
    ...material,
    release: release && { ...release, data: { ...release.data, notes: replaced(release.data.notes) } },
    update: update && { ...update, data: { ...update.data, body: replaced(update.data.body) } },
    project: project && { ...project, data: { ...project.data, summary: replaced(project.data.summary) } },
  };
}

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

const namesOf = ({ identifier, previousIdentifiers: earlier = [] }: Issue['data']) => [
  identifier,
  ...earlier,
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
