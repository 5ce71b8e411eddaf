/** @jsxRuntime automatic @jsxImportSource preact */
import { imageTypes } from '../../../media/model.ts';
import imagesScript from '../../client/images.client.js' with { type: 'text' };
import type { MemberVisit } from '../../page.ts';
import { scriptAsset } from '../../view/assets.ts';

/** For `scripts` of a page with `InsertImage`. */
export const imageScript = scriptAsset('images.js', imagesScript);

/**
 * Uploads images into the text of the field `for`: by this button, by pasting, by dropping. Without the script it is a
 * link to the page of images.
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
      <span class="hidden" role="status" data-images-status />
    </div>
  );
}
