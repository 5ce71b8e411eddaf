/** @jsxRuntime automatic @jsxImportSource preact */
import type { Compose } from '../../../drafts/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { RehearsedPost } from '../../../triggers/rehearse.ts';
import { Prose } from '../../view/prose.tsx';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { contentWords } from './words.ts';

/** Shows the beginning of a post, in characters. */
const MAX_SHOWN_LENGTH = 10_000;

/** The time limit of a preview or a rehearsal, in milliseconds. */
const TIME_LIMIT_MS = 10_000;

/** Keeps a full log and a slow template from holding up a page for minutes. */
export function withinTime(compose: Compose): Compose {
  const end = performance.now() + TIME_LIMIT_MS;
  return async (recipe, material) => {
    if (performance.now() > end) {
      throw new AppError(503, `This took longer than ${TIME_LIMIT_MS / 1000} s and was stopped.`);
    }
    return compose(recipe, material);
  };
}

/** A post that a trigger would make, rendered for readers. */
export function TrialPost({ post, now }: { post: RehearsedPost; now: Date }) {
  const { title, contentType, status, subject, createdAt } = post;
  const markdown = cut(post.markdown);
  return (
    <article class="card pad trial">
      <h3 class="flat">{title}</h3>
      <p class="bar dim">
        <Status status={status} /> {contentWords[contentType]}, {subject}, <When at={createdAt} now={now} />
      </p>
      {contentType === 'linkedin_post' ? (
        <div class="prose plain">{cut(post.content)}</div>
      ) : (
        <Prose markdown={markdown} />
      )}
      <details class="more">
        <summary>
          Markdown<span class="hidden">: {title}</span>
        </summary>
        <pre class="wrap">{markdown}</pre>
      </details>
    </article>
  );
}

/** Cuts at the end of a line, so that no link or fence is cut in two. */
function cut(text: string): string {
  if (text.length <= MAX_SHOWN_LENGTH) return text;
  const end = text.lastIndexOf('\n', MAX_SHOWN_LENGTH);
  return `${text.slice(0, end > 0 ? end : MAX_SHOWN_LENGTH).toWellFormed()}\n\n…`;
}
