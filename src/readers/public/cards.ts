import type { Storage } from '../../../db/engine.ts';
import { keptBodies, publicImage } from '../../http/respond.ts';
import { AppError } from '../../lib/app-error.ts';
import { fullAgainAt, type RateLimit, waitMs } from '../../lib/bounded-map.ts';
import { cutLine } from '../../lib/text.ts';
import { type After, threadQueue } from '../../lib/thread.ts';
import { type Clock, formatLongDay } from '../../lib/time.ts';
import { PUBLIC_POSTS } from '../../posts/model.ts';
import { findPost } from '../../posts/store.ts';
import drawableRanges from './card-ranges.json' with { type: 'json' };
import type { CardAnswer } from './card-thread.ts';
import { type Publication, pageAddress } from './model.ts';
import { getPublic } from './service.ts';

export interface Card {
  heading: string;
  title: string;
  footer: string;
  accentColor: string;
}

const MAX_TITLE = 160;
const MAX_LINE = 80;

/** The image of the list, or of a post. A title in a script that the typefaces lack gives way to the page's. */
export function cardOf(
  publication: Publication,
  publicUrl: string,
  post: { title: string; createdAt: string } | null,
): Card {
  const { host, pathname } = new URL(pageAddress(publication, publicUrl));
  const address = cutLine(`${host}${pathname}`.replace(/\/$/, ''), MAX_LINE);
  const pageTitle = drawable(publication.title, MAX_LINE) ?? address;
  const { accentColor } = publication;
  const footer = post === null ? address : formatLongDay(post.createdAt);
  const title = post === null ? null : drawable(post.title, MAX_TITLE);
  return title === null
    ? { heading: '', title: pageTitle, footer, accentColor }
    : { heading: pageTitle, title, footer, accentColor };
}

/** Characters that a font draws in color, and joiners, selectors and directions, which show nothing by themselves. */
const OPTIONAL = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\p{Cf}\p{M}]/u;

/** The text without emoji; null when the typefaces lack one of its other characters, or nothing is left. */
function drawable(text: string, maxLength: number): string | null {
  const line = cutLine(text.normalize('NFC'), maxLength);
  let kept = '';
  for (const each of line) {
    if (isDrawable(each)) kept += each;
    else if (!OPTIONAL.test(each)) return null;
  }
  return cutLine(kept, maxLength) || null;
}

function isDrawable(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  // First and last code points of the typefaces, made by `bun run assets`.
  return drawableRanges.some(([first = 0, last = 0]) => first <= code && code <= last);
}

/** Changes when images look different, so that caches ask for them again. */
const DESIGN = '2';

/** About 200 images. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

const MAX_WAITING = 8;

/** Images that may be drawn. Kept ones do not count. */
const DRAWN: RateLimit = { burst: 60, everyMs: 1_000 };

const POST_CARD = /^([A-Za-z0-9_-]{1,64})\.png$/;

/** `card.png` of the list, `{postId}.png` of a post; null for any other name. Rejects with `AppError` 404 and 503. */
export type SendCard = (request: Request, slug: string, name: string) => Promise<Response | null>;

/** Strangers ask for social images, so few wait, and few are drawn a minute. One is kept until its texts change. */
export function createCards({
  db,
  clock,
  publicUrl,
  drawCard,
}: {
  db: Pick<Storage, 'read'>;
  clock: Clock;
  publicUrl: () => string;
  drawCard?: CardPainter['draw'];
}): SendCard {
  const kept = keptBodies(MAX_KEPT_BYTES);
  const underWay = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  let fullAt = 0;

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

/** How long one image may take, in milliseconds. Most take ten; the first of a thread loads the renderer. */
const TIME_LIMIT_MS = 5_000;

/** How long the thread is kept without work, in milliseconds: it weighs some 50 MB. */
const IDLE_MS = 30_000;

export interface CardPainter {
  draw(card: Card): Promise<Uint8Array<ArrayBuffer>>;
  close(): void;
}

const failures = {
  stopping: 'The image was not made: the server is stopping',
  failed: 'The image could not be made',
  slow: 'The image took too long to make',
};

/** Draws social images in a thread, one at a time. The thread starts with the first one. */
export function threadedPainter({ after }: { after?: After } = {}): CardPainter {
  const queue = threadQueue<Card, CardAnswer>({
    main: new URL('./card-thread.ts', import.meta.url),
    limitMs: TIME_LIMIT_MS,
    idleMs: IDLE_MS,
    after,
  });
  return {
    async draw(card) {
      const answer = await queue.ask(card, failures);
      if ('problem' in answer) throw new AppError(503, `${failures.failed}: ${answer.problem}`);
      return answer.png;
    },
    close: () => queue.close(),
  };
}
