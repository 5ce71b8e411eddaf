/** @jsxRuntime automatic @jsxImportSource preact */
import type { ReadTx } from '../../../../db/engine.ts';
import { countDays, type DayCounts, findLastDeliveryTime } from '../../../deliveries/count-store.ts';
import { deliveryStatuses } from '../../../deliveries/model.ts';
import { listHistories } from '../../../history/store.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { type Hook, type Integration, integrationName, webhookUrl } from '../../../integrations/model.ts';
import { ChangeFailed } from '../../../integrations/problems.ts';
import { listHistoryOnly, listIntegrations } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { providerOf, sampleEvents } from '../../../providers/index.ts';
import { kindsFor } from '../../../triggers/kinds/index.ts';
import { listRuns } from '../../../triggers/queue-store.ts';
import { listTriggers } from '../../../triggers/store.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import {
  Bars,
  counted,
  Exactly,
  Id,
  LinkButton,
  Select,
  Status,
  Table,
  ToCopy,
  When,
} from '../../view/elements.tsx';
import { Action, Danger, Form, FormError } from '../../view/form.tsx';
import { Columns, Facts, PageHead } from '../../view/layout.tsx';
import { Imports } from '../history/list.tsx';
import { Runs, TriggerList } from '../triggers/list.tsx';
import { AppNote, AppSection, appPagesOf, External } from './app.tsx';
import { HookState } from './hook-state.tsx';
import { LocalAddressNote } from './local-address.tsx';
import { findPauses, PauseNote } from './pauses.tsx';
import { PollingSection, readPolling } from './polling-state.tsx';
import { problemOf } from './words.ts';

export const PATH = '/dashboard/:organizationId/integrations/:integrationId';

export const integrationPages: readonly Page[] = [get(PATH, 'member', (visit) => showIntegration(visit))];

/** The integration of the path. Throws `AppError` 404, also for another organization's. */
export function requireIntegration(visit: MemberVisit): Promise<Integration> {
  return visit.deps.db.read((tx) => getIntegration(tx, visit));
}

async function getIntegration(tx: ReadTx, { organization, params }: MemberVisit): Promise<Integration> {
  const all = await listIntegrations(tx, organization.id);
  const integration = all.find(({ id }) => id === params.integrationId);
  if (integration !== undefined) return integration;
  throw new AppError(404, 'Integration not found. It may have been disconnected.');
}

/** The failure of one of the page's forms. */
export interface Failure {
  about: 'hooks' | 'secret' | 'disconnect';
  error: unknown;
}

/** The page of an integration. Throws the failure's error again if it is a failure of the server. */
export async function showIntegration(visit: MemberVisit, failure?: Failure): Promise<View> {
  const { deps, base, form, role } = visit;
  const now = deps.clock.now();
  const { integration, hooks, triggers, runs, histories, overview } = await deps.db.read(async (tx) => {
    const integration = await getIntegration(tx, visit);
    const owner = { integrationId: integration.id };
    return {
      integration,
      // Only a token makes hooks.
      hooks: integration.isManaged ? await listHooks(tx, integration.id) : [],
      triggers: await listTriggers(tx, owner),
      runs: await listRuns(tx, owner),
      histories: await listHistories(tx, visit.organization.id, { ...owner, limit: 5 }),
      overview: await readOverview(tx, integration, now),
    };
  });
  const { id, type, enabled, hasToken, isManaged, isPolled } = integration;
  const { isHistoryOnly } = overview;
  const provider = providerOf(type);
  const polling = isPolled ? await readPolling(deps, integration) : null;
  const pause = isManaged && !isPolled ? (await findPauses(deps, [integration])).get(id) : undefined;
  const isOwner = role === 'owner';
  const path = `${base}/integrations/${id}`;
  const message = failure && problemOf(failure.error, type);
  const errorOf = (about: Failure['about']) => (failure?.about === about ? message : undefined);
  const name = integrationName(integration);
  const pages = appPagesOf(visit, integration);
  const places = placesOf(integration, hooks);
  const props: PageProps = { integration, places, path, now, isOwner, isHistoryOnly };
  return view(
    name,
    <>
      <PageHead
        title={name}
        crumbs={[{ to: `${base}/integrations`, label: 'Integrations' }]}
        status={<Status status={enabled ? 'active' : 'disabled'} />}
        facts={
          <>
            {provider.name}, {isHistoryOnly ? 'imported' : 'connected'}{' '}
            <When at={integration.createdAt} now={now} />
          </>
        }
      />
      {pause && <PauseNote pause={pause} to={`${path}/missed`} isOwner={isOwner} />}
      {isPolled || isHistoryOnly ? null : <LocalAddressNote url={deps.publicUrl()} type={type} />}
      {pages && <AppNote integration={integration} pages={pages} isOwner={isOwner} />}
      <div class="card pad">
        <Overview {...overview} visit={visit} />
      </div>
      <Columns
        details={
          <>
            <Facts
              facts={[
                ['Provider', provider.name],
                ['Connected', <Exactly at={integration.createdAt} />],
                ['Events', isPolled ? 'Polled' : isHistoryOnly ? 'Not connected' : 'Delivered by webhooks'],
                pages !== null
                  ? [provider.app?.name ?? '', <External to={pages.settings}>Open settings</External>]
                  : isPolled
                    ? ['Token', hasToken ? 'Stored' : 'None']
                    : [
                        'Webhooks',
                        isHistoryOnly ? null : isManaged ? 'Managed with a token' : 'Set up by hand',
                      ],
                ['ID', <Id value={id} name="integration ID" />],
              ]}
            />
            {isOwner ? (
              <>
                <TestEvent {...props} />
                <section aria-labelledby="changes">
                  <h2 id="changes">Settings</h2>
                  <div class="bar">
                    <Action
                      to={`${path}/${enabled ? 'disable' : 'enable'}`}
                      label={enabled ? 'Disable integration' : 'Enable integration'}
                      kind={enabled ? '' : 'go'}
                    />
                    <span class="dim">
                      {enabled
                        ? 'Tidings rejects deliveries while it is disabled.'
                        : 'Tidings rejects its deliveries.'}
                    </span>
                  </div>
                  <RotateSecret {...props} error={errorOf('secret')} />
                  <Disconnect {...props} error={errorOf('disconnect')} deleteAt={pages?.danger} />
                </section>
              </>
            ) : (
              <p class="hint">Owners can send test events, create triggers, and change the integration.</p>
            )}
          </>
        }
      >
        <Runs runs={runs} triggers={triggers} path={path} now={now} />
        {polling && <PollingSection {...props} {...polling} error={errorOf('hooks')} />}
        {isPolled && hooks.length === 0 ? null : (
          <section aria-labelledby="hooks">
            <h2 id="hooks">{pages === null ? 'Webhooks' : 'Repositories'}</h2>
            <FormError error={polling ? undefined : errorOf('hooks')} />
            {failure?.error instanceof ChangeFailed && failure.error.outcome.code === 'not_removed' ? (
              <div class="bar">
                <Action
                  to={`${path}/remove`}
                  label={`Remove ${placeName(integration, hooks, form.get('place'))} anyway`}
                  kind="bad"
                  fields={{ place: form.get('place') ?? '', force: 'yes' }}
                />
                <span class="dim">Its webhook stays at {provider.name} until you delete it there.</span>
              </div>
            ) : null}
            {pages === null ? (
              <Hooks {...props} />
            ) : (
              <AppSection {...props} pages={pages} hook={hooks[0] ?? null} />
            )}
          </section>
        )}
        <TriggerList integration={integration} triggers={triggers} base={base} isOwner={isOwner} />
        {provider.reader === null ? null : (
          <Imports integration={integration} histories={histories} base={base} now={now} isOwner={isOwner} />
        )}
      </Columns>
    </>,
    { section: 'integrations', ...(failure && { status: 400 }) },
  );
}

export const readOverview = async (tx: ReadTx, integration: Integration, now: Date) => ({
  integration,
  days: await countDays(tx, integration, now, 30),
  last: await findLastDeliveryTime(tx, integration.id),
  isHistoryOnly: (await listHistoryOnly(tx, [integration])).has(integration.id),
});

/** The picture of recent deliveries, and the webhook URLs. */
export function Overview({
  integration,
  days,
  last,
  isHistoryOnly,
  visit: { deps, base },
}: Awaited<ReturnType<typeof readOverview>> & { visit: MemberVisit }) {
  const { id, repositories, isManaged, isPolled, app } = integration;
  const words = describeDays(days);
  // With a token, nobody needs to paste them. A long list is folded too.
  const isOpen = !isManaged && !isPolled && !isHistoryOnly && repositories.length <= 3;
  const own = repositories.length === 0 || app !== null ? [undefined] : repositories;
  const urls = own.map((repository) => (
    <>
      {own.length > 1 ? <p class="label">Webhook URL of {repository?.fullName}</p> : null}
      <ToCopy text={webhookUrl(deps.publicUrl(), integration, repository?.id)} />
    </>
  ));
  return (
    <>
      <Bars
        columns={days.map((day) => countByStatus([day]))}
        label={words}
        names={days.map(({ day }) => dayName.format(new Date(day)))}
      />
      <p class="hint">
        {words}.{' '}
        {last === null ? (
          isHistoryOnly ? (
            'Not connected: only past releases were imported.'
          ) : isPolled ? (
            'Waiting for the first event.'
          ) : (
            'Waiting for the first delivery.'
          )
        ) : (
          <>
            Last delivery <When at={last} now={deps.clock.now()} />.{' '}
            <a href={`${base}/deliveries?integration=${id}`}>View all</a>
          </>
        )}
      </p>
      <details class="more" open={isOpen}>
        <summary>{urls.length === 1 ? 'Webhook URL' : counted(urls.length, 'webhook URL')}</summary>
        {urls}
      </details>
    </>
  );
}

/** Days are counted in UTC. */
const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** The statuses that occur, each with its number of deliveries. */
function countByStatus(days: readonly DayCounts[]): [status: string, entries: number][] {
  return deliveryStatuses
    .map((status): [string, number] => [status, sum(days.map(({ counts }) => counts[status] ?? 0))])
    .filter(([, entries]) => entries > 0);
}

/** Such as "412 deliveries in 30 days: 400 processed, 12 ignored". */
function describeDays(days: readonly DayCounts[]): string {
  const counts = countByStatus(days);
  if (counts.length === 0) return `No deliveries in ${days.length} days`;
  const total = counted(sum(counts.map(([, entries]) => entries)), 'delivery', 'deliveries');
  const parts = counts.map(([status, entries]) => `${entries.toLocaleString('en')} ${status}`);
  return `${total} in ${days.length} days: ${parts.join(', ')}`;
}

interface PageProps {
  integration: Integration;
  places: ReturnType<typeof placesOf>;
  path: string;
  now: Date;
  isOwner: boolean;
  isHistoryOnly: boolean;
}

/** The repositories or teams. `hook`: null when a person set the webhook up. */
function placesOf(
  { isManaged, repositories }: Integration,
  hooks: readonly Hook[],
): { id: string; name: string; hook: Hook | null }[] {
  return isManaged
    ? hooks.map((hook) => ({ id: hook.placeId, name: hook.placeName, hook }))
    : repositories.map(({ id, fullName }) => ({ id, name: fullName, hook: null }));
}

/** The name of a repository or a team of an integration. */
export function placeName(integration: Integration, hooks: readonly Hook[], place: string | null): string {
  return placesOf(integration, hooks).find(({ id }) => id === place)?.name ?? 'It';
}

/** The webhooks at the provider, and what an owner can do about them. */
function Hooks({ integration, places, path, now, isOwner, isHistoryOnly }: PageProps) {
  const { type, isManaged, isPolled } = integration;
  const { name, api, reader, hasRepositories, words } = providerOf(type);
  const canRemove = isOwner && places.length > 1;
  const links = [
    { page: 'check', label: 'Check integration', isShown: true },
    { page: 'add', label: `Add ${words.place.one}`, isShown: isManaged || hasRepositories },
    { page: 'missed', label: 'Missed deliveries', isShown: isManaged && api?.listsDeliveries },
    {
      page: 'token',
      label: isManaged ? 'Replace token' : 'Add token',
      isShown: api !== null && !isHistoryOnly,
    },
    { page: 'polling', label: 'Use polling', isShown: reader !== null && !isPolled },
  ];
  return (
    <>
      <p class="hint">
        {isHistoryOnly
          ? `Tidings has imported past releases. To get drafts of new ones, connect a webhook with a ${name} token, or set it up by hand with the webhook URL above and a new secret.${reader === null ? '' : ` Where ${name} cannot reach Tidings, use polling.`}`
          : isManaged
            ? `Tidings manages these webhooks with a ${name} token.`
            : `These webhooks were set up by hand.${api === null ? '' : ' With a token, Tidings manages them.'}`}
      </p>
      {places.length === 0 ? null : (
        <Table
          caption={`Webhooks, by ${words.place.one}`}
          rows={places}
          columns={[
            { title: 'Where', cell: ({ name }) => name },
            {
              title: 'Webhook',
              cell: ({ hook }) =>
                isHistoryOnly ? <span class="dim">None yet</span> : <HookState hook={hook} now={now} />,
            },
            {
              title: 'Delivers',
              class: 'dim mono',
              cell: ({ hook }) =>
                isHistoryOnly
                  ? '–'
                  : hook === null
                    ? `As set at ${name}`
                    : hook.events.join(', ') || 'Nothing yet',
            },
            canRemove
              ? {
                  title: 'Change',
                  isTitleHidden: true,
                  class: 'end',
                  cell: ({ id, name }) => (
                    <Danger
                      label="Remove"
                      about={name}
                      to={`${path}/remove`}
                      button={`Remove ${name}`}
                      fields={{ place: id }}
                    >
                      Disconnects {name} for good, with its webhook and its own triggers. Posts and the log
                      stay.
                    </Danger>
                  ),
                }
              : null,
          ]}
        />
      )}
      {isOwner ? (
        <div class="bar">
          {isHistoryOnly && api !== null ? (
            <LinkButton to={`${path}/token`} label="Connect webhook" kind="go" />
          ) : null}
          {isManaged ? (
            <Action to={`${path}/repair`} label="Repair webhooks" busy="Repairing…" isOnce />
          ) : null}
          {links.map(({ page, label, isShown }) =>
            isShown ? <LinkButton to={`${path}/${page}`} label={label} /> : null,
          )}
        </div>
      ) : null}
    </>
  );
}

function TestEvent({ integration: { type, enabled }, path }: PageProps) {
  const events = sampleEvents(type);
  return (
    <section aria-labelledby="test">
      <h2 id="test">Test event</h2>
      <p class="hint">
        {enabled
          ? 'Tidings signs it and processes it like a real delivery: triggers create drafts, or publish if they are set to.'
          : 'The integration is disabled: the log will show the test event as rejected.'}
      </p>
      <Form to={`${path}/test`} problem={null} button="Send test event" kind="" layout="bar ends">
        <Select
          label="Event"
          name="event"
          id="field-test-event"
          options={events.map((each) => ({ value: each, label: each }))}
          // One that can become a draft.
          value={kindsFor(type).find(({ event }) => events.includes(event))?.event}
        />
      </Form>
    </section>
  );
}

type DangerProps = PageProps & { error: string | undefined };

function RotateSecret({ integration: { type, isManaged }, path, error }: DangerProps) {
  const provider = providerOf(type).name;
  return (
    <details class="danger" open={error !== undefined}>
      <summary>Rotate secret</summary>
      <FormError error={error} />
      <p>
        {isManaged ? `Creates a new secret and sets it at ${provider}.` : 'Creates a new secret.'} The old
        secret works for another 24 hours{isManaged ? '' : `: set the new one at ${provider} before then`}.
      </p>
      <Action to={`${path}/secret`} label="Create new secret" kind="bad" busy="Creating secret…" isOnce />
      <p>
        If the secret leaked, replace it at once.{' '}
        {isManaged
          ? 'Tidings then rejects deliveries that were signed with the old one.'
          : `Tidings then rejects deliveries until you set the new one at ${provider}.`}
      </p>
      <Action
        to={`${path}/secret`}
        label="Replace secret now"
        kind="bad"
        busy="Replacing secret…"
        fields={{ now: 'yes' }}
        isOnce
      />
    </details>
  );
}

function Disconnect({ integration, path, error, deleteAt }: DangerProps & { deleteAt: string | undefined }) {
  const provider = providerOf(integration.type).name;
  const name = integrationName(integration);
  const to = `${path}/disconnect`;
  return (
    <details class="danger" open={error !== undefined}>
      <summary>Disconnect</summary>
      <FormError error={error} />
      <p>
        Removes {name} for good, with its triggers and their queued runs.{' '}
        {deleteAt !== undefined
          ? `Tidings uninstalls the App at ${provider}.`
          : integration.isManaged
            ? `Tidings deletes its webhooks at ${provider}.`
            : `Tidings then rejects deliveries from ${provider}.`}{' '}
        Posts and the log stay.
      </p>
      {deleteAt === undefined ? null : (
        <p>
          Then delete the App itself in <External to={deleteAt}>its advanced settings</External>.
        </p>
      )}
      <Action to={to} label={`Disconnect ${name}`} kind="bad" busy="Disconnecting…" />
      {error === undefined ? null : (
        <>
          <p>
            You can disconnect it anyway. The webhook then stays at {provider} until you delete it there, and
            Tidings rejects its deliveries.
          </p>
          <Action to={to} label="Disconnect anyway" kind="bad" fields={{ force: 'yes' }} />
        </>
      )}
    </details>
  );
}
