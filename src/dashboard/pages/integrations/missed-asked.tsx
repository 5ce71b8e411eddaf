/** @jsxRuntime automatic @jsxImportSource preact */

import { MAX_REDELIVERED, type Redelivered } from '../../../integrations/missed.ts';
import type { Integration } from '../../../integrations/model.ts';
import { providerOf } from '../../../providers/index.ts';
import { type MemberVisit, type View, view } from '../../page.ts';
import { integrationName } from '../deliveries/rows.tsx';
import { problemOf } from './words.ts';

/** What was asked for, and what the provider said. The deliveries themselves come by the usual way, a moment later. */
export function showAsked(
  { base }: MemberVisit,
  integration: Integration,
  results: readonly Redelivered[],
): View {
  const path = `${base}/integrations/${integration.id}`;
  const asked = results.filter(({ problem }) => problem === null).length;
  const refused = results.flatMap(({ deliveryId, problem }) =>
    problem === null ? [] : [{ deliveryId, message: problemOf(problem, integration.type) }],
  );
  const title =
    results.length === 0
      ? 'No delivery is missing any more'
      : titleOf(providerOf(integration.type).name, asked);
  return view(
    title,
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> / <a href={path}>{integrationName(integration)}</a>
      </p>
      <h1>{title}</h1>
      <p class="lede">
        {asked === 0 ? 'Nothing was asked for.' : 'They appear in the log as they come.'}
        {results.length === MAX_REDELIVERED
          ? ` No more than ${MAX_REDELIVERED} are asked for at a time: look again for the rest.`
          : ''}
      </p>
      {refused.length === 0 ? null : (
        <div class="problem" role="alert">
          <p>{refused.length === 1 ? 'One is not sent again:' : `${refused.length} are not sent again:`}</p>
          <ul>
            {refused.map(({ deliveryId, message }) => (
              <li>
                <span class="mono">{deliveryId}</span>: {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      <p class="bar">
        <a
          class={asked > 0 ? 'button go' : 'button'}
          href={`${base}/deliveries?integration=${integration.id}`}
        >
          To the log
        </a>
        <a class="button" href={`${path}/missed`}>
          Look again
        </a>
      </p>
    </>,
    { section: 'integrations', ...(refused.length > 0 ? { status: 400 } : {}) },
  );
}

function titleOf(provider: string, asked: number): string {
  if (asked === 0) return `${provider} does not send them again`;
  return asked === 1 ? `${provider} sends 1 delivery again` : `${provider} sends ${asked} deliveries again`;
}
