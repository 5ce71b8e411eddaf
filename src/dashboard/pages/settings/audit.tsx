import { isId } from '../../../lib/text.ts';
import {
  ACCOUNT_RETENTION_DAYS,
  type Actor,
  type AuditFilter,
  type AuditGroup,
  auditGroups,
  describeActor,
  listOrganizationAudit,
  retentionDaysOf,
} from '../../../people/audit.ts';
import type { Member } from '../../../people/permission.ts';
import { listMembers } from '../../../people/store.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Link, Quoted } from '../../view/elements.tsx';
import { type Option, Select } from '../../view/form.tsx';
import { dateColumn, Empty, FilterBar, Pager, Table } from '../../view/list.tsx';

const PATH = 'settings/audit';
const PAGE_SIZE = 50;

const groupNames: Readonly<Record<AuditGroup, string>> = {
  posts: 'Posts',
  keys: 'API keys',
  integrations: 'Integrations',
  triggers: 'Triggers',
  members: 'Members',
  accounts: 'Accounts',
  organization: 'Organization',
  public: 'Publishing',
};

/** Actors that are no people, by their word in the query. */
const machines: Readonly<Record<string, { type: Actor['type']; name: string }>> = {
  'command-line': { type: 'command_line', name: 'Command line' },
  triggers: { type: 'trigger', name: 'Triggers' },
  server: { type: 'server', name: 'Tidings' },
};

export const routes: readonly Page[] = [get(`/dashboard/:organizationId/${PATH}`, 'owner', showAudit)];

async function showAudit({ deps, organization, url }: MemberVisit): Promise<View> {
  const { group, actor, before, filter } = readFilter(url.searchParams);
  const { found, members } = await deps.db.read(async (tx) => ({
    found: await listOrganizationAudit(tx, organization.id, filter, PAGE_SIZE + 1),
    members: await listMembers(tx, organization.id),
  }));
  const events = found.slice(0, PAGE_SIZE);
  const next = found.length > PAGE_SIZE ? events.at(-1)?.id : undefined;
  const pageFrom = (id: number | '') => `${PATH}?${new URLSearchParams({ group, actor, before: `${id}` })}`;
  const isFiltered = group !== '' || actor !== '';
  return view(
    { title: 'Audit log', tab: 'settings/audit' },
    <p class="lede">
      Changes to this organization: who made them, when, and from which address. Tidings keeps events for{' '}
      {retentionDaysOf[organization.plan]} days, and account events for {ACCOUNT_RETENTION_DAYS} days.
    </p>,
    <FilterBar path={PATH} isFiltered={isFiltered}>
      <Select
        label="Event"
        name="group"
        isLabelHidden
        value={group}
        all="All events"
        options={Object.entries(groupNames).map(([value, label]) => ({ value, label }))}
      />
      <Select
        label="Actor"
        name="actor"
        isLabelHidden
        value={actor}
        all="Everyone"
        options={actorOptions(members, actor)}
      />
    </FilterBar>,
    events.length > 0 ? (
      <Table
        caption="Events, newest first"
        rows={events}
        columns={[
          {
            title: 'Event',
            cell: ({ actor, summary }) => [
              actor.type === 'user' && actor.id !== null ? (
                <Link to={`${PATH}?actor=${encodeURIComponent(actor.id)}`}>{describeActor(actor)}</Link>
              ) : (
                <strong>{describeActor(actor)}</strong>
              ),
              ' ',
              <Quoted text={summary} />,
            ],
          },
          { title: 'Address', isLabeled: true, class: 'short', cell: ({ address }) => address },
          dateColumn('Time'),
        ]}
      />
    ) : (
      <Empty>
        <p>
          {isFiltered
            ? 'No events match these filters.'
            : before === undefined
              ? 'No events yet. Changes to posts, keys, integrations, triggers and members appear here.'
              : 'No older events.'}
        </p>
      </Empty>
    ),
    <Pager
      back={before !== undefined && { to: pageFrom(''), label: 'Newest' }}
      next={next !== undefined && { to: pageFrom(next), label: 'Older' }}
    />,
  );
}

/** The query as text, for links and fields, and as a filter; unknown values filter nothing. */
function readFilter(query: URLSearchParams) {
  const group = query.get('group') ?? '';
  const actor = query.get('actor') ?? '';
  const id = query.get('before') ?? '';
  const before = /^\d{1,15}$/.test(id) ? Number(id) : undefined;
  const filter: AuditFilter = {
    actions: Object.hasOwn(auditGroups, group) ? auditGroups[group as AuditGroup] : undefined,
    actor: Object.hasOwn(machines, actor) ? machines[actor] : isId(actor) ? { id: actor } : undefined,
    before,
  };
  return { group, actor, before, filter };
}

/** A former member can be the chosen one: their events link to themselves. */
function actorOptions(members: readonly Member[], chosen: string): Option[] {
  const options = [
    ...members.map(({ id, email }) => ({ value: id, label: email })),
    ...Object.entries(machines).map(([value, { name }]) => ({ value, label: name })),
  ];
  const isKnown = !isId(chosen) || options.some(({ value }) => value === chosen);
  return isKnown ? options : [...options, { value: chosen, label: `Former member ${chosen}` }];
}
