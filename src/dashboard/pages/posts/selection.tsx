/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { AppError } from '../../../lib/app-error.ts';
import { type BulkAction, type BulkResult, bulkActions, changePosts } from '../../../posts/bulk.ts';
import type { ListFilter } from '../../../posts/list-store.ts';
import { type Page, post, redirect } from '../../page.ts';
import { readFields } from '../../submission.ts';
import { counted } from '../../view/elements.tsx';
import { SelectionBar } from '../../view/layout.tsx';
import { addressOf, queryOf, readFilter } from './filter.ts';
import { restorePath } from './trash.tsx';

// The buttons that act on the selected posts of the list.

export const routes: readonly Page[] = [
  post(
    '/dashboard/:organizationId/posts/~/selected',
    'member',
    async ({ deps, organization, base, form }) => {
      const { selected, action, back } = readFields(SelectionForm, form);
      if (action === undefined) throw new AppError(400, 'Choose what to do with the selected posts.');
      const to = addressOf(base, readFilter({ searchParams: new URLSearchParams(back.slice(0, 1_000)) }));
      if (selected.length === 0) return redirect(to, 'Select posts first.');
      const result = await changePosts(deps, organization.id, selected, action, { needsText: true });
      const undo = action === 'delete' ? restorePath(base, result.changed) : undefined;
      return redirect(to, describeBulk(action, result), undo);
    },
  ),
];

/** `back`: the query of the list. */
const SelectionForm = Type.Object({
  selected: Type.Array(Type.String()),
  action: Type.Optional(Type.Union(bulkActions.map((each) => Type.Literal(each)))),
  back: Type.String(),
});

const done: Readonly<Record<BulkAction, [past: string, state: string]>> = {
  publish: ['Published', 'published already'],
  unpublish: ['Unpublished', 'drafts already'],
  delete: ['Deleted', ''],
};

function describeBulk(action: BulkAction, { changed, unchanged, missing, withoutText }: BulkResult): string {
  const [past, state] = done[action];
  const parts = [
    `${past} ${counted(changed.length, 'post')}.`,
    unchanged > 0 && `${counted(unchanged, 'post')}: ${state}.`,
    missing > 0 && `${counted(missing, 'post')}: deleted in the meantime.`,
    withoutText > 0 && `${counted(withoutText, 'post')} without text: open it to publish it anyway.`,
    action === 'delete' && 'Deleted posts stay in the trash for 30 days.',
  ];
  return parts.filter(Boolean).join(' ');
}

const selectionLabels: Readonly<Record<BulkAction, string>> = {
  publish: 'Publish posts',
  unpublish: 'Unpublish posts',
  delete: 'Delete posts',
};

export function PostSelection({ base, filter }: { base: string; filter: ListFilter }) {
  return (
    <SelectionBar id="selection" to={`${base}/posts/~/selected`}>
      <input type="hidden" name="back" value={queryOf(filter)} />
      {bulkActions.map((action) => (
        <button
          type="submit"
          name="action"
          value={action}
          class={action === 'delete' ? 'button bad' : 'button'}
        >
          {selectionLabels[action]}
        </button>
      ))}
    </SelectionBar>
  );
}
