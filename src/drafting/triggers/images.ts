import type { ReadTx, WriteTx } from '../../../db/engine.ts';
import { imagesIn, replaceAddress } from '../../lib/markdown/media.ts';
import type { Deps } from '../../people/deps.ts';
import { fileNameOf, findCopies, queueCopies } from '../../posts/media/store.ts';
import { ATTACHMENTS } from '../../providers/api.ts';
import type { Event } from '../../providers/events.ts';
import { type IntegrationType, imagePlaceAt } from '../../providers/index.ts';
import type { Material } from '../store.ts';
import type { PlannedDraft } from './kinds/kind.ts';

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

/** The material with the addresses of the copies. */
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
