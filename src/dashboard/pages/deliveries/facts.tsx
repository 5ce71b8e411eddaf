/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import type { Delivery } from '../../../deliveries/model.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { exactly, When } from '../../view/when.tsx';

/** The fields of an entry beside its payload. */
export function Facts({
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
