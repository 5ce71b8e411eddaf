/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { FieldError } from '../../view/form.tsx';
import { asSentence } from './words.tsx';

/** The title and the Markdown of a post, beside what it looks like. The script keeps the preview up to date. */
export function TextFields({
  base,
  title,
  markdown,
  error,
  preview,
  autoFocus = false,
  children,
}: {
  base: string;
  title: string;
  markdown: string;
  /** What is wrong, beginning with the field's name. */
  error: string | null;
  preview: ComponentChildren;
  autoFocus?: boolean;
  children?: ComponentChildren;
}) {
  const about = (name: string) => (error?.startsWith(`${name} `) ? asSentence(error) : null);
  const [titleError, textError] = [about('title'), about('markdown')];
  return (
    <>
      <div class={titleError === null ? 'field title-field' : 'field title-field wrong'}>
        <label for="field-title">Title</label>
        <input
          id="field-title"
          name="title"
          value={title}
          required
          autocomplete="off"
          autofocus={autoFocus}
          aria-invalid={titleError === null ? undefined : 'true'}
          aria-describedby={titleError === null ? undefined : 'field-title-error'}
        />
        <FieldError id="field-title-error" error={titleError} />
      </div>
      {children}
      <div class="editor">
        <div class={textError === null ? 'field' : 'field wrong'}>
          <label for="field-markdown">Text, in Markdown</label>
          {/* A parser drops one line break at the beginning: this one, and none of the text's own. */}
          <textarea
            id="field-markdown"
            name="markdown"
            data-preview={`${base}/posts/~/preview`}
            aria-invalid={textError === null ? undefined : 'true'}
            aria-describedby={textError === null ? undefined : 'field-markdown-error'}
          >
            {`\n${markdown}`}
          </textarea>
          <FieldError id="field-markdown-error" error={textError} />
        </div>
        <section aria-labelledby="preview-label">
          <h2 class="label" id="preview-label">
            Preview
          </h2>
          <div class="card preview" id="preview">
            {preview}
          </div>
        </section>
      </div>
    </>
  );
}
