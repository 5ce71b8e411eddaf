import type { Deps } from '../deps.ts';
import { AppError, messageOf } from '../lib/app-error.ts';
import { fetchPublic, type PublicFetchOptions, RefusedDownload } from '../lib/public-fetch.ts';
import { type Copy, listDueCopies, updateCopy } from './copy-store.ts';
import { MAX_IMAGE_BYTES } from './model.ts';
import { addImage } from './service.ts';

// Copies the images that release notes name. The addresses that providers sign expire within minutes.

/** How long to wait after each failure, in milliseconds. After the last one the copy is given up. */
const BACK_OFF_MS = [2_000, 8_000, 20_000, 60_000, 120_000];

const TIMEOUT_MS = 20_000;

/** Downloads at a time. */
const AT_ONCE = 4;

const MAX_ERROR_LENGTH = 300;

type Needs = Parameters<typeof addImage>[0] & Pick<Deps, 'log'>;

export interface CopyOptions extends Omit<PublicFetchOptions, 'maxBytes' | 'timeoutMs' | 'headersFor'> {
  /** Headers for images at the integration's provider, by address: its token, for its own hosts alone. */
  accessOf?: (integrationId: string) => Promise<NonNullable<PublicFetchOptions['headersFor']>>;
  timeoutMs?: number;
}

/** Makes the copies that are due. Returns how many it tried. */
export async function copyImages(
  deps: Needs,
  options: CopyOptions = {},
  signal?: AbortSignal,
): Promise<number> {
  const { db, clock, media } = deps;
  if (media.files === null) return 0;
  let tried = 0;
  while (signal?.aborted !== true) {
    const due = await db.read((tx) =>
      listDueCopies(tx, clock.now(), { limit: AT_ONCE, maxWaitMs: Math.max(...BACK_OFF_MS) }),
    );
    if (due.length === 0) break;
    await Promise.all(due.map((copy) => makeCopy(deps, copy, options)));
    tried += due.length;
  }
  return tried;
}

async function makeCopy(deps: Needs, copy: Copy, { accessOf, ...options }: CopyOptions): Promise<void> {
  const { db, clock, log } = deps;
  const { integrationId, organizationId, url, attempts } = copy;
  try {
    const headersFor = await accessOf?.(integrationId);
    const bytes = await fetchPublic(url, {
      timeoutMs: TIMEOUT_MS,
      ...options,
      maxBytes: MAX_IMAGE_BYTES,
      ...(headersFor && { headersFor }),
    });
    const { id } = await addImage(deps, { organizationId, bytes, name: nameOf(url) });
    await db.write((tx) => updateCopy(tx, copy, { status: 'done', mediaId: id, error: null }), keyOf(copy));
  } catch (error) {
    const isFinal = error instanceof RefusedDownload || (error instanceof AppError && error.isRefusal);
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

/** The last part of the path. */
function nameOf(url: string): string {
  const last = new URL(url).pathname.split('/').findLast(Boolean) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
