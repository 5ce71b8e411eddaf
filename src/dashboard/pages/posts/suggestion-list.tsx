/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import type { Deps } from '../../../deps.ts';
import { compareTexts } from '../../../drafts/compare.ts';
import type { SuggestedLine } from '../../../drafts/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { turns } from '../../../lib/time.ts';
import type { Post } from '../../../posts/model.ts';
import {
  findSuggestedChange,
  listSuggestedChanges,
  type SuggestedChange,
} from '../../../posts/suggestion-store.ts';
import { acceptChange, dismissChange, suggestedText } from '../../../posts/suggestions.ts';
import { get, type Page, post, redirect } from '../../page.ts';
import { readFields } from '../../submission.ts';
import { Difference } from '../../view/difference.tsx';
import { counted, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { requirePost, type Shown, showText } from './suggestion.tsx';

// Changes of a post that agents propose, above its editor.

/** `seen`: the `updatedAt` of the post that the person compared the suggestion with. */
const DecisionForm = Type.Object({
  choice: Type.Optional(Type.Union([Type.Literal('accept'), Type.Literal('dismiss')])),
  seen: Type.String(),
});

const SUGGESTION = '/dashboard/:organizationId/posts/:postId/suggestions/:suggestionId';

export const routes: readonly Page[] = [
  get(SUGGESTION, 'member', async (visit) => {
    const shown = await requirePost(visit);
    const found = await visit.deps.db.read((tx) => findSuggestedChange(tx, visit.params.suggestionId ?? ''));
    if (found?.postId !== shown.post.id) throw new AppError(404, 'The suggestion no longer exists.');
    return showText(visit, shown, 'Suggested text', suggestedText(shown.post, found));
  }),

  post(SUGGESTION, 'member', async (visit) => {
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

type Compared = SuggestedChange & { lines: SuggestedLine[] | null };

/** Lets others in between: a post may have ten suggestions, as long as it is. */
export async function findSuggestions(deps: Pick<Deps, 'db'>, post: Post): Promise<Compared[]> {
  const turn = turns();
  const compared: Compared[] = [];
  for (const change of await deps.db.read((tx) => listSuggestedChanges(tx, post.id))) {
    await turn();
    compared.push({ ...change, lines: compareTexts(post, suggestedText(post, change)) });
  }
  return compared;
}

export function SuggestedChanges({
  post,
  path,
  changes,
  now,
}: Shown & { changes: readonly Compared[]; now: Date }) {
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
              lines={change.lines}
              otherwise={<a href={`${path}/suggestions/${change.id}`}>Open the suggested text</a>}
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
