import { type ListFilter, listedStatuses } from '../../../posts/list-store.ts';
import { contentTypes } from '../../../posts/model.ts';

// The filter of the list in its address.

/** The query of the address. Unknown values filter nothing. */
export function readFilter({ searchParams }: Pick<URL, 'searchParams'>): ListFilter {
  const page = searchParams.get('page') ?? '';
  return {
    status: listedStatuses.find((each) => each === searchParams.get('status')),
    contentType: contentTypes.find((each) => each === searchParams.get('contentType')),
    hasSuggestion: searchParams.get('suggestion') === '1',
    q: searchParams.get('q')?.trim() ?? '',
    page: /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1,
  };
}

/** The inverse. */
export function queryOf({ status, contentType, hasSuggestion, q, page }: Partial<ListFilter>): string {
  const query = new URLSearchParams();
  const suggestion = hasSuggestion ? '1' : '';
  const given = { status, contentType, suggestion, q, page: (page ?? 1) > 1 ? String(page) : '' };
  for (const [name, value] of Object.entries(given)) if (value) query.set(name, value);
  return query.size === 0 ? '' : `?${query}`;
}

export const addressOf = (base: string, filter: Partial<ListFilter>) => `${base}/posts${queryOf(filter)}`;

export const currentOf = ({ status, hasSuggestion }: ListFilter) =>
  hasSuggestion ? 'suggestion' : (status ?? 'all');

/** What stays of a filter in another list. */
export const moreOf = ({ contentType, q }: ListFilter) => queryOf({ contentType, q }).slice(1);
