/** @jsxRuntime automatic @jsxImportSource preact */
import type { ListedStatus, PostNumbers } from '../../../posts/list-store.ts';
import { Segments } from '../../view/layout.tsx';

type View = 'all' | ListedStatus | 'suggestion' | 'trash';

const views: readonly [view: View, label: string, query: string][] = [
  ['all', 'All', ''],
  ['draft', 'Drafts', 'status=draft'],
  ['scheduled', 'Scheduled', 'status=scheduled'],
  ['published', 'Published', 'status=published'],
  ['suggestion', 'Suggestions', 'suggestion=1'],
];

/** The lists of posts with their lengths. `more`: what stays of the query, such as the words of a search. */
export function PostSegments({
  base,
  numbers,
  current,
  more = '',
}: {
  base: string;
  numbers: PostNumbers;
  current: View;
  more?: string;
}) {
  const numberOf = (view: View) => numbers[view === 'suggestion' ? 'suggestions' : view];
  const items = views
    // Few posts have one, and few people wait for them.
    .filter(([view]) => view !== 'suggestion' || numbers.suggestions > 0 || current === 'suggestion')
    .map(([view, label, query]) => {
      const search = [query, more].filter(Boolean).join('&');
      return { view, label, to: `${base}/posts${search === '' ? '' : `?${search}`}` };
    });
  return (
    <Segments
      label="Posts by status"
      items={[...items, { view: 'trash' as const, label: 'Trash', to: `${base}/posts/~/trash` }].map(
        ({ view, label, to }) => ({
          to,
          isCurrent: view === current,
          label: (
            <>
              {label} <small>{numberOf(view).toLocaleString('en')}</small>
            </>
          ),
        }),
      )}
    />
  );
}
