/** @jsxRuntime automatic @jsxImportSource preact */
import type { Hook } from '../../../hooks/model.ts';
import { type Integration, providerNames } from '../../../integrations/model.ts';
import { Action, FormError } from '../../view/form.tsx';
import { When } from '../../view/when.tsx';
import { forPeople } from './problem.ts';
import { placeWords } from './words.ts';

export interface HooksProps {
  integration: Integration;
  hooks: readonly Hook[];
  base: string;
  now: Date;
  isOwner: boolean;
  /** What went wrong with what was asked for here. */
  error: string | undefined;
}

/** Who keeps the webhooks at the provider, and how they are. */
export function Hooks({ integration, hooks, base, now, isOwner, error }: HooksProps) {
  const { id, type, hasToken, repositories } = integration;
  const path = `${base}/integrations/${id}`;
  const provider = providerNames[type];
  const placeCount = Math.max(hooks.length, repositories.length);
  const canRemove = isOwner && placeCount > 1;
  return (
    <section aria-labelledby="hooks">
      <h2 id="hooks">At {provider}</h2>
      <FormError error={error} />
      <p class="hint">
        {hasToken
          ? `Tidings keeps the ${placeCount === 1 ? 'webhook' : 'webhooks'} there, with the token that it was given.`
          : `The ${placeCount > 1 ? 'webhooks were' : 'webhook was'} set up by hand: with a token, Tidings could look after ${placeCount > 1 ? 'them' : 'it'}.`}
      </p>
      {hasToken ? (
        <HookTable hooks={hooks} path={path} now={now} noun={placeWords[type].one} canRemove={canRemove} />
      ) : null}
      {!hasToken && canRemove ? (
        <ul class="card rows">
          {repositories.map((repository) => (
            <li>
              <span class="grow">{repository.fullName}</span>
              <Remove path={path} placeId={repository.id} name={repository.fullName} />
            </li>
          ))}
        </ul>
      ) : null}
      {isOwner ? <HookActions integration={integration} path={path} /> : null}
    </section>
  );
}

function HookActions({ integration: { type, hasToken }, path }: { integration: Integration; path: string }) {
  return (
    <div class="bar">
      <a class="button" href={`${path}/check`}>
        Check
      </a>
      {hasToken ? (
        <Action to={`${path}/repair`} label="Set up anew" busy="Setting up…" isOnce />
      ) : (
        <a class="button" href={`${path}/token`}>
          Give it a token
        </a>
      )}
      {hasToken || type === 'github' ? (
        <a class="button" href={`${path}/add`}>
          Add a {placeWords[type].one}
        </a>
      ) : null}
      {hasToken && type === 'github' ? (
        <a class="button" href={`${path}/missed`}>
          Missed deliveries
        </a>
      ) : null}
      {hasToken ? (
        <a class="button" href={`${path}/token`}>
          Replace the token
        </a>
      ) : null}
    </div>
  );
}

function HookTable({
  hooks,
  path,
  now,
  noun,
  canRemove,
}: {
  hooks: readonly Hook[];
  path: string;
  now: Date;
  noun: string;
  canRemove: boolean;
}) {
  return (
    <div class="card">
      <table class="list">
        <caption class="hidden">Webhooks, by {noun}</caption>
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">Webhook</th>
            <th scope="col">Delivers</th>
            {canRemove ? (
              <th scope="col" class="end">
                <span class="hidden">Change</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {hooks.map((hook) => (
            <tr>
              <td>{hook.placeName}</td>
              <td>
                <State hook={hook} now={now} />
              </td>
              <td class="dim mono">{hook.events.join(', ') || 'Nothing yet'}</td>
              {canRemove ? (
                <td class="end">
                  <Remove path={path} placeId={hook.placeId} name={hook.placeName} />
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ hook, now }: { hook: Hook; now: Date }) {
  const { problem, remoteId, hasPresentSecret, retryAt } = hook;
  if (problem !== null) {
    return (
      <>
        <span class="tag failed">Problem</span>
        <div class="reason">{forPeople(problem)}</div>
        {retryAt === null ? null : (
          <div class="dim">
            {retryAt > now.getTime() ? (
              <>
                Tried again <When at={new Date(retryAt).toISOString()} now={now} />.
              </>
            ) : (
              'Tried again in a moment.'
            )}
          </div>
        )}
      </>
    );
  }
  if (remoteId !== null && hasPresentSecret) return <span class="tag active">As it should be</span>;
  return (
    <>
      <span class="tag soon">Waiting</span>
      <div class="dim">
        {remoteId === null ? 'It is yet to be made there.' : 'It is yet to be given the present secret.'}
      </div>
    </>
  );
}

function Remove({ path, placeId, name }: { path: string; placeId: string; name: string }) {
  return (
    <details class="danger">
      <summary>
        Remove<span class="hidden"> {name}</span>
      </summary>
      <p>
        Disconnects {name} for good, with its webhook and the triggers that are for it alone. Posts stay, and
        so does the log.
      </p>
      <Action to={`${path}/remove`} label={`Remove ${name}`} kind="bad" fields={{ place: placeId }} />
    </details>
  );
}
