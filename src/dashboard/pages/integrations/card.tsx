/** @jsxRuntime automatic @jsxImportSource preact */

import type { Integration } from '../../../integrations/model.ts';
import { providerNames } from '../../../integrations/model.ts';
import { webhookUrl } from '../../../integrations/service.ts';
import { countDays, listLogPage } from '../../../webhooks/store.ts';
import type { MemberVisit } from '../../page.ts';
import { ToCopy } from '../../view/copy.tsx';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { inWords, Picture } from './picture.tsx';

/** How far back the picture goes. */
const DAYS = 30;

/** What a card shows of an integration. */
export async function cardOf({ deps: { db, clock, publicUrl } }: MemberVisit, integration: Integration) {
  const { id, type, organizationId, repositories } = integration;
  const { entries } = await listLogPage(db, organizationId, { integrationId: id }, { limit: 1 });
  const urls = (repositories.length === 0 ? [undefined] : repositories).map((repository) =>
    webhookUrl(publicUrl(), type, organizationId, id, repository?.id),
  );
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
export function Card({ integration, base, ...rest }: CardProps) {
  return (
    <article class="card pad">
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
export function Overview({ integration: { id }, days, newest, urls, base, now }: CardProps) {
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
      <p class="label">Webhook URL</p>
      {urls.map((url) => (
        <ToCopy text={url} />
      ))}
    </>
  );
}
