/** @jsxRuntime automatic @jsxImportSource preact */
import { type Integration, providerNames } from '../../../integrations/model.ts';
import { Action, FormError } from '../../view/form.tsx';
import { integrationName } from '../deliveries/rows.tsx';

interface ChangesProps {
  integration: Integration;
  base: string;
  /** The error of a failed rotation. */
  secretError: string | undefined;
  /** The error of a failed disconnect. */
  disconnectError: string | undefined;
}

/** The changes that owners can make. */
export function Changes({ integration, base, secretError, disconnectError }: ChangesProps) {
  const path = `${base}/integrations/${integration.id}`;
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">Change it</h2>
      <div class="bar">
        {integration.enabled ? (
          <Action to={`${path}/disable`} label="Disable" />
        ) : (
          <Action to={`${path}/enable`} label="Enable" kind="go" />
        )}
        <span class="dim">
          {integration.enabled
            ? 'Disabled, it refuses deliveries until it is enabled again.'
            : 'Deliveries are refused now.'}
        </span>
      </div>
      <RotateSecret integration={integration} path={path} error={secretError} />
      <Disconnect integration={integration} path={path} error={disconnectError} />
    </section>
  );
}

interface ChangeProps {
  integration: Integration;
  path: string;
  error: string | undefined;
}

function RotateSecret({ integration: { type, hasToken }, path, error }: ChangeProps) {
  const provider = providerNames[type];
  return (
    <details class="danger" open={error !== undefined}>
      <summary>Rotate the secret</summary>
      <FormError error={error} />
      <p>
        {hasToken
          ? `Makes a new secret and sets it at ${provider}. The old one works for another 24 hours.`
          : `Makes a new secret. The old one works for another 24 hours: set the new one at ${provider} before then.`}
      </p>
      <Action to={`${path}/secret`} label="Make a new secret" kind="bad" busy="Making it…" isOnce />
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

function Disconnect({ integration, path, error }: ChangeProps) {
  const { type, hasToken } = integration;
  const provider = providerNames[type];
  const name = integrationName(integration);
  return (
    <details class="danger" open={error !== undefined}>
      <summary>Disconnect</summary>
      <FormError error={error} />
      <p>
        Removes {name} for good, with its triggers and what they still had to do.{' '}
        {hasToken
          ? `Its webhooks are deleted at ${provider}.`
          : `What ${provider} sends from then on is refused.`}{' '}
        Posts stay, and so does the log.
      </p>
      {error === undefined ? (
        <Action to={`${path}/disconnect`} label={`Disconnect ${name}`} kind="bad" busy="Disconnecting…" />
      ) : (
        <>
          <p>
            You can disconnect it all the same: what cannot be deleted stays at {provider} until somebody
            deletes it there, and what it delivers is refused.
          </p>
          <div class="bar">
            <Action to={`${path}/disconnect`} label="Try again" busy="Disconnecting…" />
            <Action
              to={`${path}/disconnect`}
              label="Disconnect all the same"
              kind="bad"
              fields={{ force: 'yes' }}
            />
          </div>
        </>
      )}
    </details>
  );
}
