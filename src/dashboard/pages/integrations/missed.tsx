import {
  type ComparedDelivery,
  findMissed,
  MAX_REDELIVERED,
  redeliverMissed,
} from '../../../integrations/missed.ts';
import { describeMissed } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { span } from '../../../lib/time.ts';
import { providerOf } from '../../../providers/index.ts';
import type { Page } from '../../page.ts';
import { Clock, counted, LinkButton, When } from '../../view/elements.tsx';
import { FormError, Mark } from '../../view/form.tsx';
import { Table } from '../../view/list.tsx';
import { formPages, type IntegrationVisit, problemOf, subpage } from './subpage.tsx';

const MAX_ROWS = 200;

export const routes: readonly Page[] = [...formPages('missed', showMissed, redeliver)];

async function showMissed(visit: IntegrationVisit, error?: string) {
  return subpage(visit, { title: 'Missed deliveries' }, await renderMissed(visit, error));
}

async function renderMissed(visit: IntegrationVisit, error: string | undefined) {
  const { integration, path, deps } = visit;
  const { id, type, isManaged } = integration;
  const { name, api, words } = providerOf(type);
  if (api?.redelivery == null) return <p class="lede">{words.redelivery}</p>;
  if (!isManaged) {
    return (
      <>
        <p class="lede">
          With a token, Tidings compares the deliveries of {name} with the log every 10 minutes, and requests
          the missing ones again. {name} keeps them for {span(api.redelivery.keptMs)}.
        </p>
        <LinkButton to={`${path}/token`} label="Add token" kind="go" />
      </>
    );
  }
  const comparison = await findMissed(deps, id).catch((failure: unknown) => problemOf(visit, failure));
  if (typeof comparison === 'string') {
    return (
      <>
        <FormError error={comparison} />
        <p>Tidings could not compare the deliveries. Nothing was changed.</p>
        <LinkButton to={`${path}/missed`} label="Check again" />
      </>
    );
  }
  const { counts, missed, since, isCut, unknown } = comparison;
  return (
    <>
      <p class="lede">
        {missed.length === 0 ? 'No deliveries are missing: ' : `Deliveries of ${name}: `}
        {counts.arrived} arrived, {counts.failed} failed, {counts['never-arrived']} never arrived since{' '}
        <Clock at={since} />.{isCut ? ` ${name} has more, which Tidings did not compare.` : ''}
      </p>
      {unknown.map(({ place, problem }) => (
        <p class="note">
          Tidings could not read the deliveries of {place}. {problemOf(visit, problem)}
        </p>
      ))}
      <FormError error={error} />
      {missed.length === 0 ? (
        <LinkButton to={path} label="Back to the integration" />
      ) : (
        missedForm(visit, missed)
      )}
    </>
  );
}

function missedForm({ path, form }: IntegrationVisit, missed: readonly ComparedDelivery[]) {
  const chosen = form.getAll('delivery');
  return (
    <form method="post" action={`${path}/missed`} data-once>
      <Mark />
      <div class="bar">
        {missed.length !== 1 && (
          <button type="submit" name="which" value="chosen" class="button" data-busy="Requesting…">
            Redeliver selected
          </button>
        )}
        <button type="submit" name="which" value="all" class="button go" data-busy="Requesting…">
          {missed.length === 1 ? 'Redeliver' : `Redeliver all ${missed.length}`}
        </button>
      </div>
      <Table
        caption="Missed deliveries, oldest first"
        rows={missed.slice(0, MAX_ROWS)}
        columns={[
          {
            title: 'Event',
            cell: ({ deliveryId, place, event, action }) => (
              <label class="check">
                <input
                  type="checkbox"
                  name="delivery"
                  value={deliveryId}
                  checked={chosen.includes(deliveryId)}
                />
                <span>
                  {[event, action].filter(Boolean).join(' ')}
                  <span class="hint">
                    {place} <span class="mono whole">{deliveryId}</span>
                  </span>
                </span>
              </label>
            ),
          },
          {
            title: 'Result',
            cell: ({ fate, attempts }) => (
              <>
                <span class={`tag ${fate === 'failed' ? 'failed' : 'rejected'}`}>
                  {fate === 'failed' ? 'Failed' : 'Never arrived'}
                </span>
                {attempts > 1 && <div class="dim">{attempts} attempts</div>}
              </>
            ),
          },
          { title: 'Reason', class: 'reason', cell: ({ cause }) => cause && describeMissed(cause) },
          {
            title: 'Delivered',
            class: 'dim',
            cell: ({ deliveredAt }) => <When at={deliveredAt} />,
          },
        ]}
      />
      {missed.length > MAX_ROWS && (
        <p class="hint">{missed.length - MAX_ROWS} more deliveries are missing.</p>
      )}
    </form>
  );
}

/** The provider's responses to redelivery requests. The deliveries arrive at the receiver a moment later. */
async function redeliver(visit: IntegrationVisit) {
  const { id, type } = visit.integration;
  const { name } = providerOf(type);
  const results = await redeliverMissed(visit.deps, id, wantedOf(visit.form));
  const refused = results.flatMap(({ deliveryId, problem }) =>
    problem === null ? [] : [{ deliveryId, message: problemOf(visit, problem) }],
  );
  const accepted = results.length - refused.length;
  const title =
    accepted > 0
      ? `Requested ${counted(accepted, 'delivery', 'deliveries')} from ${name}`
      : refused.length > 0
        ? `${name} refused to redeliver`
        : 'No deliveries are missing';
  return subpage(
    { ...visit, isRefused: refused.length > 0 },
    { title },
    <p class="lede">
      {accepted === 0 ? 'Nothing was requested.' : 'They appear in the log as they arrive.'}
      {results.length === MAX_REDELIVERED
        ? ` Tidings requests at most ${MAX_REDELIVERED} at a time. Check again for the rest.`
        : ''}
    </p>,
    refused.length > 0 && (
      <div class="problem" role="alert">
        <p>Not redelivered:</p>
        <ul>
          {refused.map(({ deliveryId, message }) => (
            <li>
              <span class="mono">{deliveryId}</span>: {message}
            </li>
          ))}
        </ul>
      </div>
    ),
    <p class="bar">
      <LinkButton
        to={`deliveries?integration=${id}`}
        label="Open log"
        kind={accepted > 0 ? 'go' : undefined}
      />
      <LinkButton to={`${visit.path}/missed`} label="Check again" />
    </p>,
  );
}

function wantedOf(form: URLSearchParams): string[] | 'all' {
  if (form.get('which') === 'all') return 'all';
  const chosen = form.getAll('delivery');
  if (chosen.length > 0) return chosen;
  throw new AppError(400, 'Select at least one delivery. Nothing was requested.');
}
