import { type Static, type TLiteral, Type } from '@sinclair/typebox';
import type { CONTENT_TYPES } from '../../db/schema/posts.ts';
import { AppError } from '../lib/app-error.ts';
import { ID_PATTERN, ID_RULE } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';
import { findProblem, type Problem } from '../lib/validation.ts';

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

export type ContentType = (typeof CONTENT_TYPES)[number];

interface ContentTypeRules {
  name: string;
  /** Published posts appear on the public page, in feeds, and to agents, and hooks tell of their changes. */
  isPublic: boolean;
  /** The place that people paste the plain text into, and its longest text, in characters. Null: sites render the Markdown. */
  pastedInto: { name: string; maxLength: number } | null;
}

/** All that types of posts differ in, but for their templates (`starters.ts`). */
export const contentTypeRules: Readonly<Record<ContentType, ContentTypeRules>> = {
  changelog: { name: 'Changelog', isPublic: true, pastedInto: null },
  linkedin_post: {
    name: 'LinkedIn post',
    isPublic: false,
    pastedInto: { name: 'LinkedIn', maxLength: 3_000 },
  },
};

export const contentTypes = Object.keys(contentTypeRules) as ContentType[];
type Choices<Values extends readonly string[]> = {
  -readonly [At in keyof Values]: TLiteral<Values[At] & string>;
};
export const ContentType = Type.Union(
  contentTypes.map((type) => Type.Literal(type)) as unknown as Choices<typeof CONTENT_TYPES>,
);

/** The type of what gives none. */
export const DEFAULT_CONTENT_TYPE: ContentType = 'changelog';

/** The bullets of lists in the plain text: where it is pasted, there are no lists, and `•` reads better. */
export const bulletOf = (type: ContentType) => (contentTypeRules[type].pastedInto === null ? '-' : '•');

const Timestamp = (description: string) =>
  Type.String({
    format: 'date-time',
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
    description,
  });

export const Post = Type.Object(
  {
    id: Type.String({ pattern: ID_PATTERN, description: 'Post ID.' }),
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

/** `isDateSet`: publishing keeps `createdAt`; otherwise it becomes the time of the first publication. */
export type OwnedPost = Post & { organizationId: string; isDateSet: boolean };

/** The post with this status. A first publication sets its date, unless somebody did. */
export function withStatus(post: OwnedPost, status: PostStatus, publishedAt: string): OwnedPost {
  const isFirstPublication = status === 'published' && !post.isDateSet;
  return { ...post, status, ...(isFirstPublication && { createdAt: publishedAt, isDateSet: true }) };
}

export function isPublished(): AppError {
  return new AppError(409, 'The post is published. Unpublish it first', { code: 'post_is_published' });
}

export const END_OF_DATES = new Date('2100-01-01T00:00:00.000Z');

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
          'Order by creation date. `desc` puts the newest first. Posts of the same date are ordered by ID.',
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

/** The posts that everybody may read, if their organization shows them. */
export const PUBLIC_POSTS: PostSelection = {
  statuses: ['published'],
  contentTypes: contentTypes.filter((type) => contentTypeRules[type].isPublic),
};

export const isPublic = ({ status, contentType }: Pick<Post, 'status' | 'contentType'>) =>
  status === 'published' && contentTypeRules[contentType].isPublic;

export interface PageSelection extends PostSelection {
  limit: number;
  page: number;
  sort: 'asc' | 'desc';
}

/** In characters (UTF-16 units); metadata as JSON. */
export const MAX_TITLE = 500;
export const MAX_TEXT = 200_000;
const MAX_METADATA = 16_384;
const MAX_METADATA_DEPTH = 20;

const Time = Type.String({ maxLength: 40 });

const ImportedFields = Type.Object(
  {
    id: Type.Optional(Type.String({ pattern: ID_PATTERN, errorMessage: ID_RULE })),
    title: Type.String({ minLength: 1, maxLength: MAX_TITLE, pattern: '\\S' }),
    markdown: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    content: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    contentType: Type.Optional(ContentType),
    status: Type.Optional(PostStatus),
    sourceMetadata: Type.Optional(
      Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
        errorMessage: 'must be an object or null',
      }),
    ),
    createdAt: Type.Optional(Time),
    updatedAt: Type.Optional(Time),
    isDateSet: Type.Optional(Type.Boolean({ errorMessage: 'must be true or false' })),
  },
  { additionalProperties: false },
);

/** A checked record. Times are ISO 8601, UTC, with milliseconds. */
export type ImportedFields = Static<typeof ImportedFields>;

export const isImportedField = (name: string) => Object.hasOwn(ImportedFields.properties, name);

/** Returns the record with normalized times, or its first problem. */
export function checkRecord(
  fields: Record<string, unknown>,
): { record: ImportedFields } | { problem: Problem } {
  const problem = findProblem(ImportedFields, fields) ?? findOtherProblem(fields as ImportedFields);
  if (problem !== null) return { problem };
  const record = { ...(fields as ImportedFields) };
  for (const field of ['createdAt', 'updatedAt'] as const) {
    const time = record[field] === undefined ? undefined : parseTime(record[field]);
    if (time === null) return { problem: { field, message: badTime(record[field]) } };
    if (time !== undefined) record[field] = time.toISOString();
  }
  return { record };
}

function findOtherProblem({ title, markdown, content, sourceMetadata }: ImportedFields): Problem | null {
  if (markdown === undefined && content === undefined) {
    return { field: 'markdown', message: 'is missing (content, as plain text, works too)' };
  }
  for (const [field, text] of Object.entries({ title, markdown, content })) {
    // SQLite's text functions and PostgreSQL end a text there.
    if (text?.includes('\0')) return { field, message: 'must not contain the character U+0000' };
  }
  if (isLong(sourceMetadata) || JSON.stringify(sourceMetadata ?? null).length > MAX_METADATA) {
    return { field: 'sourceMetadata', message: `must have at most ${MAX_METADATA} characters as JSON` };
  }
  if (depthOf(sourceMetadata) > MAX_METADATA_DEPTH) {
    return { field: 'sourceMetadata', message: `must not nest deeper than ${MAX_METADATA_DEPTH}` };
  }
  return null;
}

function badTime(text: unknown): string {
  return `must be an ISO 8601 date or a time with its offset, such as 2026-01-31 or 2026-01-31T09:30:00Z, not ${JSON.stringify(text)}`;
}

/** Looks at no more than `MAX_METADATA` characters: aliases of YAML can repeat a part billions of times. */
function isLong(value: unknown): boolean {
  let length = 0;
  const rest = [value];
  while (rest.length > 0 && length <= MAX_METADATA) {
    const each = rest.pop();
    length += typeof each === 'string' ? each.length : 1;
    if (typeof each !== 'object' || each === null) continue;
    for (const [key, part] of Object.entries(each)) {
      if (!Array.isArray(each)) length += key.length;
      rest.push(part);
    }
  }
  return length > MAX_METADATA;
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
