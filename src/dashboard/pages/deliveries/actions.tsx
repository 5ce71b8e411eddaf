/** @jsxRuntime automatic @jsxImportSource preact */

import type { Delivery } from '../../../deliveries/model.ts';
import type { Integration } from '../../../integrations/model.ts';
import { tidings } from '../../../lib/how-to-run.ts';
import { sampleEvents } from '../../../providers/index.ts';
import { Copy } from '../../view/copy.tsx';
import { Action } from '../../view/form.tsx';

/** Replays the delivery, or explains why that is impossible. */
export function Actions({
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
export function whyNotReplayable(
  { status, payload }: Delivery,
  integration: Integration | null,
): string | null {
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
