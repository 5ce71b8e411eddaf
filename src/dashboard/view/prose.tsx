/** @jsxRuntime automatic @jsxImportSource preact */
import { renderMarkdown } from './markdown.ts';

/** Markdown as its readers see it. */
export function Prose({ markdown }: { markdown: string }) {
  // The one place for it: the renderer lets nothing active through.
  return <div class="prose" dangerouslySetInnerHTML={{ __html: renderMarkdown(markdown) }} />;
}
