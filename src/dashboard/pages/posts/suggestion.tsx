import { Type } from '@sinclair/typebox';
import type { SuggestedLine, Suggestion } from '../../../drafting/store.ts';
import {
  compareTexts,
  dismissSuggestion,
  getSuggestion,
  hasSuggestionFor,
  takeSuggestion,
} from '../../../drafting/suggestions.ts';
import { AppError } from '../../../lib/app-error.ts';
import { turns } from '../../../lib/time.ts';
import type { Deps } from '../../../people/deps.ts';
import { findApproval } from '../../../posts/approval-rule.ts';
import type { OwnedPost, Post } from '../../../posts/model.ts';
import { readPost } from '../../../posts/store.ts';
import {
  acceptChange,
  dismissChange,
  findSuggestedChange,
  listSuggestedChanges,
  type SuggestedChange,
  suggestedText,
} from '../../../posts/suggestions.ts';
import { readFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { Difference } from '../../view/difference.tsx';
import { counted, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';

// A newer text of the source beside a post that a person edited.

/** The times tie a choice to the versions that the person saw. */
const ChoiceForm = Type.Object({
  choice: Type.Optional(Type.Union([Type.Literal('take'), Type.Literal('keep')])),
  suggestedAt: Type.String(),
  seen: Type.String(),
});

const TAKEN = 'The post now has the suggested text.';

const SUGGESTION = '/dashboard/:organizationId/posts/:postId/suggestion';

function showText(shown: Shown, { title, markdown }: Pick<Post, 'title' | 'markdown'>) {
  const heading = 'Suggested text';
  return view(
    { title: `${heading} of ${shown.post.title}`, heading, crumbs: crumbsOf(shown) },
    <p>
      <strong>{title}</strong>
    </p>,
    <pre class="stored">{markdown}</pre>,
  );
}

export interface Shown {
  post: OwnedPost;
  path: string;
}

export const crumbsOf = ({ post, path }: Shown) => [
  { to: 'posts', label: 'Posts' },
  { to: path, label: post.title },
];

/** The post of the path. Throws `AppError` 404, also for another organization's. */
export async function requirePost({ deps, organization, params, base }: MemberVisit): Promise<Shown> {
  const found = await deps.db.read((tx) => readPost(tx, params.postId ?? ''));
  if (found?.organizationId !== organization.id) {
    throw new AppError(404, 'Post not found. It may have been deleted.');
  }
  return { post: found, path: `${base}/posts/${found.id}` };
}

/** The notice after a change of a published post that now waits. Null: it does not. */
export async function heldNotice(visit: MemberVisit, postId: string): Promise<string | null> {
  const found = await visit.deps.db.read((tx) => findApproval(tx, postId));
  const isHeld = found?.state === 'waiting' && found.change !== null && found.askedById === visit.user.id;
  return isHeld ? 'Readers see the change as soon as another person approves it.' : null;
}

export async function findSuggestion(deps: Pick<Deps, 'db'>, { id }: Post): Promise<Suggestion | null> {
  return (await hasSuggestionFor(deps, id)) ? getSuggestion(deps, id) : null;
}

export function SuggestionNote({ post, path, ...more }: Shown & { suggestion: Suggestion }) {
  const { suggestedAt, changes } = more.suggestion;
  const to = `${path}/suggestion`;
  const seen = { suggestedAt, seen: post.updatedAt };
  return (
    <section class="note" aria-labelledby="suggestion">
      <p>
        <strong id="suggestion">There is a suggestion for this post.</strong> Its source changed{' '}
        <When at={suggestedAt} />, after{' '}
        {post.status === 'published' ? 'it was published' : 'somebody edited it'}.
      </p>
      <Difference label="Changes" lines={changes} otherwise={<a href={to}>Open the suggested text</a>} />
      <div class="bar">
        <Action to={to} label="Accept suggestion" fields={{ choice: 'take', ...seen }} />
        <Action to={to} label="Dismiss suggestion" fields={{ choice: 'keep', ...seen }} />
      </div>
    </section>
  );
}

// Changes of a post that agents propose, below its editor.

/** `seen`: the `updatedAt` of the post that the person compared the suggestion with. */
const DecisionForm = Type.Object({
  choice: Type.Optional(Type.Union([Type.Literal('accept'), Type.Literal('dismiss')])),
  seen: Type.String(),
});

const ONE_OF_SEVERAL = '/dashboard/:organizationId/posts/:postId/suggestions/:suggestionId';

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

export function SuggestedChanges({ post, path, changes }: Shown & { changes: readonly Compared[] }) {
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
              <strong>{by}</strong> <When at={change.createdAt} />
            </p>
            {change.note !== '' && <p class="stored">{change.note}</p>}
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

export const routes: readonly Page[] = [
  get(SUGGESTION, 'member', async (visit) => {
    const { post, path } = await requirePost(visit);
    const suggestion = await findSuggestion(visit.deps, post);
    if (suggestion === null) throw new AppError(404, 'The suggestion no longer exists.');
    return showText({ post, path }, suggestion);
  }),

  post(SUGGESTION, 'member', async (visit) => {
    const { deps, form } = visit;
    const { post, path } = await requirePost(visit);
    const { choice, suggestedAt, seen } = readFields(ChoiceForm, form);
    const compared = { suggestedAt, updatedAt: seen };
    try {
      if (choice === undefined) throw new AppError(400, 'Choose to accept or to dismiss the suggestion.');
      if (choice === 'take') {
        await takeSuggestion(deps, post.id, compared);
        return redirect(path, (await heldNotice(visit, post.id)) ?? TAKEN);
      }
      await dismissSuggestion(deps, post.id, compared);
      return redirect(path, "The suggestion is dismissed. Tidings won't suggest this text again.");
    } catch (error) {
      const code = error instanceof AppError ? error.code : null;
      if (code === 'no_suggestion')
        return redirect(path, 'The suggestion no longer exists. Nothing was changed.');
      if (code === 'change_waiting') return redirect(path, `${(error as AppError).message}.`);
      if (code !== 'post_changed') throw error;
      const changed = 'The post or the suggestion changed in the meantime. Nothing was saved.';
      return redirect(path, `${changed} Compare them again.`);
    }
  }),
  get(ONE_OF_SEVERAL, 'member', async (visit) => {
    const shown = await requirePost(visit);
    const found = await visit.deps.db.read((tx) => findSuggestedChange(tx, visit.params.suggestionId ?? ''));
    if (found?.postId !== shown.post.id) throw new AppError(404, 'The suggestion no longer exists.');
    return showText(shown, suggestedText(shown.post, found));
  }),

  post(ONE_OF_SEVERAL, 'member', async (visit) => {
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
      return redirect(path, (await heldNotice(visit, post.id)) ?? TAKEN, undo);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === 'change_waiting') return redirect(path, `${error.message}.`);
      if (error.code !== 'post_changed') throw error;
      return redirect(path, 'The post changed in the meantime. Nothing was saved. Compare them again.');
    }
  }),
];
