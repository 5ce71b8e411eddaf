/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { countDays, type DayCounts, MAX_COUNTED_PER_DAY } from '../../../deliveries/count-store.ts';
import { listLogPage } from '../../../deliveries/log-store.ts';
import { deliveryStatuses } from '../../../deliveries/model.ts';
import type { Deps } from '../../../deps.ts';
import { COMPARED_MS } from '../../../integrations/missed.ts';
import { type Integration, integrationName, providerNames, webhookUrl } from '../../../integrations/model.ts';
import { findMissedCheckedAt, getIntegration } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { findPause, type Pause } from '../../../operate/uptime.ts';
import { providerOf } from '../../../providers/index.ts';
import { type MemberVisit, type View, view } from '../../page.ts';
import { counted, exactly, Status, ToCopy, When } from '../../view/elements.tsx';

// The parts that pages of integrations share: the integration of the path, the frame of a page below its own, and its
// card with recent deliveries, webhook URLs, and the pauses of the server.

/** The path of one integration. */
export const PATH = '/dashboard/:organizationId/integrations/:integrationId';

/** The integration of the path. Throws `AppError` 404, also for another organization's. */
export async function requireIntegration({ deps, organization, params }: MemberVisit): Promise<Integration> {
  const integration = await deps.db
    .read((tx) => getIntegration(tx, params.integrationId ?? ''))
    .catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'integration_not_found') return null;
      throw error;
    });
  if (integration?.organizationId !== organization.id) {
    throw new AppError(404, 'There is no such integration. It may have been disconnected.');
  }
  return integration;
}

/** A page below that of an integration. `heading`: default, the title. */
export function subpage(
  { base }: MemberVisit,
  integration: Integration,
  { title, heading = title, isRefused = false }: { title: string; heading?: string; isRefused?: boolean },
  body: ComponentChildren,
): View {
  return view(
    title,
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> /{' '}
        <a href={`${base}/integrations/${integration.id}`}>{integrationName(integration)}</a>
      </p>
      <h1>{heading}</h1>
      {body}
    </>,
    { section: 'integrations', ...(isRefused && { status: 400 }) },
  );
}

/** The days in the picture. */
const DAYS = 30;

/** The maximum number of webhook URLs that are not folded. */
const MAX_OPEN_URLS = 3;

/** The data of an integration's card. */
export async function cardOf({ deps: { db, clock, publicUrl } }: MemberVisit, integration: Integration) {
  const { id, type, organizationId, repositories } = integration;
  const now = clock.now();
  const { entries } = await listLogPage(db, organizationId, { integrationId: id }, { limit: 1 });
  const urls = (repositories.length === 0 ? [undefined] : repositories).map((repository) => ({
    label: repositories.length > 1 ? `Webhook URL of ${repository?.fullName}` : 'Webhook URL',
    url: webhookUrl(publicUrl(), type, organizationId, id, repository?.id),
  }));
  return { integration, days: await countDays(db, id, now, DAYS), newest: entries[0], urls, now };
}

export type CardProps = Awaited<ReturnType<typeof cardOf>> & { base: string };

/** An integration in the list. */
export function Card({
  pause,
  isOwner,
  ...card
}: CardProps & { pause: Pause | undefined; isOwner: boolean }) {
  const { id, type, enabled, repositories } = card.integration;
  const path = `${card.base}/integrations/${id}`;
  return (
    <article class="card pad">
      <PauseNote pause={pause} to={`${path}/missed`} isOwner={isOwner} />
      <div class="bar">
        <h2 class="flat">
          <a href={path}>{integrationName(card.integration)}</a>
        </h2>
        {/* Without repositories, the name is the provider's. */}
        {repositories.length === 0 ? null : <span class="dim">{providerNames[type]}</span>}
        <Status status={enabled ? 'active' : 'disabled'} />
      </div>
      <Overview {...card} />
    </article>
  );
}

/** The picture of recent deliveries, and the webhook URLs. */
export function Overview({ integration: { id, hasToken }, days, newest, urls, base, now }: CardProps) {
  const list = urls.map(({ label, url }) => (
    <>
      <p class="label">{label}</p>
      <ToCopy text={url} />
    </>
  ));
  return (
    <>
      <Picture days={days} />
      <p class="hint">
        {inWords(days)}.{' '}
        {newest === undefined ? (
          'Waiting for the first delivery.'
        ) : (
          <>
            Last delivery <When at={newest.createdAt} now={now} />.{' '}
            <a href={`${base}/deliveries?integration=${id}`}>View all</a>
          </>
        )}
      </p>
      {/* With a token, nobody needs to paste them. */}
      {hasToken || urls.length > MAX_OPEN_URLS ? (
        <details class="more">
          <summary>{urls.length === 1 ? 'Webhook URL' : `${urls.length} webhook URLs`}</summary>
          {list}
        </details>
      ) : (
        list
      )}
    </>
  );
}

const BAR = 10;
const GAP = 4;
const HEIGHT = 48;

/** The days as bars; in words for screen readers. */
function Picture({ days }: { days: readonly DayCounts[] }) {
  const scale = (HEIGHT - 2) / Math.max(...days.map(totalOf), 1);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${days.length * (BAR + GAP) - GAP} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={inWords(days)}
    >
      {days.map((day, index) => (
        <Bar day={day} x={index * (BAR + GAP)} scale={scale} />
      ))}
    </svg>
  );
}

function Bar({ day, x, scale }: { day: DayCounts; x: number; scale: number }) {
  if (totalOf(day) === 0) return <rect class="none" x={x} y={HEIGHT - 1} width={BAR} height={1} />;
  let top = HEIGHT;
  return (
    <>
      {countsOf([day]).map(({ status, entries }) => {
        // Keep one failure among hundreds visible.
        const height = Math.max(entries * scale, 1.5);
        top -= height;
        const y = Math.max(top, 0).toFixed(1);
        return <rect class={status} x={x} y={y} width={BAR} height={height.toFixed(1)} />;
      })}
    </>
  );
}

/** The statuses that occur, with their number of deliveries. */
function countsOf(days: readonly DayCounts[]) {
  return deliveryStatuses
    .map((status) => ({ status, entries: days.reduce((sum, { counts }) => sum + (counts[status] ?? 0), 0) }))
    .filter(({ entries }) => entries > 0);
}

function totalOf(day: DayCounts): number {
  return Object.values(day.counts).reduce((sum, entries) => sum + entries, 0);
}

/** Such as "412 deliveries in 30 days: 400 processed, 12 ignored". */
function inWords(days: readonly DayCounts[]): string {
  const total = days.reduce((sum, day) => sum + totalOf(day), 0);
  if (total === 0) return `No delivery in ${days.length} days`;
  const atLeast = days.some((day) => totalOf(day) >= MAX_COUNTED_PER_DAY) ? 'More than ' : '';
  const parts = countsOf(days).map(({ status, entries }) => `${entries.toLocaleString('en')} ${status}`);
  return `${atLeast}${counted(total, 'delivery', 'deliveries')} in ${days.length} days: ${parts.join(', ')}`;
}

/**
 * The newest pause of the server, for each integration that has not been checked for missed deliveries since. One query
 * without a recent pause.
 */
export async function findPauses(
  deps: Pick<Deps, 'db' | 'clock'>,
  integrations: readonly Integration[],
): Promise<Map<string, Pause>> {
  const pauses = new Map<string, Pause>();
  const compared = integrations.filter(
    ({ type, hasToken }) => hasToken && providerOf(type).api?.listsDeliveries === true,
  );
  if (compared.length === 0) return pauses;
  // Providers list no older deliveries.
  const since = new Date(deps.clock.now().getTime() - COMPARED_MS).toISOString();
  const newest = await findPause(deps, since);
  if (newest === null) return pauses;
  await deps.db.read(async (tx) => {
    for (const { id, createdAt } of compared) {
      if (newest.to > ((await findMissedCheckedAt(tx, id)) ?? createdAt)) pauses.set(id, newest);
    }
  });
  return pauses;
}

/** Warns that deliveries may be missing. */
export function PauseNote({
  pause,
  to,
  isOwner,
}: {
  pause: Pause | undefined;
  to: string;
  isOwner: boolean;
}) {
  if (pause === undefined) return null;
  return (
    <div class="note">
      <p>
        Tidings was not running from <Exactly at={pause.from} /> to <Exactly at={pause.to} />. Deliveries of
        that time may be missing.
      </p>
      <p>
        {isOwner ? (
          <a class="button" href={to}>
            Look for them
          </a>
        ) : (
          <span class="dim">Owners can look for them.</span>
        )}
      </p>
    </div>
  );
}

function Exactly({ at }: { at: string }) {
  return <time datetime={at}>{exactly(new Date(at))}</time>;
}
