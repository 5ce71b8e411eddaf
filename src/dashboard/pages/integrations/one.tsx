/** @jsxRuntime automatic @jsxImportSource preact */
import { listHistories } from '../../../history/store.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { integrationName } from '../../../integrations/model.ts';
import { ChangeFailed } from '../../../integrations/problems.ts';
import { providerOf } from '../../../providers/index.ts';
import { listRuns } from '../../../triggers/queue-store.ts';
import { listTriggers } from '../../../triggers/store.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Exactly, Id, Status, When } from '../../view/elements.tsx';
import { Action, FormError } from '../../view/form.tsx';
import { Columns, Facts, PageHead } from '../../view/layout.tsx';
import { Imports } from '../history/list.tsx';
import { Runs, TriggerList } from '../triggers/list.tsx';
import { AppNote, AppSection, appPagesOf, External } from './app-section.tsx';
import { LocalAddressNote } from './local-address.tsx';
import { Overview, readOverview } from './overview.tsx';
import { Disconnect, RotateSecret, TestEvent } from './owner-forms.tsx';
import { findPauses, PauseNote } from './pauses.tsx';
import { PollingSection, readPolling } from './polling-state.tsx';
import { getIntegration, PATH } from './subpage.tsx';
import { Hooks, type PageProps, placeName, placesOf } from './webhooks.tsx';
import { problemOf } from './words.ts';

export const routes: readonly Page[] = [get(PATH, 'member', (visit) => showIntegration(visit))];

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
