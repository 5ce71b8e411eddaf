import { type Static, Type } from '@sinclair/typebox';
import { ID_PATTERN } from '../lib/text.ts';

const examplePost = {
  id: 'post_3Qv8rT5kWn2LxYbZ7cJd4M',
  title: 'Rocket 2.4: quieter engines',
  content: 'Added\n\n- Quiet mode: engines start 40 % softer',
  markdown: '### Added\n\n- Quiet mode: engines start 40 % softer\n',
  contentType: 'changelog',
  sourceMetadata: { author: 'ann', version: '2.4.0', platform: 'github' },
  status: 'published',
  createdAt: '2026-11-18T09:30:00.000Z',
  updatedAt: '2026-11-18T10:02:11.482Z',
} as const;

export const PostStatus = Type.Union([Type.Literal('draft'), Type.Literal('published')]);
export type PostStatus = Static<typeof PostStatus>;
export const postStatuses: readonly PostStatus[] = PostStatus.anyOf.map((choice) => choice.const);

export const ContentType = Type.Union([Type.Literal('changelog'), Type.Literal('linkedin_post')]);
export type ContentType = Static<typeof ContentType>;
export const contentTypes: readonly ContentType[] = ContentType.anyOf.map((choice) => choice.const);

/** LinkedIn's own limit, in characters. */
export const MAX_LINKEDIN_LENGTH = 3_000;

const Timestamp = (description: string) =>
  Type.String({
    format: 'date-time',
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
    description,
  });

export const Post = Type.Object(
  {
    id: Type.String({ pattern: ID_PATTERN, description: 'Post id.' }),
    title: Type.String({ description: 'The title as plain text.' }),
    content: Type.String({ description: 'The body as plain text.' }),
    markdown: Type.String({ description: 'The body as Markdown.' }),
    contentType: ContentType,
    sourceMetadata: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
      description:
        'Where the post came from: a free-form object, such as author, version and platform, or null.',
    }),
    status: PostStatus,
    createdAt: Timestamp('ISO 8601, UTC, with milliseconds.'),
    updatedAt: Timestamp('ISO 8601, UTC, with milliseconds.'),
  },
  {
    additionalProperties: false,
    description: 'A post of an organization.',
    examples: [examplePost],
  },
);
export type Post = Static<typeof Post>;

/**
 * A post with its organization. `isDateSet`: publishing keeps `createdAt`; otherwise it becomes the time of the first
 * publication.
 */
export type OwnedPost = Post & { organizationId: string; isDateSet: boolean };

const count = (minimum: number, description: string) => Type.Integer({ minimum, description });
const neighbor = (description: string) =>
  Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description });

export const Pagination = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 100, description: 'The page size.' }),
    currentPage: count(1, 'The number of this page.'),
    nextPage: neighbor('The number of the next page. Null on the last page and past it.'),
    previousPage: neighbor('The number of the previous page. Null on the first page.'),
    totalPages: count(1, 'The number of pages, at least 1.'),
    totalItems: count(0, 'The number of posts that match the filters.'),
  },
  { additionalProperties: false },
);
export type Pagination = Static<typeof Pagination>;

export const PostList = Type.Object(
  { posts: Type.Array(Post), pagination: Pagination },
  {
    additionalProperties: false,
    description: 'One page of posts.',
    examples: [
      {
        posts: [examplePost],
        pagination: {
          limit: 10,
          currentPage: 1,
          nextPage: null,
          previousPage: null,
          totalPages: 1,
          totalItems: 1,
        },
      },
    ],
  },
);

export const PostResult = Type.Object(
  { post: Type.Union([Post, Type.Null()], { description: 'Null when no post matches.' }) },
  {
    additionalProperties: false,
    description: 'One post, or null.',
    examples: [{ post: examplePost }, { post: null }],
  },
);

export const PostFilter = Type.Object({
  status: Type.Optional(
    Type.Array(PostStatus, {
      default: ['published'],
      description:
        'Repeat the parameter for several values: `status=draft&status=published` returns every post.',
    }),
  ),
  contentType: Type.Optional(
    Type.Array(ContentType, {
      description: 'Repeat the parameter for several values. Default: all types.',
    }),
  ),
});

/** The bound keeps `page * limit` an exact integer. */
const MAX_PAGE = 1_000_000_000;

export const ListQuery = Type.Composite([
  Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 10, description: 'Posts per page.' }),
    ),
    page: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1, description: 'Page number.' }),
    ),
    sort: Type.Optional(
      Type.Union([Type.Literal('asc'), Type.Literal('desc')], {
        default: 'desc',
        description:
          'Order by creation date. `desc` puts the newest first. Posts of the same date are ordered by id.',
      }),
    ),
  }),
  PostFilter,
]);

/** A filter. Each list holds at least one value, and each value once. */
export interface PostSelection {
  statuses: PostStatus[];
  contentTypes: ContentType[];
}

/** `page` counts from 1. */
export interface PageSelection extends PostSelection {
  limit: number;
  page: number;
  sort: 'asc' | 'desc';
}
