import { AppError, messageOf } from '../../lib/app-error.ts';
import { fetchPublic, type PublicFetchOptions, RefusedDownload } from '../../lib/public-fetch.ts';
import type { Deps } from '../../people/deps.ts';
import { addImage } from './service.ts';
import { type Copy, listDueCopies, MAX_IMAGE_BYTES, updateCopy } from './store.ts';

// Copies the images that release notes name. The addresses that providers sign expire within minutes.

/** How long to wait after each failure, in milliseconds. After the last one the copy is given up. */
const BACK_OFF_MS = [2_000, 8_000, 20_000, 60_000, 120_000];

const TIMEOUT_MS = 20_000;

/** Downloads at a time, in all and of one organization. */
const AT_ONCE = 4;
const AT_ONCE_EACH = 2;

/** How often to look for other organizations' images while downloads are slow, in milliseconds. */
const LOOK_MS = 500;

const MAX_ERROR_LENGTH = 300;

type Needs = Parameters<typeof addImage>[0] & Pick<Deps, 'log'>;

export interface CopyOptions
  extends Omit<PublicFetchOptions, 'maxBytes' | 'timeoutMs' | 'headersFor' | 'signal'> {
  accessOf?: (
    copy: Pick<Copy, 'integrationId' | 'url'>,
  ) => Promise<NonNullable<PublicFetchOptions['headersFor']>>;
  timeoutMs?: number;
}

/** Makes the copies that are due. Returns how many it tried. A stop ends the downloads. */
export async function copyImages(
  deps: Needs,
  options: CopyOptions = {},
  signal?: AbortSignal,
): Promise<number> {
  if (deps.media.files === null) return 0;
  const abort = new AbortController();
  const stop = AbortSignal.any([abort.signal, ...(signal === undefined ? [] : [signal])]);
  const failures: unknown[] = [];
  const underWay = new Map<Copy, Promise<void>>();
  let tried = 0;
  try {
    while (failures.length === 0) {
      const current = [...underWay.keys()];
      const isFull = stop.aborted || current.length >= AT_ONCE;
      const copy = isFull ? null : await findCopy(deps, current);
      if (copy === null) {
        if (current.length === 0) break;
        // One that ended meanwhile may have been what kept another back.
        if (underWay.size === current.length) await Promise.race([...underWay.values(), Bun.sleep(LOOK_MS)]);
        continue;
      }
      tried++;
      const work = makeCopy(deps, copy, options, stop).catch((error) => void failures.push(error));
      underWay.set(
        copy,
        work.finally(() => underWay.delete(copy)),
      );
    }
  } finally {
    abort.abort();
    await Promise.all(underWay.values());
  }
  if (failures.length > 0) throw failures[0];
  return tried;
}

/** The copy that has waited longest, of an organization that has room for another download. */
async function findCopy({ db, clock }: Needs, underWay: readonly Copy[]): Promise<Copy | null> {
  const owners = underWay.map(({ organizationId }) => organizationId);
  const busy = owners.filter((id) => owners.filter((other) => other === id).length >= AT_ONCE_EACH);
  const isUnderWay = ({ integrationId, url }: Copy) =>
    underWay.some((each) => each.integrationId === integrationId && each.url === url);
  const range = { except: busy, limit: underWay.length + 1, maxWaitMs: Math.max(...BACK_OFF_MS) };
  const due = await db.read((tx) => listDueCopies(tx, clock.now(), range));
  return due.find((copy) => !isUnderWay(copy)) ?? null;
}

async function makeCopy(
  deps: Needs,
  copy: Copy,
  { accessOf, ...options }: CopyOptions,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock, log } = deps;
  const { integrationId, organizationId, url, attempts } = copy;
  try {
    const headersFor = await accessOf?.(copy);
    const bytes = await fetchPublic(url, {
      timeoutMs: TIMEOUT_MS,
      ...options,
      signal,
      maxBytes: MAX_IMAGE_BYTES,
      ...(headersFor && { headersFor }),
    });
    const { id } = await addImage(deps, { organizationId, bytes, name: nameOf(url) });
    await db.write((tx) => updateCopy(tx, copy, { status: 'done', mediaId: id, error: null }), keyOf(copy));
  } catch (error) {
    // The next start repeats the download.
    if (signal.aborted) return;
    const isFinal = error instanceof RefusedDownload || (error instanceof AppError && error.status < 500);
    const waitMs = isFinal ? undefined : BACK_OFF_MS[attempts];
    const reason = messageOf(error).slice(0, MAX_ERROR_LENGTH).toWellFormed();
    const tried = { attempts: attempts + 1, error: reason };
    if (waitMs === undefined) {
      // Without its query, which may hold a signature.
      log.warn({ integrationId, url: url.split('?')[0], err: error }, 'an image could not be copied');
    }
    const next =
      waitMs === undefined
        ? { ...tried, status: 'failed' as const }
        : { ...tried, dueAt: clock.now().getTime() + waitMs };
    await db.write((tx) => updateCopy(tx, copy, next), keyOf(copy));
  }
}

const keyOf = ({ integrationId }: Copy) => ({ key: `copies ${integrationId}` });

function nameOf(url: string): string {
  const last = new URL(url).pathname.split('/').findLast(Boolean) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
