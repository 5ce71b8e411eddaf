/** @jsxRuntime automatic @jsxImportSource preact */
import type { Post } from '../../../posts/model.ts';
import { originOf } from '../../../posts/origin.ts';
import { StatusTag } from './words.tsx';

/** What can be done with the post. The buttons belong to the form below; the first is what Enter presses. */
export function EditorBar({ post: { status, contentType } }: { post: Post }) {
  const isDraft = status === 'draft';
  return (
    <div class="bar editor-bar">
      <StatusTag status={status} />
      <span class="grow" />
      {contentType === 'linkedin_post' ? (
        <button type="button" class="button" data-copy="plain-text" data-script hidden>
          Copy the text
        </button>
      ) : null}
      <button type="submit" form="post" class={isDraft ? 'button' : 'button go'}>
        Save
      </button>
      <button
        type="submit"
        form="post"
        name="status"
        value={isDraft ? 'published' : 'draft'}
        class={isDraft ? 'button go' : 'button'}
      >
        {isDraft ? 'Publish' : 'Unpublish'}
      </button>
    </div>
  );
}

export function DeletePost({ base, post }: { base: string; post: Post }) {
  const { id, title, status } = post;
  return (
    <details class="danger">
      <summary>Delete this post</summary>
      <form method="post" action={`${base}/posts/${id}/delete`}>
        <p>
          <strong>{title}</strong> goes for good, with its text.{' '}
          {status === 'published' ? 'The API stops returning it at once. ' : ''}
          {originOf(post).deliveryId === null ? '' : 'The events that it was made of do not write it again.'}
        </p>
        <button type="submit" class="button bad">
          Delete for good
        </button>
      </form>
    </details>
  );
}
