/** @jsxRuntime automatic @jsxImportSource preact */

import type { Integration } from '../../../integrations/model.ts';
import { listProviders } from '../../../providers/index.ts';

/** A log without entries, and what to do about it. */
export function Empty({
  base,
  kind,
  integrations,
}: {
  base: string;
  kind: 'beginning' | 'filtered' | 'cut' | 'end';
  integrations: readonly Integration[];
}) {
  if (kind === 'cut') {
    return (
      <div class="card empty">
        <p>Nothing fits these filters so far. Look further back, or choose a shorter time.</p>
      </div>
    );
  }
  if (kind === 'filtered' || kind === 'end') {
    return (
      <div class="card empty">
        <p>{kind === 'filtered' ? 'No delivery fits these filters.' : 'The log has no older entries.'}</p>
        <a class="button" href={`${base}/deliveries`}>
          Show all deliveries
        </a>
      </div>
    );
  }
  const [first] = integrations;
  return first === undefined ? (
    <div class="card empty">
      <p>Each delivery appears here as soon as it arrives. Nothing is connected yet.</p>
      <a class="button go" href={`${base}/integrations`}>
        Connect {listProviders('or')}
      </a>
    </div>
  ) : (
    <div class="card empty">
      <p>Nothing has arrived yet. Each delivery appears here as soon as it does, whatever becomes of it.</p>
      <a class="button go" href={`${base}/integrations/${first.id}#test`}>
        Send a test event
      </a>
    </div>
  );
}
