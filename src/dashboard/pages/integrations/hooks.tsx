/** @jsxRuntime automatic @jsxImportSource preact */

import { type Hook, type Integration, providerNames } from '../../../integrations/model.ts';
import { providerOf } from '../../../providers/index.ts';
import { Action, FormError } from '../../view/form.tsx';
import { HookTable, Remove } from './hook-table.tsx';
import { placeWords } from './words.ts';

export interface HooksProps {
  integration: Integration;
  hooks: readonly Hook[];
  base: string;
  now: Date;
  isOwner: boolean;
  /** The error of a form in this section. */
  error: string | undefined;
  unremoved: { place: string; name: string } | undefined;
}

/** The webhooks at the provider, and their state. */
export function Hooks({ integration, hooks, base, now, isOwner, error, unremoved }: HooksProps) {
  const { id, type, hasToken, repositories } = integration;
  const path = `${base}/integrations/${id}`;
  const provider = providerNames[type];
  const placeCount = Math.max(hooks.length, repositories.length);
  const canRemove = isOwner && placeCount > 1;
  return (
    <section aria-labelledby="hooks">
      <h2 id="hooks">At {provider}</h2>
      <FormError error={error} />
      {unremoved === undefined ? null : (
        <div class="bar">
          <Action
            to={`${path}/remove`}
            label={`Remove ${unremoved.name} all the same`}
            kind="bad"
            fields={{ place: unremoved.place, force: 'yes' }}
          />
          <span class="dim">Its webhook stays at {provider} until somebody deletes it there.</span>
        </div>
      )}
      <p class="hint">
        {hasToken
          ? `Tidings keeps the ${placeCount === 1 ? 'webhook' : 'webhooks'} there, with the token that it was given.`
          : `The ${placeCount > 1 ? 'webhooks were' : 'webhook was'} set up by hand: with a token, Tidings could look after ${placeCount > 1 ? 'them' : 'it'}.`}
      </p>
      {hasToken ? (
        <HookTable hooks={hooks} path={path} now={now} noun={placeWords(type).one} canRemove={canRemove} />
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
  const provider = providerOf(type);
  return (
    <div class="bar">
      <a class="button" href={`${path}/check`}>
        Check
      </a>
      {hasToken ? (
        <Action to={`${path}/repair`} label="Set up anew" busy="Setting up…" isOnce />
      ) : provider.api === null ? null : (
        <a class="button" href={`${path}/token`}>
          Give it a token
        </a>
      )}
      {hasToken || provider.hasRepositories ? (
        <a class="button" href={`${path}/add`}>
          Add a {placeWords(type).one}
        </a>
      ) : null}
      {hasToken && provider.api?.listsDeliveries === true ? (
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
