/** @jsxRuntime automatic @jsxImportSource preact */
import { listIntegrations } from '../../../integrations/store.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { listCaused } from '../../../triggers/caused.ts';
import type { Delivery } from '../../../webhooks/model.ts';
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

export async function showDelivery(visit: MemberVisit, entry: Delivery, error?: AppError): Promise<View> {
  const { deps, base, organization } = visit;
  const now = deps.clock.now();
  const integrations = await listIntegrations(deps.db, organization.id);
  const integration = integrations.find(({ id }) => id === entry.integrationId) ?? null;
  const { title, status, statusCode, payload, createdAt } = entry;
  const posts = listCaused(deps, entry, integration?.repositories ?? []);
  return view(
    title || 'Delivery',
    <>
      <p class="crumbs">
        <a href={`${base}/deliveries`}>Deliveries</a> / <When at={createdAt} now={now} />
      </p>
      <h1 class="any">{title || 'Without a title'}</h1>
      <p class="bar">
        <Status status={status} more={` · ${statusCode}`} />
        <span class="dim">
          {payload.event ?? 'A delivery'} from {sourceOf(entry, integrations)}
        </span>
      </p>
      <FormError error={error?.message} />
      <Reason entry={entry} />
      <Actions entry={entry} integration={integration} base={base} />
      <div class="two">
        <section aria-labelledby="payload">
          <h2 id="payload">What it said</h2>
          <Payload data={payload.data} status={status} />
        </section>
        <section aria-labelledby="facts">
          <h2 id="facts">Facts</h2>
          <Facts entry={entry} integration={integration} base={base} now={now} />
        </section>
      </div>
      <Caused posts={posts} entry={entry} base={base} now={now} />
    </>,
    { section: 'deliveries', ...(error === undefined ? {} : { status: error.status }) },
  );
}

/** What the status means here, in words. */
function Reason({ entry: { status, reason, count } }: { entry: Delivery }) {
  if (status === 'processed') return null;
  const words = {
    ignored: 'It was taken, and means nothing to Tidings.',
    duplicate: 'It was taken before, and was not processed a second time.',
    rejected: 'It was refused, and nothing was done.',
    failed: 'It could not be processed. The provider was told, and can send it again.',
  }[status];
  return (
    <div class="note">
      <strong>{words}</strong>
      {reason ? <p class="reason">{reason}</p> : null}
      {count > 1 ? (
        <p class="reason">
          {count.toLocaleString('en')} such deliveries came within a minute. They share this entry.
        </p>
      ) : null}
    </div>
  );
}
