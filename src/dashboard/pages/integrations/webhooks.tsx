import type { Hook } from '../../../integrations/hook-store.ts';
import type { Integration } from '../../../integrations/store.ts';
import { providerOf } from '../../../providers/index.ts';
import { LinkButton, useVisit, When } from '../../view/elements.tsx';
import { Action, Danger } from '../../view/form.tsx';
import { Table } from '../../view/list.tsx';

/** Whether the provider's webhook is as it should be. Null: a person set it up. */
export function HookState({ hook }: { hook: Hook | null }) {
  const { now } = useVisit();
  if (hook === null) return <span class="dim">Set up by hand</span>;
  const { problem, remoteId, hasPresentSecret, retryAt } = hook;
  if (problem !== null) {
    const isAhead = retryAt !== null && retryAt > now.getTime();
    return (
      <>
        <span class="tag failed">Problem</span>
        <div class="reason">{problem}</div>
        <div class="dim">
          Next retry {isAhead ? <When at={new Date(retryAt).toISOString()} /> : 'in a moment'}.
        </div>
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

// The webhooks of an integration at its provider.

export const tokenLabel = (hasToken: boolean) => (hasToken ? 'Replace token' : 'Add token');

/** What the sections of the page are about. */
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

/** The name of a repository or a team of an integration. */
export function placeName(integration: Integration, hooks: readonly Hook[], place: string | null): string {
  return placesOf(integration, hooks).find(({ id }) => id === place)?.name ?? 'It';
}

/** The webhooks at the provider, and what an owner can do about them. */
export function Hooks({ integration, places, path, isHistoryOnly }: PageProps) {
  const { isOwner } = useVisit();
  const { type, isManaged, isPolled } = integration;
  const { name, api, reader, hasRepositories, words } = providerOf(type);
  const canRemove = isOwner && places.length > 1;
  const links = [
    { page: 'check', label: 'Check integration', isShown: true },
    { page: 'add', label: `Add ${words.place.one}`, isShown: isManaged || hasRepositories },
    { page: 'missed', label: 'Missed deliveries', isShown: isManaged && api?.listsDeliveries },
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
          {isHistoryOnly && api !== null && (
            <LinkButton to={`${path}/token`} label="Connect webhook" kind="go" />
          )}
          {isManaged && <Action to={`${path}/repair`} label="Repair webhooks" busy="Repairing…" isOnce />}
          {links.map(({ page, label, isShown }) =>
            isShown ? <LinkButton to={`${path}/${page}`} label={label} /> : null,
          )}
        </div>
      ) : null}
    </>
  );
}
