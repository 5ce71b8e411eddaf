/** @jsxRuntime automatic @jsxImportSource preact */
import { integrationName } from '../../../integrations/model.ts';
import { providerOf, sampleEvents } from '../../../providers/index.ts';
import { kindsFor } from '../../../triggers/kinds/index.ts';
import { Select } from '../../view/elements.tsx';
import { Action, Form, FormError } from '../../view/form.tsx';
import { External } from './app-section.tsx';
import type { PageProps } from './webhooks.tsx';

// What an owner can do with an integration as a whole. `changes.tsx` does it.

export function TestEvent({ integration: { type, enabled }, path }: PageProps) {
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

export function RotateSecret({ integration: { type, isManaged }, path, error }: DangerProps) {
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

export function Disconnect({
  integration,
  path,
  error,
  deleteAt,
}: DangerProps & { deleteAt: string | undefined }) {
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
