/** @jsxRuntime automatic @jsxImportSource preact */

import { MAX_REDELIVERED, type Redelivered } from '../../../integrations/missed.ts';
import type { Integration } from '../../../integrations/model.ts';
import { providerOf } from '../../../providers/index.ts';
import { type MemberVisit, type View, view } from '../../page.ts';
import { integrationName } from '../deliveries/rows.tsx';
import { problemOf } from './words.ts';

/** The provider's responses to redelivery requests. The deliveries arrive at the receiver a moment later. */
export function showRedelivered(
  { base }: MemberVisit,
  integration: Integration,
  results: readonly Redelivered[],
): View {
  const path = `${base}/integrations/${integration.id}`;
  const accepted = results.filter(({ problem }) => problem === null).length;
  const refused = results.flatMap(({ deliveryId, problem }) =>
    problem === null ? [] : [{ deliveryId, message: problemOf(problem, integration.type) }],
  );
  const title =
    results.length === 0
      ? 'No delivery is missing any more'
      : titleOf(providerOf(integration.type).name, accepted);
  return view(
    title,
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> / <a href={path}>{integrationName(integration)}</a>
      </p>
      <h1>{title}</h1>
      <p class="lede">
        {accepted === 0 ? 'Nothing was requested.' : 'They appear in the log as they arrive.'}
        {results.length === MAX_REDELIVERED
          ? ` At most ${MAX_REDELIVERED} are requested at a time: check again for the rest.`
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
          class={accepted > 0 ? 'button go' : 'button'}
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

function titleOf(provider: string, accepted: number): string {
  if (accepted === 0) return `${provider} does not send them again`;
  return accepted === 1
    ? `${provider} sends 1 delivery again`
    : `${provider} sends ${accepted} deliveries again`;
}
