/** @jsxRuntime automatic @jsxImportSource preact */

import { countDays } from '../../../deliveries/count-store.ts';
import { listLogPage } from '../../../deliveries/log-store.ts';
import { type Integration, providerNames, webhookUrl } from '../../../integrations/model.ts';
import type { Pause } from '../../../operate/uptime.ts';
import type { MemberVisit } from '../../page.ts';
import { ToCopy } from '../../view/copy.tsx';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { PauseNote } from './pause.tsx';
import { inWords, Picture } from './picture.tsx';

/** How far back the picture goes. */
const DAYS = 30;

/** The maximum number of webhook URLs that are not folded. */
const MAX_URLS_SHOWN = 3;

/** The data of an integration's card. */
export async function cardOf({ deps: { db, clock, publicUrl } }: MemberVisit, integration: Integration) {
  const { id, type, organizationId, repositories } = integration;
  const { entries } = await listLogPage(db, organizationId, { integrationId: id }, { limit: 1 });
  const urls = (repositories.length === 0 ? [undefined] : repositories).map((repository) => ({
    of: repositories.length > 1 && repository !== undefined ? repository.fullName : null,
    url: webhookUrl(publicUrl(), type, organizationId, id, repository?.id),
  }));
  return {
    integration,
    days: await countDays(db, id, clock.now(), DAYS),
    newest: entries[0] ?? null,
    urls,
    now: clock.now(),
  };
}

type CardProps = Awaited<ReturnType<typeof cardOf>> & { base: string };

/** An integration on the page of all of them. */
export function Card({
  integration,
  base,
  pause,
  isOwner,
  ...rest
}: CardProps & { pause: Pause | undefined; isOwner: boolean }) {
  return (
    <article class="card pad">
      <PauseNote pause={pause} to={`${base}/integrations/${integration.id}/missed`} isOwner={isOwner} />
      <div class="bar">
        <h2 class="flat">
          <a href={`${base}/integrations/${integration.id}`}>{integrationName(integration)}</a>
        </h2>
        {/* An integration without repositories is called after its provider. */}
        {integration.repositories.length === 0 ? null : (
          <span class="dim">{providerNames[integration.type]}</span>
        )}
        <Status status={integration.enabled ? 'active' : 'disabled'} />
      </div>
      <Overview integration={integration} base={base} {...rest} />
    </article>
  );
}

/** The picture of the last days, and where deliveries go. */
export function Overview({ integration: { id, hasToken }, days, newest, urls, base, now }: CardProps) {
  return (
    <>
      <Picture days={days} />
      <p class="hint">
        {inWords(days)}.{' '}
        {newest === null ? (
          'Waiting for the first delivery.'
        ) : (
          <>
            The newest came <When at={newest.createdAt} now={now} />.{' '}
            <a href={`${base}/deliveries?integration=${id}`}>All of them</a>
          </>
        )}
      </p>
      <Urls urls={urls} isFolded={hasToken || urls.length > MAX_URLS_SHOWN} />
    </>
  );
}

/** The webhook URLs. Folded if nobody needs to paste them, or if there are many. */
function Urls({ urls, isFolded }: Pick<CardProps, 'urls'> & { isFolded: boolean }) {
  const list = urls.map(({ of, url }) => (
    <>
      <p class="label">{of === null ? 'Webhook URL' : `Webhook URL of ${of}`}</p>
      <ToCopy text={url} />
    </>
  ));
  if (!isFolded) return <>{list}</>;
  return (
    <details class="more">
      <summary>{urls.length === 1 ? 'Webhook URL' : `${urls.length} webhook URLs`}</summary>
      {list}
    </details>
  );
}
