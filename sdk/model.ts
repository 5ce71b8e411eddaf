// The types of the content API. Plain, so that the package needs nothing of the server; a test compares them with the
// server's models.

export type PostStatus = 'draft' | 'published';

export const CONTENT_TYPES = ['changelog', 'linkedin_post'] as const;
export type ContentType = (typeof CONTENT_TYPES)[number];

export interface Post {
  id: string;
  title: string;
  /** The body as plain text. */
  content: string;
  /** The body as Markdown. */
  markdown: string;
  contentType: ContentType;
  /** Where the post came from: a free-form object, such as author, version and platform. */
  sourceMetadata: { [key: string]: unknown } | null;
  status: PostStatus;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds. */
  updatedAt: string;
}

export interface Pagination {
  limit: number;
  currentPage: number;
  /** Null on the last page and past it. */
  nextPage: number | null;
  /** Null on the first page. */
  previousPage: number | null;
  totalPages: number;
  totalItems: number;
}

export interface PostList {
  posts: Post[];
  pagination: Pagination;
}

export interface PostFilter {
  /** Default: published posts only. */
  status?: PostStatus | readonly PostStatus[] | undefined;
  /** Default: all types. */
  contentType?: ContentType | readonly ContentType[] | undefined;
}

export interface ListQuery extends PostFilter {
  /** Posts per page, 1 to 100. Default: 10. */
  limit?: number | undefined;
  /** Default: 1. */
  page?: number | undefined;
  /** Order by creation date. Default: `desc`, the newest first. */
  sort?: 'asc' | 'desc' | undefined;
}
