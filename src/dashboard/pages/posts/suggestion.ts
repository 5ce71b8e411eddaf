import { dismissSuggestion, takeSuggestion } from '../../../drafts/suggestions.ts';
import { AppError } from '../../../lib/app-error.ts';
import { type Page, post, redirect } from '../../page.ts';
import { requirePost } from './edit.tsx';
import { findSuggestion } from './suggestion-note.tsx';

export const suggestions: readonly Page[] = [
  post('/dashboard/:organizationId/posts/:postId/suggestion', 'member', async (visit) => {
    const { deps, form, base } = visit;
    const found = await requirePost(visit);
    const suggestion = await findSuggestion(deps, found);
    const to = `${base}/posts/${found.id}`;
    if (suggestion === null) return redirect(to, 'There is no newer text any more. Nothing was changed.');
    if (suggestion.suggestedAt !== form.get('suggestedAt') || found.updatedAt !== form.get('seen')) {
      return redirect(to, 'One of the texts changed meanwhile. Nothing was done: look again.');
    }
    switch (form.get('choice')) {
      case 'take':
        await takeSuggestion(deps, found.id);
        return redirect(to, 'The post has the new text.');
      case 'keep':
        await dismissSuggestion(deps, found.id);
        return redirect(to, 'Your text stays, and this one is not suggested again.');
      default:
        throw new AppError(400, 'Say which text to keep.');
    }
  }),
];
