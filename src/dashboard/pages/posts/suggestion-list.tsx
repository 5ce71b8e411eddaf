/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { compareTexts } from '../../../drafts/suggestions.ts';
import { AppError } from '../../../lib/app-error.ts';
import { findSuggestedChange, type SuggestedChange } from '../../../posts/suggestion-store.ts';
import { acceptChange, dismissChange, suggestedText } from '../../../posts/suggestions.ts';
import { type Page, post, redirect } from '../../page.ts';
import { readFields } from '../../submission.ts';
import { counted, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { Difference, requirePost, type Shown } from './suggestion.tsx';

// Changes of a post that agents propose, above its editor.

/** `seen`: the `updatedAt` of the post that the person compared the suggestion with. */
const DecisionForm = Type.Object({
  choice: Type.Optional(Type.Union([Type.Literal('accept'), Type.Literal('dismiss')])),
  seen: Type.String(),
});

export const routes: readonly Page[] = [
  post('/dashboard/:organizationId/posts/:postId/suggestions/:suggestionId', 'member', async (visit) => {
    const { deps, params, form } = visit;
    const { post, path } = await requirePost(visit);
    const { choice, seen } = readFields(DecisionForm, form);
    const found = await deps.db.read((tx) => findSuggestedChange(tx, params.suggestionId ?? ''));
    if (found?.postId !== post.id) {
      return redirect(path, 'The suggestion no longer exists. Nothing was changed.');
    }
    if (choice === undefined) throw new AppError(400, 'Choose to accept or to dismiss the suggestion.');
    if (choice === 'dismiss') {
      await dismissChange(deps, found.id);
      return redirect(path, 'The suggestion is dismissed.');
    }
    try {
      const { previousId } = await acceptChange(deps, found.id, { seen });
      const undo = previousId === null ? undefined : `${path}/versions/${previousId}/restore`;
      return redirect(path, 'The post now has the suggested text.', undo);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'post_changed') throw error;
      return redirect(path, 'The post changed in the meantime. Nothing was saved. Compare them again.');
    }
  }),
];

/** Several differences on one page must not take long to make. */
const MAX_EDIT_LENGTH = 500;

export function SuggestedChanges({
  post,
  path,
  changes,
  now,
}: Shown & { changes: readonly SuggestedChange[]; now: Date }) {
  if (changes.length === 0) return null;
  return (
    <section class="note" id="suggestions" aria-labelledby="suggestions-label">
      <p>
        <strong id="suggestions-label">
          {counted(changes.length, 'suggestion')} for this post. The post does not change until you accept
          one.
        </strong>
      </p>
      {changes.map((change) => {
        const by = change.keyName || 'An unnamed API key';
        const action = (choice: string, label: string) => (
          <Action
            to={`${path}/suggestions/${change.id}`}
            label={label}
            fields={{ choice, seen: post.updatedAt }}
          />
        );
        return (
          <article aria-label={`Suggestion of ${by}`}>
            <p>
              <strong>{by}</strong> <When at={change.createdAt} now={now} />
            </p>
            {change.note === '' ? null : <p class="stored">{change.note}</p>}
            <Difference
              label="Changes"
              lines={compareTexts(post, suggestedText(post, change), MAX_EDIT_LENGTH)}
            />
            <div class="bar">
              {action('accept', 'Accept suggestion')}
              {action('dismiss', 'Dismiss suggestion')}
            </div>
          </article>
        );
      })}
    </section>
  );
}
