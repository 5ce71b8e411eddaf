import {
  type ContentType,
  contentTypes,
  type PageSelection,
  type PostStatus,
  postStatuses,
} from '../../../posts/model.ts';

const PER_PAGE = 25;
const MAX_PAGE = 1_000_000;

/** Which posts the list shows. All of it stands in the address; what is no choice there counts as none. */
export interface Filter {
  status: PostStatus | null;
  contentType: ContentType | null;
  /** What is searched for; empty for nothing. */
  q: string;
  page: number;
}

export function readFilter({ searchParams }: URL): Filter {
  const page = searchParams.get('page') ?? '';
  return {
    status: postStatuses.find((each) => each === searchParams.get('status')) ?? null,
    contentType: contentTypes.find((each) => each === searchParams.get('contentType')) ?? null,
    q: (searchParams.get('q') ?? '').trim(),
    page: /^[1-9]\d{0,6}$/.test(page) ? Math.min(Number(page), MAX_PAGE) : 1,
  };
}

export function selectionOf({ status, contentType, page }: Filter): PageSelection {
  return {
    statuses: status === null ? [...postStatuses] : [status],
    contentTypes: contentType === null ? [...contentTypes] : [contentType],
    limit: PER_PAGE,
    page,
    sort: 'desc',
  };
}

export function isFiltered({ status, contentType, q }: Filter): boolean {
  return status !== null || contentType !== null || q !== '';
}

/** The list's address with this filter, without what goes without saying. */
export function listAddress(base: string, { status, contentType, q, page }: Filter): string {
  const query = new URLSearchParams();
  if (status !== null) query.set('status', status);
  if (contentType !== null) query.set('contentType', contentType);
  if (q !== '') query.set('q', q);
  if (page > 1) query.set('page', String(page));
  return query.size === 0 ? `${base}/posts` : `${base}/posts?${query}`;
}
