import { listMessages } from '../../../readers/hooks/message-store.ts';
import {
  type Hook,
  type HookMessage,
  kindWords,
  listHooks,
  messageStatus,
  typeWords,
} from '../../../readers/hooks/model.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Link, LinkButton, Status, When } from '../../view/elements.tsx';
import { Empty, Table } from '../../view/list.tsx';
import { newHookPages } from './hooks-new.tsx';
import { oneHookPages } from './hooks-one.tsx';

const PATH = '/dashboard/:organizationId/publishing/hooks';

export const routes: readonly Page[] = [get(PATH, 'member', showHooks), ...newHookPages, ...oneHookPages];

interface Row {
  hook: Hook;
  last: HookMessage | undefined;
}

async function showHooks(visit: MemberVisit): Promise<View> {
  const { deps, organization, role } = visit;
  const rows = await deps.db.read(async (tx) => {
    const hooks = await listHooks(tx, organization.id);
    const lasts = await Promise.all(hooks.map(({ id }) => listMessages(tx, id, { limit: 1 })));
    return hooks.map((hook, at): Row => ({ hook, last: lasts[at]?.[0] }));
  });
  const isOwner = role === 'owner';
  const add = isOwner ? <LinkButton to="publishing/hooks/~/new" label="Add hook" kind="go" /> : null;
  return view(
    { title: 'Hooks', tab: 'publishing/hooks' },
    <p class="lede">
      A hook tells another service when a published changelog post changes: it rebuilds your site or announces
      the post. Drafts are never sent.
      {isOwner ? '' : ' Owners add hooks.'}
    </p>,
    rows.length === 0 ? (
      <Empty>
        <p>No hooks yet. Each request to a hook will appear here.</p>
        {add}
      </Empty>
    ) : (
      <>
        <Hooks rows={rows} />
        <div class="bar after">{add}</div>
      </>
    ),
  );
}

function Hooks({ rows }: { rows: readonly Row[] }) {
  return (
    <Table
      caption="Hooks, oldest first"
      kind="hooks"
      rows={rows}
      columns={[
        {
          title: 'Name',
          fullText: ({ hook }) => hook.name,
          cell: ({ hook: { id, name, kind, host } }) => (
            <>
              <Link to={`publishing/hooks/${id}`}>{name}</Link>
              <div class="hint">
                {kindWords[kind].name} at {host}
              </div>
            </>
          ),
        },
        {
          title: 'Status',
          class: 'short',
          cell: ({ hook }) => <Status status={hook.isEnabled ? 'active' : 'disabled'} />,
        },
        {
          title: 'Last message',
          isLabeled: true,
          cell: ({ last }) =>
            last === undefined ? (
              <span class="dim">None</span>
            ) : (
              <span title={`${typeWords[last.type]}: ${last.title}`}>
                <Status status={messageStatus(last)} />
              </span>
            ),
        },
        {
          title: 'Date',
          class: 'end dim',
          cell: ({ last }) => (last?.createdAt ? <When at={last.createdAt} /> : null),
        },
      ]}
    />
  );
}
