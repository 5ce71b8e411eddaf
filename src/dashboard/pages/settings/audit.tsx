/** @jsxRuntime automatic @jsxImportSource preact */
import {
  ACCOUNT_RETENTION_DAYS,
  type Actor,
  type AuditEvent,
  type AuditGroup,
  auditGroups,
  describeActor,
} from '../../../audit/model.ts';
import { type AuditFilter, listOrganizationAudit } from '../../../audit/store.ts';
import { isId } from '../../../lib/ids.ts';
import { retentionDaysOf } from '../../../organizations/model.ts';
import type { Member } from '../../../users/model.ts';
import { listMembers } from '../../../users/store.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { type Option, Select } from '../../view/select.tsx';
import { SettingsTabs } from '../../view/settings-tabs.tsx';
import { When } from '../../view/when.tsx';

const PAGE_SIZE = 50;

const groupNames: Readonly<Record<AuditGroup, string>> = {
  posts: 'Posts',
  keys: 'API keys',
  integrations: 'Integrations',
  triggers: 'Triggers',
  members: 'Members',
  accounts: 'Accounts',
  organization: 'Organization',
};

/** Actors that are no people, by the word for them in the page's address. */
const machines: Readonly<Record<string, { type: Actor['type']; name: string }>> = {
  'command-line': { type: 'command_line', name: 'Command line' },
  triggers: { type: 'trigger', name: 'Triggers' },
  server: { type: 'server', name: 'Tidings' },
};

/** Who did what in the organization, for its owners. */
export const audit: readonly Page[] = [get('/dashboard/:organizationId/settings/audit', 'owner', showAudit)];

async function showAudit({ deps, organization, base, url }: MemberVisit): Promise<View> {
  const query = url.searchParams;
  const filter = readFilter(query);
  const found = await listOrganizationAudit(deps.db, organization.id, filter, PAGE_SIZE + 1);
  const events = found.slice(0, PAGE_SIZE);
  const next = found.length > PAGE_SIZE ? events.at(-1)?.id : undefined;
  const path = `${base}/settings/audit`;
  return view(
    'Audit log',
    <>
      <h1>Audit log</h1>
      <SettingsTabs base={base} isOwner current="settings/audit" />
      <p class="lede">
        Who changed what, and from which address. Tidings keeps an event for{' '}
        {retentionDaysOf[organization.plan]} days, and events of accounts for {ACCOUNT_RETENTION_DAYS} days.
      </p>
      <Filters path={path} query={query} members={await listMembers(deps.db, organization.id)} />
      {events.length === 0 ? (
        <Empty path={path} isFiltered={isFiltered(query)} isFirstPage={filter.before === undefined} />
      ) : (
        <Events events={events} path={path} now={deps.clock.now()} />
      )}
      <nav class="pages" aria-label="Pages">
        {filter.before === undefined ? <span /> : <a href={addressOf(path, query)}>Newest</a>}
        {next === undefined ? null : (
          <a href={addressOf(path, query, next)} rel="next">
            Older
          </a>
        )}
      </nav>
    </>,
    { section: 'settings' },
  );
}

function readFilter(query: URLSearchParams): AuditFilter {
  const group = query.get('group') ?? '';
  const actor = query.get('actor') ?? '';
  const before = query.get('before') ?? '';
  return {
    actions: Object.hasOwn(auditGroups, group) ? auditGroups[group as AuditGroup] : undefined,
    actor: Object.hasOwn(machines, actor) ? machines[actor] : isId(actor) ? { id: actor } : undefined,
    before: /^\d{1,15}$/.test(before) ? Number(before) : undefined,
  };
}

const filterNames = ['group', 'actor'] as const;

function isFiltered(query: URLSearchParams): boolean {
  return filterNames.some((name) => query.get(name));
}

function addressOf(path: string, query: URLSearchParams, before?: number): string {
  const kept = new URLSearchParams();
  for (const name of filterNames) {
    const value = query.get(name);
    if (value) kept.set(name, value);
  }
  if (before !== undefined) kept.set('before', String(before));
  return kept.size === 0 ? path : `${path}?${kept}`;
}

function Filters({ path, query, members }: { path: string; query: URLSearchParams; members: Member[] }) {
  const actor = query.get('actor') ?? '';
  return (
    <search>
      <form method="get" action={path} class="bar filters">
        <Select
          label="Event"
          name="group"
          isLabelHidden
          value={query.get('group') ?? ''}
          options={[
            { value: '', label: 'All events' },
            ...Object.entries(groupNames).map(([value, label]) => ({ value, label })),
          ]}
        />
        <Select
          label="Actor"
          name="actor"
          isLabelHidden
          value={actor}
          options={actorOptions(members, actor)}
        />
        <button type="submit" class="button">
          Filter
        </button>
        {isFiltered(query) ? <a href={path}>Clear</a> : null}
      </form>
    </search>
  );
}

/** Somebody who has left can still be the chosen one: their events link to themselves. */
function actorOptions(members: readonly Member[], chosen: string): Option[] {
  const options = [
    { value: '', label: 'Everyone' },
    ...members.map(({ id, email }) => ({ value: id, label: email })),
    ...Object.entries(machines).map(([value, { name }]) => ({ value, label: name })),
  ];
  const isKnown = !isId(chosen) || options.some(({ value }) => value === chosen);
  return isKnown ? options : [...options, { value: chosen, label: `Former member ${chosen}` }];
}

function Events({ events, path, now }: { events: readonly AuditEvent[]; path: string; now: Date }) {
  return (
    <div class="card">
      <table class="list">
        <caption class="hidden">Events, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Address</th>
            <th scope="col" class="end">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map(({ id, actor, summary, address, createdAt }) => (
            <tr key={id}>
              <td>
                {actor.type === 'user' && actor.id !== null ? (
                  <a href={`${path}?actor=${encodeURIComponent(actor.id)}`}>{describeActor(actor)}</a>
                ) : (
                  <strong>{describeActor(actor)}</strong>
                )}{' '}
                {summary}
              </td>
              {address === null ? (
                <td />
              ) : (
                <td class="short" data-label="Address">
                  {address}
                </td>
              )}
              <td class="end dim">
                <When at={createdAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Empty({
  path,
  isFiltered,
  isFirstPage,
}: {
  path: string;
  isFiltered: boolean;
  isFirstPage: boolean;
}) {
  if (!isFiltered && isFirstPage) {
    return (
      <div class="card empty">
        <p>No events yet. Changes to posts, keys, integrations, triggers and members appear here.</p>
      </div>
    );
  }
  return (
    <div class="card empty">
      <p>{isFiltered ? 'No event matches these filters.' : 'There are no older events.'}</p>
      <a class="button" href={path}>
        Show all events
      </a>
    </div>
  );
}
