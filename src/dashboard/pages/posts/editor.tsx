/** @jsxRuntime automatic @jsxImportSource preact */
import { compareTexts } from '../../../drafts/suggestions.ts';
import type { AppError } from '../../../lib/app-error.ts';
import type { OwnedPost, Post } from '../../../posts/model.ts';
import { type MemberVisit, type View, view } from '../../page.ts';
import { Difference } from '../../view/difference.tsx';
import { FormError } from '../../view/form.tsx';
import { DeletePost, EditorBar } from './editor-bar.tsx';
import { findSource, OriginLine } from './origin.tsx';
import { previewOf } from './preview.tsx';
import { findSuggestion, SuggestionNote } from './suggestion-note.tsx';
import { TextFields } from './text-fields.tsx';
import { asSentence } from './words.tsx';

type Text = Pick<Post, 'title' | 'markdown'>;

/** The editor: with the post as it is or, after something went wrong, with what was typed. */
export async function showEditor(
  visit: MemberVisit,
  post: OwnedPost,
  refused?: { typed: Text; error: AppError },
): Promise<View> {
  const { base, deps } = visit;
  const { title, markdown } = refused?.typed ?? post;
  const error = refused?.error;
  const isConflict = error?.status === 409;
  const suggestion = await findSuggestion(deps, post);
  const { contentType, content } = post;
  const shown = { contentType, markdown, ...(markdown === post.markdown ? { content } : {}) };
  const preview = await previewOf(deps, shown);
  const message = isConflict ? null : (error?.message ?? null);
  return view(
    post.title,
    <>
      <h1 class="hidden">{`Edit ${post.title}`}</h1>
      <EditorBar post={post} />
      <OriginLine post={post} base={base} source={await findSource(deps, post)} now={deps.clock.now()} />
      {suggestion === null || isConflict ? null : (
        <SuggestionNote base={base} post={post} suggestion={suggestion} now={deps.clock.now()} />
      )}
      {isConflict ? <Conflict base={base} post={post} typed={{ title, markdown }} /> : null}
      <form method="post" action={`${base}/posts/${post.id}`} id="post" class="post">
        <FormError
          error={message === null || /^(?:title|markdown) /.test(message) ? null : asSentence(message)}
        />
        <input type="hidden" name="seen" value={post.updatedAt} />
        <input type="hidden" name="contentType" value={post.contentType} />
        <TextFields base={base} title={title} markdown={markdown} error={message} preview={preview} />
      </form>
      <DeletePost base={base} post={post} />
    </>,
    { section: 'posts', ...(error === undefined ? {} : { status: error.status }) },
  );
}

/** Somebody else was quicker: both texts, and how to go on with either. */
function Conflict({ base, post, typed }: { base: string; post: OwnedPost; typed: Text }) {
  return (
    <div class="problem conflict" role="alert">
      <p>
        <strong>This post was changed while you had it open, and yours is not saved yet.</strong>
      </p>
      <p>
        Your text is below. Save it, and it takes the place of what is stored now; or{' '}
        <a href={`${base}/posts/${post.id}`}>drop yours and open what is stored</a>.
      </p>
      <Difference label="What saving yours would change" lines={compareTexts(post, typed)} />
      <details>
        <summary>What is stored now, whole</summary>
        <p>
          <strong>{post.title}</strong>
        </p>
        <pre class="stored">{post.markdown}</pre>
      </details>
    </div>
  );
}
