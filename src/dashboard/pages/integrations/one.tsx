import { kindsFor, listTriggers } from '../../../drafting/triggers/model.ts';
import { listRuns } from '../../../drafting/triggers/queue-store.ts';
import { listHistories } from '../../../intake/history/store.ts';
import { listHooks, listRecoveries } from '../../../integrations/hook-store.ts';
import { ChangeFailed, integrationName } from '../../../integrations/words.ts';
import { listAttention, shownTo } from '../../../people/attention.ts';
import { providerOf, sampleEvents } from '../../../providers/index.ts';
import { fragment, get, type MemberVisit, type Page, view } from '../../page.ts';
import { Columns, Exactly, Facts, Id, More, Section, When } from '../../view/elements.tsx';
import { Action, Form, FormError, Select } from '../../view/form.tsx';
import { deliveriesScript } from '../deliveries/list.tsx';
import { Imports } from '../history.tsx';
import { Runs, RunsSection, TriggerList } from '../triggers/list.tsx';
import { RecoverySection } from './missed.tsx';
import {
  findMissedPause,
  LocalAddressNote,
  Overview,
  PauseNote,
  readOverview,
  State,
  Troubles,
  troublesOf,
} from './overview.tsx';
import { getIntegration, PATH, problemOf } from './subpage.tsx';
import {
  AppNote,
  AppSection,
  Hooks,
  type PageProps,
  PollingSection,
  placeName,
  placesOf,
  readPolling,
} from './webhooks.tsx';

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showIntegration(visit)),

  // While failed runs are retried; with `?trigger`, those of one.
  get(`${PATH}/runs`, 'member', async (visit) => {
    const triggerId = visit.url.searchParams.get('trigger') ?? undefined;
    const isAsked = (id: string) => triggerId === undefined || id === triggerId;
    const { id, triggers, runs } = await visit.deps.db.read(async (tx) => {
      const { id } = await getIntegration(tx, visit);
      const owner = { integrationId: id };
      return { id, triggers: await listTriggers(tx, owner), runs: await listRuns(tx, owner) };
    });
    const found = { triggers, runs: runs.filter((run) => isAsked(run.triggerId)) };
    const path = `${visit.base}/integrations/${id}`;
    return fragment(<RunsSection {...found} path={path} {...(triggerId !== undefined && { triggerId })} />);
  }),
];

export interface Failure {
  about: 'hooks' | 'secret' | 'disconnect';
  error: unknown;
}

export function External({ to, children }: { to: string; children: string }) {
  return (
    <a href={to} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** The page of an integration. Throws the failure's error again if it is a failure of the server. */
export async function showIntegration(visit: MemberVisit, failure?: Failure) {
  const { deps, base, form, isOwner } = visit;
  const now = deps.clock.now();
  const { integration, hooks, recoveries, triggers, runs, histories, overview, troubles } =
    await deps.db.read(async (tx) => {
      const integration = await getIntegration(tx, visit);
      const owner = { integrationId: integration.id };
      return {
        integration,
        // Only a token makes hooks.
        hooks: integration.isManaged ? await listHooks(tx, integration.id) : [],
        recoveries:
          integration.isManaged && !integration.isPolled ? await listRecoveries(tx, integration.id) : [],
        triggers: await listTriggers(tx, owner),
        runs: await listRuns(tx, owner),
        histories: await listHistories(tx, visit.organization.id, { ...owner, limit: 5 }),
        overview: await readOverview(tx, integration, now),
        troubles: troublesOf(await listAttention(tx, shownTo(visit)), integration.id),
      };
    });
  const { id, type, app, enabled, hasToken, isManaged, isPolled, createdAt } = integration;
  const { isHistoryOnly } = overview;
  const provider = providerOf(type);
  const polling = isPolled ? await readPolling(deps, integration) : null;
  const pause = isHistoryOnly ? null : await findMissedPause(deps, integration);
  const path = `${base}/integrations/${id}`;
  const message = failure && problemOf(visit, failure.error);
  const errorOf = (about: Failure['about']) => (failure?.about === about ? message : undefined);
  const pages = app === null ? null : (provider.app?.pages(deps.providerUrls?.[type], app) ?? null);
  const props: PageProps = { integration, places: placesOf(integration, hooks), path, isHistoryOnly };
  const place = form.get('place') ?? '';
  return view(
    {
      title: integrationName(integration),
      crumbs: [{ to: 'integrations', label: 'Integrations' }],
      tag: <State {...{ troubles, isHistoryOnly }} isEnabled={enabled} />,
      facts: (
        <>
          {provider.name}, {isHistoryOnly ? 'imported' : 'connected'} <When at={createdAt} />
        </>
      ),
      scripts: [deliveriesScript],
      ...(failure && { status: 400 }),
    },
    pause && <PauseNote pause={pause} type={type} to={`${path}/token`} />,
    !isPolled && !isHistoryOnly && <LocalAddressNote url={deps.publicUrl()} type={type} />,
    pages && <AppNote integration={integration} pages={pages} />,
    <div class="card pad">
      <Troubles troubles={troubles} />
      <Overview {...overview} />
    </div>,
    <Columns
      details={
        <>
          <Facts
            facts={[
              ['Provider', provider.name],
              ['Connected', <Exactly at={createdAt} />],
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
              <Section id="changes" title="Settings">
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
              </Section>
            </>
          ) : (
            <p class="hint">Owners can send test events, create triggers, and change the integration.</p>
          )}
        </>
      }
    >
      <Runs runs={runs} triggers={triggers} path={path} />
      {polling && <PollingSection {...props} {...polling} error={errorOf('hooks')} />}
      {(!isPolled || hooks.length > 0) && (
        <Section id="hooks" title={pages === null ? 'Webhooks' : 'Repositories'}>
          <FormError error={polling ? undefined : errorOf('hooks')} />
          {failure?.error instanceof ChangeFailed && failure.error.outcome.code === 'not_removed' && (
            <div class="bar">
              <Action
                to={`${path}/remove`}
                label={`Remove ${placeName(integration, hooks, place)} anyway`}
                kind="bad"
                fields={{ place, force: 'yes' }}
              />
              <span class="dim">Its webhook stays at {provider.name} until you delete it there.</span>
            </div>
          )}
          {pages === null ? (
            <Hooks {...props} />
          ) : (
            <AppSection {...props} pages={pages} hook={hooks[0] ?? null} />
          )}
        </Section>
      )}
      {recoveries.length > 0 && <RecoverySection {...props} rows={recoveries} />}
      <TriggerList integration={integration} triggers={triggers} />
      {provider.reader && <Imports integration={integration} histories={histories} />}
    </Columns>,
  );
}

// Buttons of an owner for an integration as a whole. `check.tsx` does it.

function TestEvent({ integration: { type, enabled }, path }: PageProps) {
  const events = sampleEvents(type);
  return (
    <Section id="test" title="Test event">
      <p class="hint">
        {enabled
          ? 'Tidings signs it and processes it like a real delivery: triggers create drafts, or publish if they are set to.'
          : 'The integration is disabled: the log will show the test event as rejected.'}
      </p>
      <Form to={`${path}/test`} button="Send test event" kind="" layout="bar ends">
        <Select
          label="Event"
          name="event"
          id="field-test-event"
          options={events.map((each) => ({ value: each, label: each }))}
          // One that can become a draft.
          value={kindsFor(type).find(({ event }) => events.includes(event))?.event}
        />
      </Form>
    </Section>
  );
}

type DangerProps = PageProps & { error: string | undefined };

function RotateSecret({ integration: { type, isManaged }, path, error }: DangerProps) {
  const provider = providerOf(type).name;
  const action = { to: `${path}/secret`, kind: 'bad', isOnce: true } as const;
  return (
    <More label="Rotate secret" kind="danger" isOpen={error !== undefined}>
      <FormError error={error} />
      <p>
        {isManaged ? `Creates a new secret and sets it at ${provider}.` : 'Creates a new secret.'} The old
        secret works for another 24 hours{isManaged ? '' : `: set the new one at ${provider} before then`}.
      </p>
      <Action {...action} label="Create new secret" busy="Creating secret…" />
      <p>
        If the secret leaked, replace it at once.{' '}
        {isManaged
          ? 'Tidings then rejects deliveries that were signed with the old one.'
          : `Tidings then rejects deliveries until you set the new one at ${provider}.`}
      </p>
      <Action {...action} label="Replace secret now" busy="Replacing secret…" fields={{ now: 'yes' }} />
    </More>
  );
}

function Disconnect({ integration, path, error, deleteAt }: DangerProps & { deleteAt: string | undefined }) {
  const provider = providerOf(integration.type).name;
  const name = integrationName(integration);
  const to = `${path}/disconnect`;
  return (
    <More label="Disconnect" kind="danger" isOpen={error !== undefined}>
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
      {deleteAt !== undefined && (
        <p>
          Then delete the App itself in <External to={deleteAt}>its advanced settings</External>.
        </p>
      )}
      <Action to={to} label={`Disconnect ${name}`} kind="bad" busy="Disconnecting…" />
      {error !== undefined && (
        <>
          <p>
            You can disconnect it anyway. The webhook then stays at {provider} until you delete it there, and
            Tidings rejects its deliveries.
          </p>
          <Action to={to} label="Disconnect anyway" kind="bad" fields={{ force: 'yes' }} />
        </>
      )}
    </More>
  );
}
