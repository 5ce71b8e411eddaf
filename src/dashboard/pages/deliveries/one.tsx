/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { findDelivery } from '../../../deliveries/log-store.ts';
import type { Delivery } from '../../../deliveries/model.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { tidings } from '../../../lib/build.ts';
import { DAY_MS } from '../../../lib/time.ts';
import type { Post } from '../../../posts/model.ts';
import { sampleEvents } from '../../../providers/index.ts';
import { replayDelivery } from '../../../receiver/replay.ts';
import { listCaused } from '../../../triggers/hand-over.ts';
import { get, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { Copy, exactly, Status, When } from '../../view/elements.tsx';
import { Action, FormError } from '../../view/form.tsx';
import { sourceOf } from './list.tsx';
import { Payload } from './payload.tsx';

/** Longest delivery id of any provider. */
const MAX_ID_LENGTH = 200;

/** By the entry's id or the provider's; null when the organization has none. */
export async function findEntry({ deps, organization }: MemberVisit, id: string): Promise<Delivery | null> {
  if (id.length > MAX_ID_LENGTH) return null;
  return deps.db.read((tx) => findDelivery(tx, organization.id, id));
}

/** The entry of the path. Throws `AppError` 404, also for another organization's. */
async function requireDelivery(visit: MemberVisit): Promise<Delivery> {
  const entry = await findEntry(visit, visit.params.deliveryId ?? '');
  if (entry === null) throw new AppError(404, 'Delivery not found. The log may have deleted it since.');
  return entry;
}

/** One entry of the log. */
export const delivery: Page = get(
  '/dashboard/:organizationId/deliveries/:deliveryId',
  'member',
  async (visit) => showDelivery(visit, await requireDelivery(visit)),
);

async function showDelivery(visit: MemberVisit, entry: Delivery, error?: string): Promise<View> {
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

/** Replays the delivery, or explains why that is impossible. */
function Actions({
  entry,
  integration,
  base,
}: {
  entry: Delivery;
  integration: Integration | null;
  base: string;
}) {
  const obstacle = whyNotReplayable(entry, integration);
  const command = integration === null ? null : commandFor(entry);
  return (
    <>
      <div class="bar">
        {obstacle === null ? (
          <Action to={`${base}/deliveries/${entry.id}/replay`} label="Replay delivery" />
        ) : null}
        {command === null ? null : <Copy text={command} label="Copy sample command" />}
      </div>
      {obstacle === null ? (
        <p class="hint">
          A replay hands the event to the triggers again. Existing drafts are updated, not duplicated.
        </p>
      ) : (
        <p class="hint">{obstacle}</p>
      )}
      {command === null ? null : (
        <details class="more">
          <summary>Send a sample from a terminal</summary>
          <p class="hint">
            Tidings does not keep the raw body, so curl cannot send this delivery again. This command signs
            and sends a sample of the same event:
          </p>
          <pre>{command}</pre>
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

function commandFor({ payload: { event }, integrationId, integrationType }: Delivery): string | null {
  if (event === null || !sampleEvents(integrationType).includes(event)) return null;
  return `${tidings} send ${integrationType} ${event} --integration ${integrationId}`;
}

/** Replays a delivery and opens the entry of the replay. */
export const replay: Page = post(
  '/dashboard/:organizationId/deliveries/:deliveryId/replay',
  'member',
  async (visit) => {
    const { deps, base, organization } = visit;
    const delivery = await requireDelivery(visit);
    const integrations = await deps.db.read((tx) => listIntegrations(tx, organization.id));
    const integration = integrations.find(({ id }) => id === delivery.integrationId) ?? null;
    const obstacle = whyNotReplayable(delivery, integration);
    if (obstacle !== null) return showDelivery(visit, delivery, obstacle);
    const entry = await replayDelivery(deps, delivery);
    return redirect(
      `${base}/deliveries/${entry.id}`,
      'Delivery replayed. Existing drafts are updated, not duplicated.',
    );
  },
);

/** The fields of an entry beside its payload. */
function Facts({
  entry,
  integration,
  base,
  now,
}: {
  entry: Delivery;
  integration: Integration | null;
  base: string;
  now: Date;
}) {
  const { id, status, statusCode, referenceId, payload, createdAt, durationMs, retentionDays } = entry;
  const { sameBodyAs, replayOf, integrationId, integrationType } = entry;
  const keptUntil = new Date(Date.parse(createdAt) + retentionDays * DAY_MS).toISOString();
  return (
    <dl class="facts card">
      <Fact name="Status">
        {status}, HTTP {statusCode}
      </Fact>
      <Fact name="Event">{[payload.event ?? 'unknown', payload.action].filter(Boolean).join(', ')}</Fact>
      <Fact name="Delivery id">
        <code>{referenceId ?? 'none'}</code>
      </Fact>
      <Fact name="Integration">
        {integration === null ? (
          <a href={`${base}/deliveries?integration=${integrationId}`}>
            {providerNames[integrationType]}, disconnected
          </a>
        ) : (
          <a href={`${base}/integrations/${integration.id}`}>{integrationName(integration)}</a>
        )}
      </Fact>
      <Fact name="Received">
        <When at={createdAt} now={now} />
        <div class="dim">{exactly(new Date(createdAt))}</div>
      </Fact>
      <Fact name="Response time">{durationMs} ms</Fact>
      <Fact name="Kept until">
        <When at={keptUntil} now={now} />, {retentionDays} days after it arrived
      </Fact>
      {sameBodyAs === null ? null : (
        <Fact name="Same body as">
          <a href={`${base}/deliveries?delivery=${encodeURIComponent(sameBodyAs)}`}>
            <code>{sameBodyAs}</code>
          </a>
        </Fact>
      )}
      {replayOf === null ? null : (
        <Fact name="Replay of">
          <a href={`${base}/deliveries/${replayOf}`}>
            <code>{replayOf}</code>
          </a>
        </Fact>
      )}
      {entry.headers === null ? null : (
        <Fact name="Headers">
          <ul class="plain flat mono">
            {Object.entries(entry.headers).map(([name, value]) => (
              <li>
                <span class="dim">{name}:</span> {value}
              </li>
            ))}
          </ul>
        </Fact>
      )}
      <Fact name="Entry">
        <code>{id}</code>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** The posts that a delivery became part of. */
function Caused({
  posts,
  entry: { status, payload },
  base,
  now,
}: {
  posts: readonly Pick<Post, 'id' | 'title' | 'status' | 'contentType' | 'updatedAt'>[];
  entry: Delivery;
  base: string;
  now: Date;
}) {
  if (status !== 'processed' || payload.data === null) return null;
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
          {posts.map(({ id, title, status: postStatus, contentType, updatedAt }) => (
            <li>
              <Status status={postStatus} />
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
