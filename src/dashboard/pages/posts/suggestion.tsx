/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import type { Deps } from '../../../deps.ts';
import type { Suggestion } from '../../../drafts/model.ts';
import {
  dismissSuggestion,
  getSuggestion,
  hasSuggestionFor,
  takeSuggestion,
} from '../../../drafts/suggestions.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { OwnedPost, Post } from '../../../posts/model.ts';
import { readPost } from '../../../posts/store.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { readFields } from '../../submission.ts';
import { Difference } from '../../view/difference.tsx';
import { When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { PageHead } from '../../view/layout.tsx';

// A newer text of the source beside a post that a person edited.

/** The times tie a choice to the versions that the person saw. */
const ChoiceForm = Type.Object({
  choice: Type.Optional(Type.Union([Type.Literal('take'), Type.Literal('keep')])),
  suggestedAt: Type.String(),
  seen: Type.String(),
});

const SUGGESTION = '/dashboard/:organizationId/posts/:postId/suggestion';

export const routes: readonly Page[] = [
  get(SUGGESTION, 'member', async (visit) => {
    const { post, path } = await requirePost(visit);
    const suggestion = await findSuggestion(visit.deps, post);
    if (suggestion === null) throw new AppError(404, 'The new version no longer exists.');
    return showText(visit, { post, path }, 'New version', suggestion);
  }),

  post(SUGGESTION, 'member', async (visit) => {
    const { deps, form } = visit;
    const { post, path } = await requirePost(visit);
    const suggestion = await findSuggestion(deps, post);
    const { choice, suggestedAt, seen } = readFields(ChoiceForm, form);
    if (suggestion === null) return redirect(path, 'The new version no longer exists. Nothing was changed.');
    if (suggestion.suggestedAt !== suggestedAt || post.updatedAt !== seen) {
      return redirect(
        path,
        'One of the versions changed in the meantime. Nothing was saved. Compare them again.',
      );
    }
    if (choice === undefined) throw new AppError(400, 'Choose which version to keep.');
    if (choice === 'take') {
      await takeSuggestion(deps, post.id);
      return redirect(path, 'The post now has the new version.');
    }
    await dismissSuggestion(deps, post.id);
    return redirect(path, "Your version stays. Tidings won't suggest this one again.");
  }),
];

/** A text that a person may decide to take, whole. */
export function showText(
  { base }: MemberVisit,
  { post, path }: Shown,
  name: string,
  { title, markdown }: Pick<Post, 'title' | 'markdown'>,
) {
  const crumbs = [
    { to: `${base}/posts`, label: 'Posts' },
    { to: path, label: post.title },
  ];
  return view(
    `${name} of ${post.title}`,
    <>
      <PageHead title={name} crumbs={crumbs} />
      <p>
        <strong>{title}</strong>
      </p>
      <pre class="stored">{markdown}</pre>
    </>,
    { section: 'posts' },
  );
}

/** A post with the path of its page. */
export interface Shown {
  post: OwnedPost;
  path: string;
}

/** The post of the path. Throws `AppError` 404, also for another organization's. */
export async function requirePost({ deps, organization, params, base }: MemberVisit): Promise<Shown> {
  const found = await deps.db.read((tx) => readPost(tx, params.postId ?? ''));
  if (found?.organizationId !== organization.id) {
    throw new AppError(404, 'Post not found. It may have been deleted.');
  }
  return { post: found, path: `${base}/posts/${found.id}` };
}

export async function findSuggestion(deps: Pick<Deps, 'db'>, { id }: Post): Promise<Suggestion | null> {
  return (await hasSuggestionFor(deps, id)) ? getSuggestion(deps, id) : null;
}

/** Offers the newer version of a post that a person has edited or published. */
export function SuggestionNote({ post, path, ...more }: Shown & { suggestion: Suggestion; now: Date }) {
  const { suggestedAt, changes } = more.suggestion;
  const to = `${path}/suggestion`;
  const seen = { suggestedAt, seen: post.updatedAt };
  return (
    <section class="note" aria-labelledby="suggestion">
      <p>
        <strong id="suggestion">There is a new version of this post.</strong> Its source changed{' '}
        <When at={suggestedAt} now={more.now} />, after{' '}
        {post.status === 'published' ? 'it was published' : 'somebody edited it'}.
      </p>
      <Difference label="Changes" lines={changes} otherwise={<a href={to}>Open the new version</a>} />
      <div class="bar">
        <Action to={to} label="Use new version" fields={{ choice: 'take', ...seen }} />
        <Action to={to} label="Keep my version" fields={{ choice: 'keep', ...seen }} />
      </div>
    </section>
  );
}
