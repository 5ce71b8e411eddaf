import type { ComponentChildren } from 'preact';
import { shippedBy } from '../../../drafting/triggers/hand-over.ts';
import { isPending, isRefusal } from '../../../drafting/triggers/model.ts';
import { createTrigger } from '../../../drafting/triggers/service.ts';
import { replayDelivery, whyNotReplayable } from '../../../intake/receiver/send.ts';
import { findDelivery } from '../../../integrations/deliveries/log-store.ts';
import type { Delivery } from '../../../integrations/deliveries/store.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { type Integration, integrationName } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { tidings } from '../../../lib/build.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { DEFAULT_CONTENT_TYPE } from '../../../posts/model.ts';
import { sampleEvents } from '../../../providers/index.ts';
import { fragment, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import {
  Columns,
  Exactly,
  Facts,
  Id,
  Link,
  More,
  Section,
  Status,
  ToCopy,
  useVisit,
  When,
} from '../../view/elements.tsx';
import { Action, FormError } from '../../view/form.tsx';
import { deliveriesScript, sourceOf } from './list.tsx';
import { PayloadSection } from './payload.tsx';
import { ResultSection, readResult } from './result.tsx';

const PATH = '/dashboard/:organizationId/deliveries/:deliveryId';

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showDelivery(visit)),
  get(`${PATH}/result`, 'member', async (visit) => fragment((await readPage(visit)).section ?? [])),
  post(`${PATH}/replay`, 'publisher', async (visit) => {
    const { entry, integration } = await requireDelivery(visit);
    const obstacle = obstacleTo(entry, integration);
    if (obstacle !== null) return showDelivery(visit, obstacle);
    const { id } = await replayDelivery(visit.deps, entry);
    const done = 'Delivery replayed. Existing drafts are updated, not duplicated.';
    return redirect(`deliveries/${id}`, done);
  }),
  // The first trigger of a kind, in one click.
  post(`${PATH}/trigger`, 'owner', async (visit) => {
    const { deps } = visit;
    const { entry, integration } = await requireDelivery(visit);
    const obstacle = obstacleTo(entry, integration);
    const shipped = integration && shippedBy(entry, integration.repositories);
    if (obstacle !== null || !shipped)
      return showDelivery(visit, obstacle ?? 'This event creates no drafts.');
    const { type: event } = shipped.event;
    await createTrigger(deps, {
      integrationId: entry.integrationId,
      event,
      contentType: DEFAULT_CONTENT_TYPE,
    }).catch((error) => {
      // Somebody created it meanwhile.
      if (!isRefusal(error, 'trigger_exists')) throw error;
    });
    const { id } = await replayDelivery(deps, entry);
    return redirect(`deliveries/${id}`, 'Trigger created, and the delivery replayed.');
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
  if (entry === null) throw new AppError(404, 'Delivery not found. The log may have deleted it.');
  const integration = integrations.find(({ id }) => id === entry.integrationId) ?? null;
  return { entry, integration, integrations };
}

type Entry = Awaited<ReturnType<typeof requireDelivery>>;

async function readPage(visit: MemberVisit) {
  const found = await requireDelivery(visit);
  const { entry, integration } = found;
  const hasResult = entry.status === 'processed' && entry.payload.data !== null;
  const result = hasResult ? await readResult(visit, entry, integration) : null;
  return {
    found,
    isWriting: result?.results.some(isPending) === true,
    section: result && <ResultSection {...{ ...result, entry, integration }} />,
  };
}

/** How long a browser without scripts waits before it looks for the draft, in seconds. It does so once. */
const REFRESH_SECONDS = 3;

async function showDelivery(visit: MemberVisit, problem?: string) {
  const { base, url } = visit;
  const { found, isWriting, section } = await readPage(visit);
  const { entry, integration, integrations } = found;
  const { id, title, status, statusCode, payload, createdAt } = entry;
  const path = `${base}/deliveries/${id}`;
  const isReloaded = url.searchParams.has('again');
  return view(
    {
      title: title || 'Delivery',
      heading: title || 'Untitled',
      crumbs: [{ to: 'deliveries', label: 'Deliveries' }],
      tag: <Status status={status} more={entry.isPolled ? ' · polled' : ` · ${statusCode}`} />,
      facts: (
        <>
          {payload.event ?? 'A delivery'} from {sourceOf(entry, integrations)}, <When at={createdAt} />
        </>
      ),
      actions:
        obstacleTo(entry, integration) === null ? (
          <Action to={`${path}/replay`} label="Replay delivery" />
        ) : null,
      scripts: [deliveriesScript],
      ...(problem !== undefined && { status: 409 }),
      ...(isWriting && !isReloaded && { refresh: { seconds: REFRESH_SECONDS, to: `${path}?again=1` } }),
    },
    <FormError error={problem} />,
    <Reason {...found} />,
    section,
    isWriting && (
      <noscript>
        <p class="hint">
          <a href={`${path}?again=1`}>Reload</a> to see the draft.
        </p>
      </noscript>
    ),
    <Columns
      details={
        <Section id="facts" title="Details">
          <EntryFacts {...found} />
        </Section>
      }
    >
      <PayloadSection entry={entry} path={path} query={url.searchParams} />
      {entry.headers !== null && <Headers headers={entry.headers} />}
      <Replay {...found} />
    </Columns>,
  );
}

const reasons = {
  ignored: 'Tidings does not use this event.',
  duplicate: 'This delivery was received before, so it was not processed again.',
  rejected: 'Tidings rejected this delivery.',
  failed: 'Processing failed. The provider can send the delivery again.',
};

/** Explains the status and links to where it can be fixed. */
function Reason({ entry: { status, reason, count, payload, integrationId }, integrations }: Entry) {
  if (status === 'processed') return null;
  // After a wrong signature: the integration, and the one that its secret or URL was mixed up with.
  const mixedUp =
    status === 'rejected' && payload.data?.signature !== undefined
      ? [integrationId, payload.data.integrationId]
      : [];
  return (
    <div class={`note ${status}`}>
      <strong>{reasons[status]}</strong>
      {reason ? <p class="reason">{reason}</p> : null}
      {integrations
        .filter(({ id }) => mixedUp.includes(id))
        .map((each) => (
          <p class="reason">
            <Link to={`integrations/${each.id}`}>Open the integration {integrationName(each)}</Link>
          </p>
        ))}
      {count > 1 && (
        <p class="reason">
          {count.toLocaleString('en')} such deliveries arrived within a minute and share this entry.
        </p>
      )}
    </div>
  );
}

function Headers({ headers }: { headers: NonNullable<Delivery['headers']> }) {
  return (
    <Section id="headers" title="Headers">
      <Facts facts={Object.entries(headers)} kind="mono" />
    </Section>
  );
}

function Replay({ entry, integration }: Entry) {
  const { isOwner } = useVisit();
  const { payload, integrationId, integrationType: type } = entry;
  const obstacle = obstacleTo(entry, integration);
  const { event } = payload;
  const hasSample = integration !== null && event !== null && sampleEvents(type).includes(event);
  return (
    <Section id="replay" title="Replay">
      <p class="hint">
        {obstacle ??
          'A replay hands the event to the triggers again. Existing drafts are updated, not duplicated.'}
      </p>
      {hasSample && (
        <More label="Send a test event">
          <p class="hint">
            Tidings does not keep the raw body, so nobody can send this delivery again. It can sign and send a
            sample of the same event.
          </p>
          {isOwner ? (
            <Action to={`integrations/${integrationId}/test`} label="Send test event" fields={{ event }} />
          ) : null}
          <p class="hint">{isOwner ? 'Or use a terminal:' : 'Owners can do so here. In a terminal:'}</p>
          <ToCopy
            text={`${tidings} send ${type} ${event} --integration ${integrationId}`}
            label="Copy command"
          />
        </More>
      )}
    </Section>
  );
}

/** Null when the entry can be replayed. */
function obstacleTo(entry: Delivery, integration: Integration | null): string | null {
  if (integration === null) return "This delivery can't be replayed. Its integration is disconnected.";
  return entry.status === 'processed' && entry.payload.data !== null ? null : whyNotReplayable(entry);
}

function EntryFacts({ entry, integration }: Entry) {
  const { payload, createdAt, retentionDays, sameBodyAs, replayOf, integrationId, referenceId } = entry;
  const keptUntil = new Date(Date.parse(createdAt) + retentionDays * DAY_MS).toISOString();
  const link = (path: string, name: ComponentChildren) => <Link to={path}>{name}</Link>;
  const source =
    integration === null
      ? link(`deliveries?integration=${integrationId}`, sourceOf(entry, []))
      : link(`integrations/${integrationId}`, integrationName(integration));
  const facts: [name: string, value: ComponentChildren][] = [
    ['Event', [payload.event ?? 'Unknown', payload.action].filter(Boolean).join(', ')],
    ['Delivery ID', referenceId === null ? 'None' : <Id value={referenceId} name="delivery ID" />],
    ['Integration', source],
    ['Received', <Exactly at={createdAt} />],
    ['Arrival', entry.isPolled ? 'Polled' : 'Webhook'],
    ['Response time', entry.isPolled ? null : `${entry.durationMs} ms`],
    ['Kept until', <When at={keptUntil} />],
    [
      'Same body as',
      sameBodyAs && link(`deliveries?delivery=${encodeURIComponent(sameBodyAs)}`, <code>{sameBodyAs}</code>),
    ],
    ['Replay of', replayOf && link(`deliveries/${replayOf}`, <code>{replayOf}</code>)],
    ['Log entry', <Id value={entry.id} name="log entry ID" />],
  ];
  return <Facts facts={facts} />;
}
