/** @jsxRuntime automatic @jsxImportSource preact */

import type { Delivery } from '../../../deliveries/model.ts';
import type { Integration } from '../../../integrations/model.ts';
import { tidings } from '../../../lib/how-to-run.ts';
import { sampleEvents } from '../../../providers/index.ts';
import { Copy } from '../../view/copy.tsx';
import { Action } from '../../view/form.tsx';

/** What can be done with an entry, and why the rest cannot. */
export function Actions({
  entry,
  integration,
  base,
}: {
  entry: Delivery;
  integration: Integration | null;
  base: string;
}) {
  const obstacle = whyNot(entry, integration);
  const command = integration === null ? null : commandFor(entry);
  return (
    <>
      <div class="bar">
        {obstacle === null ? <Action to={`${base}/deliveries/${entry.id}/replay`} label="Replay" /> : null}
        {command === null ? null : <Copy text={command} label="Copy a command that sends a sample" />}
      </div>
      {obstacle === null ? (
        <p class="hint">
          Replay hands what it said to the triggers once more. What they made already is brought up to date,
          not doubled.
        </p>
      ) : (
        <p class="hint">{obstacle}</p>
      )}
      {command === null ? null : (
        <details class="more">
          <summary>Send such a delivery from a terminal</summary>
          <p class="hint">
            The raw body is not kept, so this very delivery cannot be sent again with curl. This command signs
            and sends a sample of the same event:
          </p>
          <pre>{command}</pre>
        </details>
      )}
    </>
  );
}

/** Why an entry cannot be run again; null when it can. */
function whyNot({ status, payload }: Delivery, integration: Integration | null): string | null {
  if (integration === null) return 'It cannot be replayed: its integration is disconnected.';
  if (status !== 'processed') {
    return `It cannot be replayed: it is ${status}, and only what was processed can be run again. The provider can redeliver it.`;
  }
  return payload.data === null ? 'It cannot be replayed: it told of nothing that posts are made of.' : null;
}

function commandFor({ payload: { event }, integrationId, integrationType }: Delivery): string | null {
  if (event === null || !sampleEvents(integrationType).includes(event)) return null;
  return `${tidings} send ${integrationType} ${event} --integration ${integrationId}`;
}
