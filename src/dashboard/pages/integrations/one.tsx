/** @jsxRuntime automatic @jsxImportSource preact */
import { listHooks } from '../../../integrations/hook-store.ts';
import { type Hook, type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { ChangeFailed } from '../../../integrations/problems.ts';
import { providerOf, sampleEvents } from '../../../providers/index.ts';
import { listRuns } from '../../../triggers/queue-store.ts';
import { listTriggers } from '../../../triggers/store.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Select, Status, Table, When } from '../../view/elements.tsx';
import { Action, Form, FormError } from '../../view/form.tsx';
import { Runs, TriggerList } from '../triggers/list.tsx';
import { cardOf, findPauses, Overview, PATH, PauseNote, requireIntegration } from './card.tsx';
import { problemOf } from './words.ts';

export const integrationPages: readonly Page[] = [get(PATH, 'member', (visit) => showIntegration(visit))];

/** The failure of one of the page's forms. */
interface Failure {
  about: 'hooks' | 'secret' | 'disconnect';
  error: unknown;
}

/** The page of an integration. Throws the failure's error again if it is a failure of the server. */
export async function showIntegration(visit: MemberVisit, failure?: Failure): Promise<View> {
  const { deps, base, form } = visit;
  const integration = await requireIntegration(visit);
  const { id, type, enabled, createdAt } = integration;
  const triggers = await deps.db.read((tx) => listTriggers(tx, { integrationId: id }));
  const runs = await listRuns(deps.db, { integrationId: id });
  const hooks = await deps.db.read((tx) => listHooks(tx, id));
  const pauses = await findPauses(deps, [integration]);
  const now = deps.clock.now();
  const isOwner = visit.role === 'owner';
  const path = `${base}/integrations/${id}`;
  const message = failure === undefined ? undefined : problemOf(failure.error, type);
  const errorOf = (about: Failure['about']) => (failure?.about === about ? message : undefined);
  const page: PageProps = { integration, hooks, path, now, isOwner };
  return view(
    integrationName(integration),
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a>
      </p>
      <h1 class="any">{integrationName(integration)}</h1>
      <p class="bar">
        <Status status={enabled ? 'active' : 'disabled'} />
        <span class="dim">
          {providerNames[type]}, connected <When at={createdAt} now={now} />
        </span>
      </p>
      <PauseNote pause={pauses.get(id)} to={`${path}/missed`} isOwner={isOwner} />
      <div class="card pad">
        <Overview {...(await cardOf(visit, integration))} base={base} />
      </div>
      <Runs runs={runs} triggers={triggers} path={path} now={now} />
      <section aria-labelledby="hooks">
        <h2 id="hooks">At {providerNames[type]}</h2>
        <FormError error={errorOf('hooks')} />
        {isNotRemoved(failure?.error) ? <ForceRemove {...page} place={form.get('place') ?? ''} /> : null}
        <Hooks {...page} />
      </section>
      <TriggerList integration={integration} triggers={triggers} base={base} isOwner={isOwner} />
      {isOwner ? (
        <>
          <TestEvent {...page} />
          <section aria-labelledby="changes">
            <h2 id="changes">Settings</h2>
            <Enable {...page} />
            <RotateSecret {...page} error={errorOf('secret')} />
            <Disconnect {...page} error={errorOf('disconnect')} />
          </section>
        </>
      ) : (
        <p class="hint">Owners can send test events, create triggers, and change the integration.</p>
      )}
    </>,
    { section: 'integrations', ...(failure !== undefined && { status: 400 }) },
  );
}

interface PageProps {
  integration: Integration;
  hooks: readonly Hook[];
  path: string;
  now: Date;
  isOwner: boolean;
}

/** The webhooks at the provider, and what an owner can do about them. */
function Hooks({ integration: { type, hasToken, repositories }, hooks, path, now, isOwner }: PageProps) {
  const placeCount = Math.max(hooks.length, repositories.length);
  const canRemove = isOwner && placeCount > 1;
  return (
    <>
      <p class="hint">
        {hasToken
          ? `Tidings manages the ${placeCount === 1 ? 'webhook' : 'webhooks'} there with its token.`
          : `The ${placeCount > 1 ? 'webhooks were' : 'webhook was'} set up by hand. With a token, Tidings manages ${placeCount > 1 ? 'them' : 'it'}.`}
      </p>
      {hasToken ? (
        <Table
          caption={`Webhooks, by ${providerOf(type).words.place.one}`}
          rows={hooks}
          columns={[
            { title: 'Where', cell: ({ placeName }) => placeName },
            { title: 'Webhook', cell: (hook) => <HookState hook={hook} now={now} /> },
            {
              title: 'Delivers',
              class: 'dim mono',
              cell: ({ events }) => events.join(', ') || 'Nothing yet',
            },
            canRemove
              ? {
                  title: 'Change',
                  isTitleHidden: true,
                  class: 'end',
                  cell: ({ placeId, placeName }) => <Remove path={path} place={placeId} name={placeName} />,
                }
              : null,
          ]}
        />
      ) : canRemove ? (
        <ul class="card rows">
          {repositories.map(({ id, fullName }) => (
            <li>
              <span class="grow">{fullName}</span>
              <Remove path={path} place={id} name={fullName} />
            </li>
          ))}
        </ul>
      ) : null}
      {isOwner ? <HookActions type={type} hasToken={hasToken} path={path} /> : null}
    </>
  );
}

function HookState({ hook, now }: { hook: Hook; now: Date }) {
  const { problem, remoteId, hasPresentSecret, retryAt } = hook;
  if (problem !== null) {
    return (
      <>
        <span class="tag failed">Problem</span>
        <div class="reason">{problem}</div>
        {retryAt === null ? null : (
          <div class="dim">
            Tried again{' '}
            {retryAt > now.getTime() ? (
              <When at={new Date(retryAt).toISOString()} now={now} />
            ) : (
              'in a moment'
            )}
            .
          </div>
        )}
      </>
    );
  }
  if (remoteId !== null && hasPresentSecret) return <span class="tag active">OK</span>;
  return (
    <>
      <span class="tag soon">Waiting</span>
      <div class="dim">
        {remoteId === null ? 'Tidings has not created it yet.' : 'It does not have the current secret yet.'}
      </div>
    </>
  );
}

function HookActions({ type, hasToken, path }: Pick<Integration, 'type' | 'hasToken'> & { path: string }) {
  const { api, hasRepositories, words } = providerOf(type);
  const links = [
    (hasToken || hasRepositories) && { page: 'add', label: `Add a ${words.place.one}` },
    hasToken && api?.listsDeliveries === true && { page: 'missed', label: 'Missed deliveries' },
    (hasToken || api !== null) && {
      page: 'token',
      label: hasToken ? 'Replace the token' : 'Add a token',
    },
  ].filter((link) => link !== false);
  return (
    <div class="bar">
      <a class="button" href={`${path}/check`}>
        Check
      </a>
      {hasToken ? <Action to={`${path}/repair`} label="Set up again" busy="Setting up…" isOnce /> : null}
      {links.map(({ page, label }) => (
        <a class="button" href={`${path}/${page}`}>
          {label}
        </a>
      ))}
    </div>
  );
}

/** Removes one repository or team, after a click to confirm. */
function Remove({ path, place, name }: { path: string; place: string; name: string }) {
  return (
    <details class="danger">
      <summary>
        Remove<span class="hidden"> {name}</span>
      </summary>
      <p>Disconnects {name} for good, with its webhook and its own triggers. Posts and the log stay.</p>
      <Action to={`${path}/remove`} label={`Remove ${name}`} kind="bad" fields={{ place }} />
    </details>
  );
}

function isNotRemoved(error: unknown): boolean {
  return error instanceof ChangeFailed && error.outcome.code === 'not_removed';
}

function ForceRemove({ integration, hooks, path, place }: PageProps & { place: string }) {
  return (
    <div class="bar">
      <Action
        to={`${path}/remove`}
        label={`Remove ${placeName(integration, hooks, place)} anyway`}
        kind="bad"
        fields={{ place, force: 'yes' }}
      />
      <span class="dim">
        Its webhook stays at {providerNames[integration.type]} until somebody deletes it there.
      </span>
    </div>
  );
}

/** The name of a repository or a team of an integration. */
export function placeName({ repositories }: Integration, hooks: readonly Hook[], place: string): string {
  const hook = hooks.find(({ placeId }) => placeId === place);
  return hook?.placeName ?? repositories.find(({ id }) => id === place)?.fullName ?? 'It';
}

function TestEvent({ integration: { type, enabled }, path }: PageProps) {
  return (
    <section aria-labelledby="test">
      <h2 id="test">Send a test event</h2>
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
          options={sampleEvents(type).map((each) => ({ value: each, label: each }))}
        />
      </Form>
    </section>
  );
}

function Enable({ integration: { enabled }, path }: PageProps) {
  return (
    <div class="bar">
      {enabled ? (
        <Action to={`${path}/disable`} label="Disable" />
      ) : (
        <Action to={`${path}/enable`} label="Enable" kind="go" />
      )}
      <span class="dim">
        {enabled ? 'A disabled integration refuses deliveries.' : 'It refuses deliveries now.'}
      </span>
    </div>
  );
}

type DangerProps = PageProps & { error: string | undefined };

function RotateSecret({ integration: { type, hasToken }, path, error }: DangerProps) {
  const provider = providerNames[type];
  return (
    <details class="danger" open={error !== undefined}>
      <summary>Rotate the secret</summary>
      <FormError error={error} />
      <p>
        {hasToken
          ? `Creates a new secret and sets it at ${provider}. The old one works for another 24 hours.`
          : `Creates a new secret. The old one works for another 24 hours: set the new one at ${provider} before then.`}
      </p>
      <Action to={`${path}/secret`} label="Create new secret" kind="bad" busy="Creating it…" isOnce />
      <p>
        {hasToken
          ? `If the secret leaked, end the old one as soon as ${provider} has the new one. A delivery that is on its way then is refused.`
          : `If the secret leaked, end the old one at once. Deliveries are refused until you set the new one at ${provider}.`}
      </p>
      <Action
        to={`${path}/secret`}
        label="Replace the secret now"
        kind="bad"
        busy="Replacing it…"
        fields={{ now: 'yes' }}
        isOnce
      />
    </details>
  );
}

function Disconnect({ integration, path, error }: DangerProps) {
  const provider = providerNames[integration.type];
  const name = integrationName(integration);
  return (
    <details class="danger" open={error !== undefined}>
      <summary>Disconnect</summary>
      <FormError error={error} />
      <p>
        Removes {name} for good, with its triggers and their queued runs.{' '}
        {integration.hasToken
          ? `Tidings deletes its webhooks at ${provider}.`
          : `Tidings then refuses deliveries from ${provider}.`}{' '}
        Posts and the log stay.
      </p>
      {error === undefined ? (
        <Action to={`${path}/disconnect`} label={`Disconnect ${name}`} kind="bad" busy="Disconnecting…" />
      ) : (
        <>
          <p>
            You can disconnect it anyway. Its webhook then stays at {provider} until somebody deletes it
            there, and Tidings refuses its deliveries.
          </p>
          <div class="bar">
            <Action to={`${path}/disconnect`} label="Try again" busy="Disconnecting…" />
            <Action
              to={`${path}/disconnect`}
              label="Disconnect anyway"
              kind="bad"
              fields={{ force: 'yes' }}
            />
          </div>
        </>
      )}
    </details>
  );
}
