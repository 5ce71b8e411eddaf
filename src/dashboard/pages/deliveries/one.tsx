/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { findDelivery } from '../../../deliveries/log-store.ts';
import type { Delivery } from '../../../deliveries/model.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { tidings } from '../../../lib/build.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { sampleEvents } from '../../../providers/index.ts';
import { replayDelivery } from '../../../receiver/replay.ts';
import { listCaused } from '../../../triggers/hand-over.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { exactly, Status, ToCopy, When } from '../../view/elements.tsx';
import { Action, FormError } from '../../view/form.tsx';
import { Facts as FactList } from '../../view/layout.tsx';
import { sourceOf } from './list.tsx';
import { Payload } from './payload.tsx';

const PATH = '/dashboard/:organizationId/deliveries/:deliveryId';

/** One entry of the log, and its replay. */
export const deliveryPages: readonly Page[] = [
  get(PATH, 'member', (visit) => showDelivery(visit)),
  post(`${PATH}/replay`, 'member', async (visit) => {
    const { entry, integration } = await requireDelivery(visit);
    const obstacle = whyNotReplayable(entry, integration);
    if (obstacle !== null) return showDelivery(visit, obstacle);
    const { id } = await replayDelivery(visit.deps, entry);
    const done = 'Delivery replayed. Existing drafts are updated, not duplicated.';
    return redirect(`${visit.base}/deliveries/${id}`, done);
  }),
];

/** By the entry's id or the provider's; null when the organization has none. */
export function findEntry({ deps, organization }: MemberVisit, id: string): Promise<Delivery | null> {
  return deps.db.read((tx) => findDelivery(tx, organization.id, id));
}

/** The entry of the path. Throws `AppError` 404, also for another organization's. */
async function requireDelivery({ deps, organization, params }: MemberVisit) {
  const { entry, integrations } = await deps.db.read(async (tx) => ({
    entry: await findDelivery(tx, organization.id, params.deliveryId ?? ''),
    integrations: await listIntegrations(tx, organization.id),
  }));
  if (entry === null) throw new AppError(404, 'Delivery not found. The log may have deleted it since.');
  const integration = integrations.find(({ id }) => id === entry.integrationId) ?? null;
  return { entry, integration, integrations };
}

type Entry = Awaited<ReturnType<typeof requireDelivery>> & { base: string; now: Date };

async function showDelivery(visit: MemberVisit, problem?: string) {
  const { deps, base } = visit;
  const found = await requireDelivery(visit);
  const { entry, integration, integrations } = found;
  const { title, status, statusCode, payload, createdAt } = entry;
  const props: Entry = { ...found, base, now: deps.clock.now() };
  const posts = await listCaused(deps, entry, integration?.repositories ?? []);
  return view(
    title || 'Delivery',
    <>
      <p class="crumbs">
        <a href={`${base}/deliveries`}>Deliveries</a> / <When at={createdAt} now={props.now} />
      </p>
      <h1 class="any">{title || 'Untitled'}</h1>
      <p class="bar">
        <Status status={status} more={` · ${statusCode}`} />
        <span class="dim">
          {payload.event ?? 'A delivery'} from {sourceOf(entry, integrations)}
        </span>
      </p>
      <FormError error={problem} />
      <Reason {...props} />
      <Actions {...props} />
      <div class="two">
        <section aria-labelledby="payload">
          <h2 id="payload">Payload</h2>
          {status === 'processed' && payload.data !== null ? (
            <Payload data={payload.data} />
          ) : (
            <p class="hint">
              {status === 'processed'
                ? 'This event has no data.'
                : 'Tidings keeps the data of processed deliveries only.'}
            </p>
          )}
        </section>
        <section aria-labelledby="facts">
          <h2 id="facts">Details</h2>
          <Facts {...props} />
        </section>
      </div>
      {status === 'processed' && payload.data !== null ? <Caused posts={posts} {...props} /> : null}
    </>,
    { section: 'deliveries', ...(problem !== undefined && { status: 409 }) },
  );
}

const reasons = {
  ignored: 'Tidings does not use this event.',
  duplicate: 'This delivery was received before, so it was not processed again.',
  rejected: 'Tidings rejected this delivery.',
  failed: 'Processing failed. The provider can send the delivery again.',
};

/** Explains the status and links to where it can be fixed. */
function Reason({ entry: { status, reason, count, payload, integrationId }, integrations, base }: Entry) {
  if (status === 'processed') return null;
  // After a wrong signature: the integration, and the one that its secret or URL was mixed up with.
  const mixedUp =
    status === 'rejected' && payload.data?.signature !== undefined
      ? [integrationId, payload.data.integrationId]
      : [];
  return (
    <div class="note">
      <strong>{reasons[status]}</strong>
      {reason ? <p class="reason">{reason}</p> : null}
      {integrations
        .filter(({ id }) => mixedUp.includes(id))
        .map((each) => (
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

/** Replays the delivery, or explains why that is impossible. */
function Actions({ entry, integration, base }: Entry) {
  const { payload, integrationId, integrationType: type } = entry;
  const obstacle = whyNotReplayable(entry, integration);
  const command =
    integration !== null && payload.event !== null && sampleEvents(type).includes(payload.event)
      ? `${tidings} send ${type} ${payload.event} --integration ${integrationId}`
      : null;
  return (
    <>
      {obstacle === null ? (
        <Action to={`${base}/deliveries/${entry.id}/replay`} label="Replay delivery" />
      ) : null}
      <p class="hint">
        {obstacle ??
          'A replay hands the event to the triggers again. Existing drafts are updated, not duplicated.'}
      </p>
      {command === null ? null : (
        <details class="more">
          <summary>Send a sample from a terminal</summary>
          <p class="hint">
            Tidings does not keep the raw body, so curl cannot send this delivery again. This command signs
            and sends a sample of the same event:
          </p>
          <ToCopy text={command} label="Copy command" />
        </details>
      )}
    </>
  );
}

/** Null when the entry can be replayed. */
function whyNotReplayable({ status, payload }: Delivery, integration: Integration | null): string | null {
  if (integration === null) return 'It cannot be replayed: its integration is disconnected.';
  if (status !== 'processed') {
    return `It cannot be replayed: it is ${status}, and only processed deliveries can be. The provider can redeliver it.`;
  }
  return payload.data === null ? 'It cannot be replayed: posts are not made of its event.' : null;
}

/** The fields of an entry beside its payload. */
function Facts({ entry, integration, base, now }: Entry) {
  const { payload, createdAt, retentionDays, sameBodyAs, replayOf, integrationId } = entry;
  const keptUntil = new Date(Date.parse(createdAt) + retentionDays * DAY_MS).toISOString();
  const link = (path: string, name: ComponentChildren) => <a href={`${base}/${path}`}>{name}</a>;
  const facts: [name: string, value: ComponentChildren][] = [
    ['Event', [payload.event ?? 'unknown', payload.action].filter(Boolean).join(', ')],
    ['Delivery ID', <code>{entry.referenceId ?? 'none'}</code>],
    [
      'Integration',
      integration === null
        ? link(
            `deliveries?integration=${integrationId}`,
            `${providerNames[entry.integrationType]}, disconnected`,
          )
        : link(`integrations/${integrationId}`, integrationName(integration)),
    ],
    ['Received', exactly(new Date(createdAt))],
    ['Response time', `${entry.durationMs} ms`],
    [
      'Kept until',
      <>
        <When at={keptUntil} now={now} />, {retentionDays} days after it arrived
      </>,
    ],
    [
      'Same body as',
      sameBodyAs && link(`deliveries?delivery=${encodeURIComponent(sameBodyAs)}`, <code>{sameBodyAs}</code>),
    ],
    ['Replay of', replayOf && link(`deliveries/${replayOf}`, <code>{replayOf}</code>)],
    [
      'Headers',
      entry.headers && (
        <ul class="plain flat mono">
          {Object.entries(entry.headers).map(([name, value]) => (
            <li>
              <span class="dim">{name}:</span> {value}
            </li>
          ))}
        </ul>
      ),
    ],
    ['Entry', <code>{entry.id}</code>],
  ];
  return <FactList facts={facts} />;
}

/** The posts that a delivery became part of. */
function Caused({ posts, base, now }: Entry & { posts: Awaited<ReturnType<typeof listCaused>> }) {
  return (
    <section aria-labelledby="caused">
      <h2 id="caused">Result</h2>
      {posts.length === 0 ? (
        <p class="hint">
          No posts yet. No trigger matched this event, its draft is still in the queue, or the change waits as
          a suggestion beside a post that somebody edited.
        </p>
      ) : (
        <ul class="card rows">
          {posts.map(({ id, title, status, contentType, updatedAt }) => (
            <li>
              <Status status={status} />
              <a href={`${base}/posts/${id}`}>{title}</a>
              <span class="dim">
                {contentType === 'changelog' ? 'changelog' : 'LinkedIn post'}, changed{' '}
                <When at={updatedAt} now={now} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
