/** @jsxRuntime automatic @jsxImportSource preact */

import type { Delivery } from '../../../deliveries/model.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { writePosition } from './filter.ts';

export interface RowContext {
  base: string;
  now: Date;
  integrations: readonly Integration[];
}

export function Row({ entry, base, now, integrations }: RowContext & { entry: Delivery }) {
  const { id, title, status, payload, durationMs, count, replayOf, createdAt } = entry;
  return (
    <tr id={id} data-at={writePosition(entry)}>
      <td>
        <Status status={status} />
      </td>
      <td>
        <a href={`${base}/deliveries/${id}`}>{title || 'Untitled'}</a>
        {count > 1 ? ` (${count.toLocaleString('en')} times)` : ''}
        <div class="dim mono">
          {[payload.event, replayOf === null ? null : 'replay', `${durationMs} ms`]
            .filter(Boolean)
            .join(' · ')}
        </div>
      </td>
      <td>{sourceOf(entry, integrations)}</td>
      <td class="end dim">
        <When at={createdAt} now={now} />
      </td>
    </tr>
  );
}

/** The delivery's repository; its provider when it has none. */
export function sourceOf(
  { integrationId, integrationType, repositoryId }: Delivery,
  integrations: readonly Integration[],
): string {
  const integration = integrations.find(({ id }) => id === integrationId);
  if (integration === undefined) return `${providerNames[integrationType]}, disconnected`;
  const repository = integration.repositories.find(({ id }) => id === repositoryId);
  return repository?.fullName ?? integrationName(integration);
}
