/** @jsxRuntime automatic @jsxImportSource preact */
import type { VNode } from 'preact';
import { AppError } from '../../lib/app-error.ts';
import { withRelativeMedia } from '../../markdown/media.ts';
import { texts } from '../../markdown/texts.ts';
import type { DashboardDeps } from '../page.ts';

/** Renders Markdown of any length, or says why there is no preview. */
export async function proseOf(
  { publicUrl }: Pick<DashboardDeps, 'publicUrl'>,
  stored: string,
): Promise<VNode> {
  try {
    const html = await texts.html(withRelativeMedia(stored, publicUrl()));
    // The one place for it: the renderer lets nothing active through.
    return <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return <p class="error">No preview: {error.message}.</p>;
  }
}
