/** @jsxRuntime automatic @jsxImportSource preact */

import { findDelivery } from '../../../deliveries/log-store.ts';
import type { Integration } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { sampleEvents, sampleFor } from '../../../providers/index.ts';
import { sendDelivery } from '../../../receiver/send.ts';
import { type Page, post, redirect } from '../../page.ts';
import { Select } from '../../view/select.tsx';
import { requireIntegration } from './find.ts';

/** Sends a signed delivery to the service itself, the way that the provider's come. */
export const testEvent: Page = post(
  '/dashboard/:organizationId/integrations/:integrationId/test',
  'owner',
  async (visit) => {
    const { deps, organization, base, form } = visit;
    const integration = await requireIntegration(visit);
    const event = form.get('event') ?? '';
    const sample = sampleFor(integration, event, { now: deps.clock.now() });
    if (sample === null) throw new AppError(400, 'There is no sample of this event. Choose one of the list.');
    const deliveryId = deps.ids.newUuid();
    const { status } = await sendDelivery(
      { db: deps.db, secrets: deps.secrets, fetch: deps.self },
      {
        integrationId: integration.id,
        event,
        deliveryId,
        body: JSON.stringify(sample),
        baseUrl: 'http://localhost',
      },
    );
    const entry = await findDelivery(deps.db, organization.id, deliveryId);
    return entry === null
      ? redirect(
          `${base}/deliveries?integration=${integration.id}`,
          `The test event was refused with ${status}. The newest entry tells why.`,
        )
      : redirect(`${base}/deliveries/${entry.id}`, 'The test event was sent. This is what became of it.');
  },
);

export function TestEvent({ integration, base }: { integration: Integration; base: string }) {
  const { id, type, enabled } = integration;
  return (
    <section aria-labelledby="test">
      <h2 id="test">Send a test event</h2>
      <p class="hint">
        {enabled
          ? 'It is signed and taken like a real one: triggers make drafts of it, and those that publish at once publish.'
          : 'The integration is disabled: the test event will be refused, and the log will say so.'}
      </p>
      <form method="post" action={`${base}/integrations/${id}/test`} class="bar ends">
        <Select
          label="Event"
          name="event"
          id="field-test-event"
          options={sampleEvents(type).map((each) => ({ value: each, label: each }))}
        />
        <button type="submit" class="button">
          Send it
        </button>
      </form>
    </section>
  );
}
