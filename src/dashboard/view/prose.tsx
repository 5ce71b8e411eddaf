/** @jsxRuntime automatic @jsxImportSource preact */
import type { VNode } from 'preact';
import { AppError } from '../../lib/app-error.ts';
import { withRelativeMedia } from '../../markdown/media.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import type { DashboardDeps } from '../page.ts';

/** Longer texts are rendered in the thread: 200,000 characters may take a second. */
const MAX_HERE = 10_000;

export function Prose({
  markdown = '',
  html = renderMarkdown(markdown),
}: {
  markdown?: string;
  html?: string;
}) {
  // The one place for it: the renderer lets nothing active through.
  return <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />;
}

/** Renders Markdown of any length, or says why there is no preview. */
export async function proseOf(
  { render, publicUrl }: Pick<DashboardDeps, 'render' | 'publicUrl'>,
  stored: string,
): Promise<VNode> {
  const markdown = withRelativeMedia(stored, publicUrl());
  if (render === undefined || markdown.length <= MAX_HERE) return <Prose markdown={markdown} />;
  try {
    return <Prose html={await render(markdown)} />;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return <p class="error">No preview: {error.message}.</p>;
  }
}
