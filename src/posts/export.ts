import { readIfAllowed } from '../../db/checked.ts';
import type { Storage } from '../../db/engine.ts';
import { escapeControls } from '../lib/text.ts';
import { turns } from '../lib/time.ts';
import { texts } from '../markdown/texts.ts';
import { getOrganization } from '../organizations/store.ts';
import { MAX_TEXT } from './fields.ts';
import { CHANGELOG_HEAD, changelogEntry } from './import/exported-changelog.ts';
import {
  contentTypes,
  type OwnedPost,
  type PageSelection,
  type Post,
  type PostSelection,
  postStatuses,
} from './model.ts';
import { listPostIds, readPosts } from './store.ts';

// All posts of an organization as text, a few posts at a time, so that it takes the same memory for any number of them.

/** The name of each format's file; Markdown has a file for each post (`export-files.ts`). */
export const exportNames = {
  json: 'posts.json',
  jsonl: 'posts.jsonl',
  markdown: 'posts.tar.gz',
  changelog: 'CHANGELOG.md',
} as const;
export type ExportFormat = keyof typeof exportNames;
export const exportFormats = Object.keys(exportNames) as ExportFormat[];

export interface ExportOptions extends Partial<PostSelection> {
  organizationId: string;
  /** Default: newest first. A changelog is always newest first. */
  sort?: PageSelection['sort'] | undefined;
}

/** Posts that are read at once: at their longest, some tens of megabytes. */
const BATCH = 25;

/**
 * The posts of the moment when it begins, each once and as it is when its turn comes. Leaves out posts that are deleted,
 * or no longer match, before that. Throws `AppError` 404 for an unknown organization.
 */
export async function* readExport(
  db: Pick<Storage, 'read'>,
  format: ExportFormat,
  { organizationId, ...given }: ExportOptions,
): AsyncGenerator<OwnedPost> {
  const isChangelog = format === 'changelog';
  // A changelog is for readers, unless somebody asks for more.
  const {
    statuses = isChangelog ? ['published'] : [...postStatuses],
    contentTypes: types = isChangelog ? ['changelog'] : [...contentTypes],
  } = given;
  const sort = isChangelog ? 'desc' : (given.sort ?? 'desc');
  const ids = await db.read(async (tx) => {
    await getOrganization(tx, organizationId);
    return listPostIds(tx, organizationId, { statuses, contentTypes: types, sort });
  });
  const turn = turns();
  for (let at = 0; at < ids.length; at += BATCH) {
    const batch = ids.slice(at, at + BATCH);
    const posts = await readIfAllowed(db, (tx) => readPosts(tx, batch));
    for (const id of batch) {
      const post = posts.get(id);
      if (post?.organizationId !== organizationId) continue;
      if (statuses.includes(post.status) && types.includes(post.contentType)) yield post;
      await turn();
    }
  }
}

/** One file with all posts. `escapeControls` keeps JSON safe to print. */
export async function* exportText(
  posts: AsyncIterable<OwnedPost>,
  format: Exclude<ExportFormat, 'markdown'>,
): AsyncGenerator<string> {
  const write = writers[format];
  yield write.head;
  let separator = '';
  for await (const post of posts) {
    yield separator + (await write.post(post));
    separator = write.separator;
  }
  yield write.tail;
}

const writers = {
  json: {
    head: '[',
    post: ({ organizationId: _, isDateSet: __, ...post }: OwnedPost) => escapeControls(JSON.stringify(post)),
    separator: ',\n',
    tail: ']\n',
  },
  jsonl: {
    head: '',
    post: async (post: OwnedPost) => `${escapeControls(JSON.stringify(await exportedFields(post)))}\n`,
    separator: '',
    tail: '',
  },
  changelog: { head: CHANGELOG_HEAD, post: changelogEntry, separator: '', tail: '' },
};

/** What an import needs to make the same post again. */
async function exportedFields({
  organizationId: _,
  isDateSet,
  content,
  ...post
}: OwnedPost): Promise<Partial<OwnedPost>> {
  // Addresses of links can make the text longer than an import allows. It is derived again.
  const isDerived = content.length > MAX_TEXT && content === (await texts.plain(post.markdown));
  const { id, title, ...rest } = post satisfies Omit<Post, 'content'>;
  return { id, title, ...(isDerived ? {} : { content }), ...rest, ...(isDateSet ? {} : { isDateSet }) };
}
