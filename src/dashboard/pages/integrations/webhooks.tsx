import type { Hook } from '../../../integrations/hook-store.ts';
import { describePollInterval, listPolls, listSharing } from '../../../integrations/poll-store.ts';
import type { Integration } from '../../../integrations/store.ts';
import type { AppPages } from '../../../providers/app.ts';
import { providerOf } from '../../../providers/index.ts';
import type { MemberVisit } from '../../page.ts';
import { Clock, counted, LinkButton, Section, useVisit, When } from '../../view/elements.tsx';
import { Action, Danger, FormError } from '../../view/form.tsx';
import { Table } from '../../view/list.tsx';

// How events of an integration come in: by webhooks, by an App, or by polling. These are parts of its page.

export const tokenLabel = (hasToken: boolean) => (hasToken ? 'Replace token' : 'Add token');

/** The subject of the parts of the page. `path`: of the page. */
export interface PageProps {
  integration: Integration;
  places: ReturnType<typeof placesOf>;
  path: string;
  isHistoryOnly: boolean;
}

/** The repositories or teams. `hook`: null when a person set the webhook up. */
export function placesOf(
  { isManaged, repositories }: Integration,
  hooks: readonly Hook[],
): { id: string; name: string; hook: Hook | null }[] {
  return isManaged
    ? hooks.map((hook) => ({ id: hook.placeId, name: hook.placeName, hook }))
    : repositories.map(({ id, fullName }) => ({ id, name: fullName, hook: null }));
}

export function placeName(integration: Integration, hooks: readonly Hook[], place: string | null): string {
  return placesOf(integration, hooks).find(({ id }) => id === place)?.name ?? 'It';
}

/** The state of the provider's webhook. Null: a person set it up. */
function HookState({ hook }: { hook: Hook | null }) {
  const { now } = useVisit();
  if (hook === null) return <span class="dim">Set up by hand</span>;
  const { problem, remoteId, hasPresentSecret, retryAt } = hook;
  if (problem !== null) {
    const isAhead = retryAt !== null && retryAt > now.getTime();
    return (
      <>
        <span class="tag failed">Problem</span>
        <div class="reason">{problem}</div>
        <div class="dim">Next retry {isAhead ? <When at={retryAt} /> : 'in a moment'}.</div>
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

export function Hooks({ integration, places, path, isHistoryOnly }: PageProps) {
  const { isOwner } = useVisit();
  const { type, isManaged, isPolled } = integration;
  const { name, api, reader, hasRepositories, words } = providerOf(type);
  const links = [
    { page: 'check', label: 'Check integration', isShown: true },
    { page: 'add', label: `Add ${words.place.one}`, isShown: isManaged || hasRepositories },
    { page: 'missed', label: 'Missed deliveries', isShown: isManaged && api?.redelivery != null },
    { page: 'token', label: tokenLabel(isManaged), isShown: api !== null && !isHistoryOnly },
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
      {places.length > 0 && (
        <Table
          caption={`Webhooks, by ${words.place.one}`}
          rows={places}
          columns={[
            { title: 'Where', cell: ({ name }) => name },
            {
              title: 'Webhook',
              cell: ({ hook }) =>
                isHistoryOnly ? <span class="dim">None yet</span> : <HookState hook={hook} />,
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
            isOwner &&
              places.length > 1 && {
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
              },
          ]}
        />
      )}
      {isOwner && (
        <div class="bar">
          {isHistoryOnly && api !== null && (
            <LinkButton to={`${path}/token`} label="Connect webhook" kind="go" />
          )}
          {isManaged && <Action to={`${path}/repair`} label="Repair webhooks" busy="Repairing…" isOnce />}
          {links.map(
            ({ page, label, isShown }) => isShown && <LinkButton to={`${path}/${page}`} label={label} />,
          )}
        </div>
      )}
    </>
  );
}

/** Says what keeps the App from sending events, and what to do. */
export function AppNote({ integration, pages }: { integration: Integration; pages: AppPages }) {
  const { type, app } = integration;
  const { isOwner } = useVisit();
  if (app === null || (app.suspendedAt === null && app.installationId !== null)) return null;
  return (
    <div class="note">
      {app.suspendedAt !== null ? (
        <p>
          Somebody suspended the App at {providerOf(type).name} on <Clock at={app.suspendedAt} />, so it sends
          no events. Unsuspend it in the settings of the account.
        </p>
      ) : (
        <>
          <p>The App is not installed, so it sends no events. Install it to choose its repositories.</p>
          {isOwner && <LinkButton to={pages.install} label="Install App" kind="go" />}
        </>
      )}
    </div>
  );
}

const MAX_LISTED = 100;

/** The repositories of the installation, and the App's webhook. */
export function AppSection(props: PageProps & { pages: AppPages; hook: Hook | null }) {
  const { integration, pages, hook, path } = props;
  const { type, app, repositories, isPolled } = integration;
  const { isOwner } = useVisit();
  const listed = repositories.slice(0, MAX_LISTED);
  return (
    <>
      <p class="hint">
        One webhook serves all repositories of the installation. Tidings signs in with tokens that expire
        after an hour.
      </p>
      <p>
        Webhook: <HookState hook={hook} />
      </p>
      {listed.length === 0 ? (
        <p class="dim">
          {app?.installationId === null ? 'No repositories yet.' : 'The installation has no repositories.'}
        </p>
      ) : (
        <Table
          caption="Repositories of the installation"
          rows={listed}
          columns={[{ title: 'Repository', cell: ({ fullName }) => fullName }]}
        />
      )}
      {repositories.length > listed.length && (
        <p class="dim">
          And {counted(repositories.length - listed.length, 'more repository', 'more repositories')}.
        </p>
      )}
      {isOwner && (
        <div class="bar">
          <LinkButton to={pages.install} label={`Choose repositories at ${providerOf(type).name}`} />
          <Action to={`${path}/refresh`} label="Refresh repositories" busy="Refreshing…" isOnce />
          <LinkButton to={`${path}/check`} label="Check integration" />
          <LinkButton to={`${path}/missed`} label="Missed deliveries" />
          <LinkButton to={`${path}/key`} label="Replace key" />
          {!isPolled && repositories.length > 0 && <LinkButton to={`${path}/polling`} label="Use polling" />}
          <Action to={`${path}/repair`} label="Repair webhook" busy="Repairing…" isOnce />
        </div>
      )}
    </>
  );
}

export async function readPolling({ db }: MemberVisit['deps'], integration: Integration) {
  return db.read(async (tx) => ({
    polls: await listPolls(tx, integration.id),
    sharing: (await listSharing(tx, integration)).length,
  }));
}

type Polled = Awaited<ReturnType<typeof readPolling>>;

export function PollingSection(props: PageProps & Polled & { error: string | undefined }) {
  const { integration, polls, sharing, path, error } = props;
  const { type, enabled, hasToken } = integration;
  const { now, isOwner } = useVisit();
  const { name, words } = providerOf(type);
  const { one } = words.place;
  const isSwitching = polls.some(({ cursor }) => cursor?.webhookSince);
  const budget = polls.map(({ cursor }) => cursor?.budget).find((each) => each != null);
  return (
    <Section id="polling" title="Polling">
      <FormError error={error} />
      <p class="hint">{describePollInterval(integration, sharing)}</p>
      {isSwitching && (
        <p class="note">
          A webhook takes over. Tidings polls until its first delivery has arrived, and once more.
        </p>
      )}
      <Table
        caption={`Polling, by ${one}`}
        rows={polls}
        columns={[
          { title: 'Where', cell: ({ fullName }) => fullName },
          {
            title: 'State',
            cell: ({ problem, attempts }) =>
              problem === null ? (
                <span class="tag active">OK</span>
              ) : (
                <>
                  <span class={`tag ${attempts > 0 ? 'failed' : 'soon'}`}>
                    {attempts > 0 ? 'Problem' : 'Paused'}
                  </span>
                  <div class="reason">{problem}</div>
                </>
              ),
          },
          {
            title: 'Last poll',
            isLabeled: true,
            class: 'dim',
            cell: ({ polledAt }) => (polledAt === null ? 'None yet' : <When at={polledAt} />),
          },
          {
            title: 'Next poll',
            isLabeled: true,
            class: 'dim',
            cell: ({ dueAt }) =>
              !enabled ? 'Disabled' : dueAt <= now.getTime() ? 'In a moment' : <When at={dueAt} />,
          },
        ]}
      />
      {budget && (
        <p class="hint">
          {budget.remaining.toLocaleString('en')} of {counted(budget.limit, 'request')} left at {name}
          {budget.resetAt === null ? '.' : <>; the limit resets {<When at={budget.resetAt} />}.</>}
        </p>
      )}
      {isOwner && (
        <div class="bar">
          <Action to={`${path}/poll`} label="Poll now" busy="Polling…" isOnce />
          <LinkButton to={`${path}/webhook`} label="Use a webhook" />
          {isSwitching && <LinkButton to={`${path}/polling`} label="Keep polling" />}
          <LinkButton to={`${path}/check`} label="Check integration" />
          <LinkButton to={`${path}/add`} label={`Add ${one}`} />
          <LinkButton to={`${path}/token`} label={tokenLabel(hasToken)} />
        </div>
      )}
    </Section>
  );
}
