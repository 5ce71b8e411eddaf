import { type Static, type TObject, Type } from '@sinclair/typebox';
import { AppError } from '../../lib/app-error.ts';
import { cutLine, ID_PATTERN } from '../../lib/text.ts';
import { requireValid } from '../../lib/validation.ts';
import type { Deps } from '../../people/deps.ts';
import type { KeyHolder } from '../../people/keys/store.ts';
import { searchPosts } from '../../posts/list-store.ts';
import { isPublic, type Post, PUBLIC_POSTS } from '../../posts/model.ts';
import { findPost, listPostPage } from '../../posts/store.ts';
import { ProposedChange, suggestChange } from '../../posts/suggestions.ts';
import { type Publication, postAddress } from '../public/model.ts';

// The tools of the MCP endpoint. Those that read return published changelog posts of the key's organization alone, so that
// an agent never quotes a draft.

export type ToolDeps = Pick<Deps, 'db' | 'clock' | 'ids' | 'publicUrl'>;

/** The caller: a key of the organization, whose endpoint is on. */
export interface Caller extends Pick<KeyHolder, 'keyId' | 'name'> {
  publication: Publication;
  maySuggest: boolean;
}

interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: TObject;
  outputSchema: TObject;
  isReadOnly: boolean;
  /** Throws `AppError`; the agent reads the message of a refusal. */
  run(deps: ToolDeps, caller: Caller, input: unknown): Promise<Record<string, unknown>>;
}

const MAX_EXCERPT = 280;
const MAX_QUERY = 200;
const MAX_PAGE = 1_000_000;

const paging = {
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1, description: 'Page number.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 50, default: 20, description: 'Posts per page.' }),
  ),
};

const head = {
  id: Type.String(),
  title: Type.String(),
  createdAt: Type.String({ description: 'Date of the post, ISO 8601.' }),
  updatedAt: Type.String({ description: 'ISO 8601.' }),
  url: Type.Optional(Type.String({ description: 'The post on the public page, where that is on.' })),
};

const PostList = Type.Object({
  posts: Type.Array(
    Type.Object({ ...head, excerpt: Type.String({ description: 'The start of the text.' }) }),
  ),
  page: Type.Integer(),
  nextPage: Type.Union([Type.Integer(), Type.Null()]),
  totalItems: Type.Integer(),
});

const ListInput = Type.Object(paging, { additionalProperties: false });
const SearchInput = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      maxLength: MAX_QUERY,
      pattern: '\\S',
      description: 'Words that the title or the text contains. The last one may be the start of a word.',
    }),
    ...paging,
  },
  { additionalProperties: false },
);
const GetInput = Type.Object(
  { id: Type.String({ pattern: ID_PATTERN, description: 'Post ID.' }) },
  { additionalProperties: false },
);

export const SUGGEST_TOOL = 'suggest_change';

export const tools: readonly Tool[] = [
  {
    name: 'list_posts',
    title: 'List posts',
    description:
      'Lists published changelog posts, newest first, each with the start of its text. Read a whole post with get_post.',
    inputSchema: ListInput,
    outputSchema: PostList,
    isReadOnly: true,
    async run({ db, publicUrl }, { publication }, input) {
      const { page = 1, limit = 20 } = requireValid(ListInput, input);
      const selection = { ...PUBLIC_POSTS, sort: 'desc' as const, page, limit };
      const { posts, totalItems } = await db.read((tx) =>
        listPostPage(tx, publication.organizationId, selection),
      );
      const heads = posts.map((json) => headOf(json, publication, publicUrl()));
      return pageOf(heads, { page, limit, totalItems });
    },
  },
  {
    name: 'search_posts',
    title: 'Search posts',
    description:
      'Finds published changelog posts that contain every word of the query, newest first. Finds 1,000 posts at most.',
    inputSchema: SearchInput,
    outputSchema: PostList,
    isReadOnly: true,
    async run({ db, publicUrl }, { publication }, input) {
      const { query, page = 1, limit = 20 } = requireValid(SearchInput, input);
      const { organizationId } = publication;
      const { posts, totalItems } = await db.read(
        (tx) => searchPosts(tx, organizationId, query, { ...PUBLIC_POSTS, page, limit }),
        { isLong: true },
      );
      const heads = posts.map((post) => headOf(post, publication, publicUrl()));
      return pageOf(heads, { page, limit, totalItems });
    },
  },
  {
    name: 'get_post',
    title: 'Get a post',
    description: 'Returns a published changelog post with its whole text in Markdown.',
    inputSchema: GetInput,
    outputSchema: Type.Object({ ...head, markdown: Type.String() }),
    isReadOnly: true,
    async run({ db, publicUrl }, { publication }, input) {
      const { id } = requireValid(GetInput, input);
      const json = await db.read((tx) => findPost(tx, publication.organizationId, id, PUBLIC_POSTS));
      if (json === null) throw noSuchPost();
      const { markdown, ...post } = json;
      const { excerpt: _, ...found } = headOf(post, publication, publicUrl());
      return { ...found, markdown };
    },
  },
  {
    name: SUGGEST_TOOL,
    title: 'Suggest a change',
    description:
      'Proposes a new title, a new text, or both for a post of any status. A person reviews the suggestion and accepts or dismisses it. The post does not change until then.',
    inputSchema: ProposedChange,
    outputSchema: Type.Object({ received: Type.Literal(true) }),
    isReadOnly: false,
    async run(deps, { publication, ...caller }, input) {
      if (!caller.maySuggest) {
        throw new AppError(403, 'This API key cannot suggest changes. It lacks the permission posts.suggest');
      }
      const { outcome, post } = await suggestChange(deps, publication.organizationId, caller, input).catch(
        (error: unknown) => {
          throw error instanceof AppError && error.code === 'post_not_found' ? noSuchPost() : error;
        },
      );
      // About any other post, this would confirm a guess of its text.
      if (outcome === 'unchanged' && isPublic(post)) {
        throw new AppError(409, 'The post already has this title and text. Nothing was stored');
      }
      return { received: true };
    },
  },
];

/** The same for a post that does not exist and for one that the caller must not learn about. */
function noSuchPost(): AppError {
  return new AppError(404, 'No such post');
}

function headOf(
  { id, title, content, createdAt, updatedAt }: Omit<Post, 'markdown'>,
  publication: Publication,
  publicUrl: string,
) {
  const url = publication.isPageOn ? { url: postAddress(publication, publicUrl, id) } : {};
  return { id, title, createdAt, updatedAt, ...url, excerpt: cutLine(content, MAX_EXCERPT) };
}

function pageOf(
  posts: ReturnType<typeof headOf>[],
  { page, limit, totalItems }: { page: number; limit: number; totalItems: number },
): Static<typeof PostList> {
  return { posts, page, nextPage: page * limit < totalItems ? page + 1 : null, totalItems };
}
