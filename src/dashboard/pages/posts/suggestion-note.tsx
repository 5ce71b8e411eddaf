/** @jsxRuntime automatic @jsxImportSource preact */
import type { Deps } from '../../../deps.ts';
import type { Suggestion } from '../../../drafts/model.ts';
import { getSuggestion, hasSuggestionFor } from '../../../drafts/suggestions.ts';
import type { Post } from '../../../posts/model.ts';
import { Difference } from '../../view/difference.tsx';
import { Action } from '../../view/form.tsx';
import { When } from '../../view/when.tsx';

export async function findSuggestion(deps: Pick<Deps, 'db'>, { id }: Post): Promise<Suggestion | null> {
  return (await hasSuggestionFor(deps, id)) ? getSuggestion(deps, id) : null;
}

/** A newer text for a post that a person has touched: what it would change, and whether to take it. */
export function SuggestionNote({
  base,
  post,
  suggestion,
  now,
}: {
  base: string;
  post: Post;
  suggestion: Suggestion;
  now: Date;
}) {
  const to = `${base}/posts/${post.id}/suggestion`;
  // What is pressed is about what was read, not about what came since.
  const seen = { suggestedAt: suggestion.suggestedAt, seen: post.updatedAt };
  return (
    <section class="note" aria-labelledby="suggestion">
      <p>
        <strong id="suggestion">There is a newer text for this post.</strong> What it tells of changed{' '}
        <When at={suggestion.suggestedAt} now={now} />, after{' '}
        {post.status === 'published' ? 'it was published' : 'somebody edited it'}.
      </p>
      <Difference label="What it would change" lines={suggestion.changes} />
      <div class="bar">
        <Action to={to} label="Take the new text" fields={{ choice: 'take', ...seen }} />
        <Action to={to} label="Keep mine" fields={{ choice: 'keep', ...seen }} />
      </div>
    </section>
  );
}
