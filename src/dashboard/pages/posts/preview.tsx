/** @jsxRuntime automatic @jsxImportSource preact */
import type { VNode } from 'preact';
import { type ContentType, contentTypes, MAX_LINKEDIN_LENGTH } from '../../../posts/model.ts';
import { plainTextFor } from '../../../posts/service.ts';
import { type DashboardDeps, fragment, type Page, post } from '../../page.ts';
import { proseOf } from '../../view/prose.tsx';

/** More than a post can hold is not rendered. */
const MAX_LENGTH = 200_000;

export const previewing: readonly Page[] = [
  post('/dashboard/:organizationId/posts/~/preview', 'member', async ({ deps, form }) => {
    const markdown = (form.get('markdown') ?? '')
      .replaceAll('\r\n', '\n')
      .slice(0, MAX_LENGTH)
      .toWellFormed();
    const contentType = contentTypeOf(form);
    return fragment(await previewOf(deps, { contentType, markdown }));
  }),
];

/** The type that a form says; a changelog when it says none that there is. */
export function contentTypeOf(form: URLSearchParams): ContentType {
  return contentTypes.find((each) => each === form.get('contentType')) ?? 'changelog';
}

/** A post as its readers see it: rendered, or for LinkedIn as the plain text that is pasted there. */
export async function previewOf(
  deps: Pick<DashboardDeps, 'render'>,
  { contentType, markdown, content }: { contentType: ContentType; markdown: string; content?: string },
): Promise<VNode> {
  if (markdown.trim() === '') return <p class="dim">What you write shows here.</p>;
  if (contentType !== 'linkedin_post') return proseOf(deps, markdown);
  return <ForLinkedIn text={content ?? plainTextFor(contentType, markdown)} />;
}

function ForLinkedIn({ text }: { text: string }) {
  const isTooLong = text.length > MAX_LINKEDIN_LENGTH;
  const length = `${text.length.toLocaleString('en')} of ${MAX_LINKEDIN_LENGTH.toLocaleString('en')} characters`;
  return (
    <>
      <div id="plain-text" class="prose plain">
        {text}
      </div>
      <p class={isTooLong ? 'error' : 'hint'}>
        {isTooLong ? `${length}: more than LinkedIn takes.` : `${length}, as plain text.`}
      </p>
    </>
  );
}
