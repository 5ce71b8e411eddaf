/** @jsxRuntime automatic @jsxImportSource preact */

import type { Delivery } from '../../../deliveries/model.ts';
import { type Integration, integrationName } from '../../../integrations/model.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { listCaused } from '../../../triggers/hand-over.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { FormError } from '../../view/form.tsx';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { Actions } from './actions.tsx';
import { Caused } from './caused.tsx';
import { Facts } from './facts.tsx';
import { requireDelivery } from './find.ts';
import { Payload } from './payload.tsx';
import { sourceOf } from './rows.tsx';

/** One entry of the log. */
export const delivery: Page = get(
  '/dashboard/:organizationId/deliveries/:deliveryId',
  'member',
  async (visit) => showDelivery(visit, await requireDelivery(visit)),
);

export async function showDelivery(visit: MemberVisit, entry: Delivery, error?: string): Promise<View> {
  const { deps, base, organization } = visit;
  const now = deps.clock.now();
  const integrations = await deps.db.read((tx) => listIntegrations(tx, organization.id));
  const integration = integrations.find(({ id }) => id === entry.integrationId) ?? null;
  const { title, status, statusCode, payload, createdAt } = entry;
  const posts = await listCaused(deps, entry, integration?.repositories ?? []);
  return view(
    title || 'Delivery',
    <>
      <p class="crumbs">
        <a href={`${base}/deliveries`}>Deliveries</a> / <When at={createdAt} now={now} />
      </p>
      <h1 class="any">{title || 'Untitled'}</h1>
      <p class="bar">
        <Status status={status} more={` · ${statusCode}`} />
        <span class="dim">
          {payload.event ?? 'A delivery'} from {sourceOf(entry, integrations)}
        </span>
      </p>
      <FormError error={error} />
      <Reason entry={entry} integrations={integrations} base={base} />
      <Actions entry={entry} integration={integration} base={base} />
      <div class="two">
        <section aria-labelledby="payload">
          <h2 id="payload">Payload</h2>
          <Payload data={status === 'rejected' ? null : payload.data} status={status} />
        </section>
        <section aria-labelledby="facts">
          <h2 id="facts">Details</h2>
          <Facts entry={entry} integration={integration} base={base} now={now} />
        </section>
      </div>
      <Caused posts={posts} entry={entry} base={base} now={now} />
    </>,
    { section: 'deliveries', ...(error === undefined ? {} : { status: 409 }) },
  );
}

/** Explains the status and links to where it can be fixed. */
function Reason({
  entry,
  integrations,
  base,
}: {
  entry: Delivery;
  integrations: readonly Integration[];
  base: string;
}) {
  const { status, reason, count } = entry;
  if (status === 'processed') return null;
  const words = {
    ignored: 'Tidings does not use this event.',
    duplicate: 'This delivery was received before, so it was not processed again.',
    rejected: 'Tidings rejected this delivery.',
    failed: 'Processing failed. The provider can send the delivery again.',
  }[status];
  return (
    <div class="note">
      <strong>{words}</strong>
      {reason ? <p class="reason">{reason}</p> : null}
      {secretsToCheck(entry, integrations).map((each) => (
        <p class="reason">
          <a href={`${base}/integrations/${each.id}`}>Open the integration {integrationName(each)}</a>
        </p>
      ))}
      {count > 1 ? (
        <p class="reason">
          {count.toLocaleString('en')} such deliveries arrived within a minute and share this entry.
        </p>
      ) : null}
    </div>
  );
}

/** After a wrong signature: the integration, and the one that its secret or URL was mixed up with. */
function secretsToCheck(
  { status, payload, integrationId }: Delivery,
  integrations: readonly Integration[],
): Integration[] {
  if (status !== 'rejected' || payload.data?.signature === undefined) return [];
  const ids = [integrationId, payload.data.integrationId];
  return integrations.filter(({ id }) => ids.includes(id));
}
