/** @jsxRuntime automatic @jsxImportSource preact */

import { type Comparison, findMissed, redeliverMissed } from '../../../integrations/missed.ts';
import type { Integration, IntegrationType } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { providerOf } from '../../../providers/index.ts';
import { once } from '../../once.ts';
import {
  type Answer,
  get,
  type MemberVisit,
  type Page,
  post,
  redirect,
  type View,
  view,
} from '../../page.ts';
import { FormError } from '../../view/form.tsx';
import { exactly } from '../../view/when.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { requireIntegration } from './find.ts';
import { showRedelivered } from './missed-asked.tsx';
import { MissedForm } from './missed-form.tsx';
import { problemOf } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/missed';

/** Missed deliveries, and requests to send them again. */
export const missedPages: readonly Page[] = [
  get(PATH, 'owner', async (visit) => showMissed(visit, await requireIntegration(visit))),
  post(PATH, 'owner', async (visit) => sendAgain(visit, await requireIntegration(visit))),
];

async function sendAgain(visit: MemberVisit, integration: Integration): Promise<Answer> {
  const { deps, form, base } = visit;
  try {
    const wanted = wantedOf(form);
    const results = await once(deps.db, form.get('mark'), () =>
      redeliverMissed(deps, integration.id, wanted),
    );
    return results === null
      ? redirect(
          `${base}/integrations/${integration.id}/missed`,
          'This form was sent before, and is done once.',
        )
      : showRedelivered(visit, integration, results);
  } catch (error) {
    return showMissed(visit, integration, problemOf(error, integration.type));
  }
}

/** Throws `AppError` 400 when nothing was chosen. */
function wantedOf(form: URLSearchParams): string[] | 'all' {
  const only = form.get('only');
  if (only !== null) return [only];
  if (form.get('which') === 'all') return 'all';
  const chosen = form.getAll('delivery');
  if (chosen.length > 0) return chosen;
  throw new AppError(400, 'Choose at least one delivery. Nothing was requested.');
}

async function showMissed(visit: MemberVisit, integration: Integration, error?: string): Promise<View> {
  const { base } = visit;
  const path = `${base}/integrations/${integration.id}`;
  return view(
    'Missed deliveries',
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> / <a href={path}>{integrationName(integration)}</a>
      </p>
      <h1>Missed deliveries</h1>
      {await renderMissed(visit, integration, error)}
    </>,
    { section: 'integrations', ...(error === undefined ? {} : { status: 400 }) },
  );
}

async function renderMissed(visit: MemberVisit, integration: Integration, error: string | undefined) {
  const { base, deps } = visit;
  const path = `${base}/integrations/${integration.id}`;
  const provider = providerOf(integration.type);
  if (provider.api?.listsDeliveries !== true) return <p class="lede">{provider.words.redelivery}</p>;
  if (!integration.hasToken) {
    return (
      <>
        <p class="lede">
          With a token, Tidings can ask {provider.name} what it delivered in the last three days, and have it
          sent again.
        </p>
        <a class="button go" href={`${path}/token`}>
          Give it a token
        </a>
      </>
    );
  }
  try {
    const compared = await findMissed(deps, integration.id);
    return <Compared compared={compared} type={integration.type} visit={visit} path={path} error={error} />;
  } catch (failure) {
    return (
      <>
        <FormError error={problemOf(failure, integration.type)} />
        <p>What is missing is not known. Nothing was changed.</p>
        <a class="button" href={`${path}/missed`}>
          Look again
        </a>
      </>
    );
  }
}

function Compared({
  compared: { counts, missed, since, isCut, unknown },
  type,
  visit: { deps, form },
  path,
  error,
}: {
  compared: Comparison;
  type: IntegrationType;
  visit: MemberVisit;
  path: string;
  error: string | undefined;
}) {
  const now = deps.clock.now();
  const provider = providerOf(type).name;
  return (
    <>
      <p class="lede">
        {missed.length === 0 ? 'No delivery is missing: ' : `${provider} compared with the log: `}
        {counts.arrived} arrived, {counts.failed} failed, {counts['never-arrived']} never arrived since{' '}
        <time datetime={since}>{exactly(new Date(since))}</time>.
        {isCut ? ` ${provider} lists more, and older ones.` : ''}
      </p>
      {unknown.map(({ place, problem }) => (
        <p class="note">
          Deliveries of {place} are unknown: {problemOf(problem, type)}
        </p>
      ))}
      <FormError error={error} />
      {missed.length === 0 ? (
        <a class="button" href={path}>
          Back to the integration
        </a>
      ) : (
        <MissedForm missed={missed} path={path} now={now} chosen={form.getAll('delivery')} />
      )}
    </>
  );
}
