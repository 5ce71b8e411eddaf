/** @jsxRuntime automatic @jsxImportSource preact */
import type { VNode } from 'preact';
import { cutLine } from '../../../lib/text.ts';
import { scriptAsset } from '../../../look/assets.ts';
import { imagesIn } from '../../../markdown/media.ts';
import { listFailedCopies } from '../../../media/copy-store.ts';
import { imageTypes, MAX_ALT } from '../../../media/model.ts';
import imagesScript from '../../client/images.client.js' with { type: 'text' };
import type { MemberVisit } from '../../page.ts';
import { counted } from '../../view/elements.tsx';

/** How many images of a text are looked up. */
const MAX_IMAGES = 100;

/** For `scripts` of a page with `InsertImage`. */
export const imageScript = scriptAsset('images.js', imagesScript);

/** Images of a post that Tidings could not copy: their links may stop working. */
export async function copyProblems(
  { db }: Pick<MemberVisit['deps'], 'db'>,
  { organizationId, markdown }: { organizationId: string; markdown: string },
): Promise<VNode | null> {
  const urls = /!\[|<img/i.test(markdown) ? imagesIn(markdown, MAX_IMAGES) : [];
  const failed = urls.length === 0 ? [] : await db.read((tx) => listFailedCopies(tx, organizationId, urls));
  if (failed.length === 0) return null;
  return (
    <div class="problem">
      <p>
        {counted(failed.length, 'image')} could not be copied. The text still links to the original, which may
        stop working. Upload the image here instead.
      </p>
      <ul>
        {failed.map(({ url, error }) => (
          <li>
            <a href={url} rel="noopener nofollow">
              {cutLine(url, 80)}
            </a>
            : {error ?? 'unknown cause'}
          </li>
        ))}
      </ul>
    </div>
  );
}

/**
 * Uploads images into the text of the field `for`: by this button, by pasting, by dropping. Then it asks for their
 * descriptions. Without the script it is a link to the page of images, which asks too.
 */
export function InsertImage({
  visit: { base, deps },
  field = 'field-markdown',
}: {
  visit: Pick<MemberVisit, 'base' | 'deps'>;
  /** The id of the text field. */
  field?: string;
}) {
  if (deps.media.files === null) return null;
  return (
    <div class="insert-image" data-images={`${base}/media`} data-for={field}>
      <button type="button" class="button" data-images-choose hidden>
        Insert image
      </button>
      <input
        type="file"
        accept={imageTypes.join(',')}
        multiple
        hidden
        aria-label="Image files"
        data-images-file
      />
      <a href={`${base}/media`}>Images</a>
      <span class="hint" data-images-hint hidden>
        Or paste or drop one into the text.
      </span>
      <ul class="image-problems" role="alert" data-images-problems />
      <ul class="image-alts" data-images-alts />
      <template data-images-template>
        <li class="card">
          <img alt="" width="56" height="56" />
          <label class="field">
            <span>Describe the image</span>
            <input type="text" maxlength={MAX_ALT} autocomplete="off" />
          </label>
          <button type="button" class="button" data-save>
            Save description
          </button>
          <button type="button" class="button" title="Skip (Esc)" data-skip>
            Skip
          </button>
          <p class="hint">For people who cannot see it. Press Esc to skip.</p>
        </li>
      </template>
      <span class="hidden" role="status" data-images-status />
    </div>
  );
}
