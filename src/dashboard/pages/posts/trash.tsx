import { Type } from '@sinclair/typebox';
import { AppError } from '../../../lib/app-error.ts';
import { isId } from '../../../lib/text.ts';
import { countPosts } from '../../../posts/list-store.ts';
import { contentTypeRules } from '../../../posts/model.ts';
import { TRASH_DAYS } from '../../../posts/service.ts';
import { readPost } from '../../../posts/store.ts';
import {
  emptyTrash,
  eraseDeletedPost,
  listDeletedPosts,
  type Restored,
  restorePosts,
} from '../../../posts/trash.ts';
import { readFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { counted, LinkButton, When } from '../../view/elements.tsx';
import { Action, Danger, Seen } from '../../view/form.tsx';
import { actionsColumn, Empty, Pager, pageIn, SelectionBar, statusColumn, Table } from '../../view/list.tsx';
import { PostSegments } from './words.tsx';

const TRASH = '/dashboard/:organizationId/posts/~/trash';
const PER_PAGE = 25;
const MAX_IDS = 100;

const SelectionForm = Type.Object({ selected: Type.Array(Type.String()) });
const OneForm = Type.Object({ id: Type.String() });

export const routes: readonly Page[] = [
  get(TRASH, 'member', (visit) => showTrash(visit)),

  post(`${TRASH}/restore`, 'member', async (visit) => {
    const { deps, organization, form, url } = visit;
    const given = url.searchParams.get('ids')?.split('.') ?? readFields(SelectionForm, form).selected;
    const ids = [...new Set(given)].filter(isId);
    if (ids.length > MAX_IDS) throw new AppError(400, `Select at most ${MAX_IDS} posts.`);
    if (ids.length === 0) return redirect('posts/~/trash', 'Select the posts to restore.');
    const result = await restorePosts(deps, organization.id, ids, seenIn(visit));
    const [only] = ids;
    if (ids.length > 1 || result.restored === 0) return redirect('posts', describe(result));
    const restored = await deps.db.read((tx) => readPost(tx, only ?? ''));
    const status = restored?.status === 'published' ? 'It is published again.' : 'It is a draft.';
    return redirect(`posts/${only}`, `Restored the post. ${status}`);
  }),

  post(`${TRASH}/erase`, 'publisher', async (visit) => {
    const { deps, organization, form } = visit;
    await eraseDeletedPost(deps, organization.id, readFields(OneForm, form).id, seenIn(visit));
    return redirect('posts/~/trash', 'Deleted the post for good.');
  }),

  post(`${TRASH}/empty`, 'publisher', async (visit) => {
    const { deps, organization, request } = visit;
    // A large trash is emptied in many commits, with rests between them.
    deps.extendTimeout?.(request);
    const number = await emptyTrash(deps, organization.id, seenIn(visit));
    return redirect('posts/~/trash', `Deleted ${counted(number, 'post')} for good.`);
  }),
];

/** When the page was opened: its buttons act on no post that came into the trash later. */
const seenIn = ({ form, url }: MemberVisit) => form.get('seen') ?? url.searchParams.get('seen') ?? undefined;

/** The path of the "Undo" of a deletion that was just done. Undefined for more ids than a cookie holds. */
export function restorePath({ base, deps }: MemberVisit, ids: readonly string[]): string | undefined {
  const seen = encodeURIComponent(deps.clock.now().toISOString());
  const path = `${base}/posts/~/trash/restore?ids=${ids.join('.')}&seen=${seen}`;
  return ids.length > 0 && path.length <= 2_000 ? path : undefined;
}

function describe({ restored, taken, missing }: Restored): string {
  const parts = [
    restored > 0 || taken + missing === 0
      ? `Restored ${counted(restored, 'post')}.`
      : 'Nothing was restored.',
    taken > 0 &&
      `Not restored: ${counted(taken, 'post')}, because an import created ${taken === 1 ? 'it' : 'them'} again. Delete the new one first.`,
    missing > 0 && `No longer in the trash as you saw it: ${counted(missing, 'post')}.`,
  ];
  return parts.filter(Boolean).join(' ');
}

async function showTrash({ deps, organization, url }: MemberVisit) {
  const page = pageIn(url.searchParams);
  const now = deps.clock.now();
  const { numbers, rows } = await deps.db.read(async (tx) => ({
    numbers: await countPosts(tx, organization.id),
    rows: await listDeletedPosts(tx, organization.id, { limit: PER_PAGE, page }),
  }));
  const path = 'posts/~/trash';
  // The clock of another process may be ahead.
  const seen = [now.toISOString(), ...rows.map(({ deletedAt }) => deletedAt)].toSorted().at(-1);
  const pages = Math.max(1, Math.ceil(numbers.trash / PER_PAGE));
  return view(
    {
      title: 'Trash',
      crumbs: [{ to: 'posts', label: 'Posts' }],
      facts: `Deleted posts stay here for ${TRASH_DAYS} days. The API does not return them.`,
    },
    <PostSegments numbers={numbers} current="trash" />,
    rows.length === 0 ? (
      <Empty>
        <p>{numbers.trash === 0 ? 'The trash is empty.' : 'This page is empty.'}</p>
        <LinkButton
          to={numbers.trash === 0 ? 'posts' : path}
          label={numbers.trash === 0 ? 'Show all posts' : 'Show the newest'}
        />
      </Empty>
    ) : (
      <>
        <SelectionBar id="selection" to={`${path}/restore`}>
          <Seen version={seen} />
          <button type="submit" class="button">
            Restore posts
          </button>
        </SelectionBar>
        <Table
          caption="Deleted posts, the newest first"
          kind="posts"
          rows={rows}
          selection={{ form: 'selection', valueOf: ({ id }) => id, labelOf: ({ title }) => title }}
          columns={[
            statusColumn,
            {
              title: 'Title',
              class: 'title',
              cell: ({ title, contentType }) => (
                <>
                  <span class="ellipsis">{title}</span>
                  <div class="hint">{contentTypeRules[contentType].name}</div>
                </>
              ),
            },
            {
              title: 'Deleted',
              isLabeled: true,
              class: 'dim',
              cell: ({ deletedAt, actorName }) => (
                <>
                  <When at={deletedAt} />
                  {actorName !== null && (
                    <div class="hint cut" title={actorName}>
                      {actorName}
                    </div>
                  )}
                </>
              ),
            },
            {
              title: 'Expires',
              isLabeled: true,
              class: 'dim',
              cell: ({ expiresAt }) => <When at={expiresAt} />,
            },
            {
              ...actionsColumn,
              cell: ({ id, title }) => (
                <div class="row-actions">
                  <Action to={`${path}/restore?ids=${id}`} label="Restore" seen={seen} />
                  <Danger
                    to={`${path}/erase`}
                    fields={{ id }}
                    seen={seen}
                    label="Delete"
                    about={title}
                    button="Delete for good"
                  >
                    This deletes <strong>{title}</strong> and its versions for good.
                  </Danger>
                </div>
              ),
            },
          ]}
        />
        <Pager
          back={page > 1 && { to: `${path}?page=${Math.min(page - 1, pages)}`, label: 'Newer' }}
          next={page < pages && { to: `${path}?page=${page + 1}`, label: 'Older' }}
        >
          {counted(numbers.trash, 'post')}
        </Pager>
        <Danger to={`${path}/empty`} label="Empty trash" button="Delete all for good" seen={seen}>
          This deletes all <strong>{counted(numbers.trash, 'post')}</strong> in the trash for good.
        </Danger>
      </>
    ),
  );
}
