import type { ReadTx, Storage } from '../../db/engine.ts';
import { keptBodies } from '../http/kept.ts';
import type { Rendered } from '../http/respond.ts';
import { tallyPosts } from '../posts/store.ts';
import { PUBLIC_POSTS, type Publication, type Surface } from './model.ts';
import { getPublic } from './service.ts';

/** For all kept bodies together. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** What a public body is made from, all of one snapshot. */
export interface PublicView {
  tx: ReadTx;
  publication: Publication;
  totalItems: number;
}

/** A body with the settings that it shows. */
export type PublicBody = Rendered & { readonly publication: Publication };

/** A text, or a function that makes it after the transaction, for work that takes milliseconds or waits. */
export type PublicText = string | (() => string | Promise<string>);

/**
 * Returns a function that renders public content and keeps it. Every request compares the settings and the version of the
 * public posts with the database, so that a switch and a write show in the next response. `key` names the content within
 * the organization. Requests for the same content at the same time share one rendering. Throws `AppError` 404 when the
 * surface is off.
 */
export function createPublicPages(db: Pick<Storage, 'read'>, maxKeptBytes = MAX_KEPT_BYTES) {
  // Compressed once and sent to many: level 9 saves a third of a page.
  const kept = keptBodies(maxKeptBytes, 9);
  const pending = new Map<string, Promise<PublicBody>>();

  async function examine(tx: ReadTx, slug: string, surface: Surface) {
    const publication = await getPublic(tx, slug, surface);
    const { totalItems, version } = await tallyPosts(tx, publication.organizationId, PUBLIC_POSTS);
    // Deleting the logo's image changes the settings without a new version.
    const shown = `${publication.version} ${publication.logoId} ${version}`;
    return { publication, totalItems, version: shown };
  }

  return async function renderPublic(
    slug: string,
    surface: Surface,
    key: string,
    render: (view: PublicView) => Promise<PublicText>,
  ): Promise<PublicBody> {
    const name = `${slug} ${key}`;
    const { version, publication } = await db.read((tx) => examine(tx, slug, surface));
    const present = kept.find(name, version);
    if (present !== null) return { ...present, publication };

    const make = async (): Promise<PublicBody> => {
      const fresh = await db.read(async (tx) => {
        const current = await examine(tx, slug, surface);
        return { ...current, text: await render({ tx, ...current }) };
      });
      const text = typeof fresh.text === 'string' ? fresh.text : await fresh.text();
      const body = kept.keep(name, fresh.version, new TextEncoder().encode(text));
      return { ...body, publication: fresh.publication };
    };
    const work = `${name} ${version}`;
    const running = pending.get(work);
    if (running !== undefined) return running;
    const started = make().finally(() => pending.delete(work));
    pending.set(work, started);
    return started;
  };
}
