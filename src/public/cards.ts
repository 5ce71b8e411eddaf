import type { Storage } from '../../db/engine.ts';
import { keptBodies } from '../http/kept.ts';
import { publicImage } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import { fullAgainAt, type RateLimit, waitMs } from '../lib/rate-limit.ts';
import type { Clock } from '../lib/time.ts';
import { findPost } from '../posts/store.ts';
import { type Card, cardOf } from './card-model.ts';
import type { CardPainter } from './card-queue.ts';
import { PUBLIC_POSTS } from './model.ts';
import { getPublic } from './service.ts';

/** Changes when images look different, so that caches ask for them again. */
const DESIGN = '1';

/** About 200 images. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/** Images that are drawn or wait. */
const MAX_WAITING = 8;

/** Images that may be drawn. Kept ones do not count. */
const DRAWN: RateLimit = { burst: 60, everyMs: 1_000 };

const POST_CARD = /^([A-Za-z0-9_-]{1,64})\.png$/;

/**
 * Sends the image that a name below a page's address stands for: `card.png` of the list, `{postId}.png` of a post. Null
 * for any other name. Rejects with `AppError` 404 for anything that is not public, and 503 when too many are asked for.
 */
export type SendCard = (request: Request, slug: string, name: string) => Promise<Response | null>;

/**
 * Social images of public pages. Strangers ask for them, so the work is bounded: few wait, and few are drawn a minute.
 * An image is kept until one of its texts changes.
 */
export function createCards({
  db,
  clock,
  publicUrl,
  drawCard,
}: {
  db: Pick<Storage, 'read'>;
  clock: Clock;
  publicUrl: () => string;
  /** Absent: there are no images. */
  drawCard?: CardPainter['draw'];
}): SendCard {
  const kept = keptBodies(MAX_KEPT_BYTES);
  const underWay = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  let fullAt = 0;

  /** Throws `AppError` 503. */
  function requireRoom(): void {
    const now = clock.now().getTime();
    fullAt = fullAgainAt(fullAt, DRAWN, now);
    if (underWay.size >= MAX_WAITING || waitMs(fullAt, DRAWN, now) > 0) {
      const headers = { 'retry-after': '2' };
      throw new AppError(503, 'Too many images are being made. Try again in a moment', {
        headers,
        isRefusal: true,
      });
    }
    fullAt += DRAWN.everyMs;
  }

  async function draw(key: string, version: string, card: Card): Promise<Uint8Array<ArrayBuffer>> {
    const present = kept.find(key, version)?.body ?? (await underWay.get(version));
    if (present !== undefined) return present;
    if (drawCard === undefined) throw new AppError(404, 'Not found');
    requireRoom();
    const drawing = drawCard(card)
      .then((png) => kept.keep(key, version, png).body)
      .finally(() => underWay.delete(version));
    underWay.set(version, drawing);
    return drawing;
  }

  /** The texts of the list's image, or of a post's. Throws `AppError` 404. */
  function findCard(slug: string, postId: string | null): Promise<Card> {
    return db.read(async (tx) => {
      const publication = await getPublic(tx, slug, 'isPageOn');
      if (postId === null) return cardOf(publication, publicUrl(), null);
      const json = await findPost(tx, publication.organizationId, postId, PUBLIC_POSTS);
      if (json === null) throw new AppError(404, 'Not found');
      return cardOf(publication, publicUrl(), json);
    });
  }

  async function send(request: Request, slug: string, postId: string | null): Promise<Response> {
    const card = await findCard(slug, postId);
    const version = Bun.hash(JSON.stringify([DESIGN, card])).toString(36);
    return publicImage(request, `"${version}"`, () => draw(`${slug}/${postId ?? ''}`, version, card));
  }

  return async (request, slug, name) => {
    if (name === 'card.png') return send(request, slug, null);
    const [, postId] = POST_CARD.exec(name) ?? [];
    return postId === undefined ? null : send(request, slug, postId);
  };
}
