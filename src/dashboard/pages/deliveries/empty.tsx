/** @jsxRuntime automatic @jsxImportSource preact */

import type { Integration } from '../../../integrations/model.ts';
import { listProviders } from '../../../providers/index.ts';

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
        <p>No matches so far. Search older entries, or choose a shorter time.</p>
      </div>
    );
  }
  if (kind === 'filtered' || kind === 'end') {
    return (
      <div class="card empty">
        <p>{kind === 'filtered' ? 'No deliveries match these filters.' : 'The log has no older entries.'}</p>
        <a class="button" href={`${base}/deliveries`}>
          Show all deliveries
        </a>
      </div>
    );
  }
  const [first] = integrations;
  return first === undefined ? (
    <div class="card empty">
      <p>Nothing is connected yet. Each delivery appears here as soon as it arrives.</p>
      <a class="button go" href={`${base}/integrations`}>
        Connect {listProviders('or')}
      </a>
    </div>
  ) : (
    <div class="card empty">
      <p>No deliveries yet. Each one appears here as soon as it arrives, processed or not.</p>
      <a class="button go" href={`${base}/integrations/${first.id}#test`}>
        Send a test event
      </a>
    </div>
  );
}
