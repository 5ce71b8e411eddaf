/** @jsxRuntime automatic @jsxImportSource preact */
import {
  type ComparedDelivery,
  findMissed,
  MAX_REDELIVERED,
  type Redelivered,
  redeliverMissed,
} from '../../../integrations/missed.ts';
import type { Integration } from '../../../integrations/model.ts';
import { describeMissed } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { providerOf } from '../../../providers/index.ts';
import { type Answer, get, type MemberVisit, type Page, post, redirect } from '../../page.ts';
import { newMark, once } from '../../submission.ts';
import { counted, exactly, Table, When } from '../../view/elements.tsx';
import { FormError } from '../../view/form.tsx';
import { PATH, requireIntegration, subpage } from './card.tsx';
import { problemOf } from './words.ts';

/** Limits the table of missed deliveries. */
const MAX_ROWS = 200;

/** Missed deliveries, and requests to send them again. */
export const missedPages: readonly Page[] = [
  get(`${PATH}/missed`, 'owner', async (visit) => showMissed(visit, await requireIntegration(visit))),
  post(`${PATH}/missed`, 'owner', async (visit) => redeliver(visit, await requireIntegration(visit))),
];

async function redeliver(visit: MemberVisit, integration: Integration): Promise<Answer> {
  const { deps, form, base } = visit;
  const { id, type } = integration;
  try {
    const wanted = wantedOf(form);
    const results = await once(deps.db, form.get('mark'), () => redeliverMissed(deps, id, wanted));
    return results === null
      ? redirect(
          `${base}/integrations/${id}/missed`,
          'This form was sent before, and its work is done only once.',
        )
      : showRedelivered(visit, integration, results);
  } catch (error) {
    return showMissed(visit, integration, problemOf(error, type));
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

async function showMissed(visit: MemberVisit, integration: Integration, error?: string) {
  const head = { title: 'Missed deliveries', isRefused: error !== undefined };
  return subpage(visit, integration, head, await renderMissed(visit, integration, error));
}

async function renderMissed(
  { base, deps, form }: MemberVisit,
  { id, type, hasToken }: Integration,
  error: string | undefined,
) {
  const path = `${base}/integrations/${id}`;
  const { name, api, words } = providerOf(type);
  if (api?.listsDeliveries !== true) return <p class="lede">{words.redelivery}</p>;
  if (!hasToken) {
    return (
      <>
        <p class="lede">
          With a token, Tidings can ask {name} what it delivered in the last three days, and have it sent
          again.
        </p>
        <a class="button go" href={`${path}/token`}>
          Add a token
        </a>
      </>
    );
  }
  const comparison = await findMissed(deps, id).catch((failure: unknown) => problemOf(failure, type));
  if (typeof comparison === 'string') {
    return (
      <>
        <FormError error={comparison} />
        <p>Tidings could not compare the deliveries. Nothing was changed.</p>
        <a class="button" href={`${path}/missed`}>
          Check again
        </a>
      </>
    );
  }
  const { counts, missed, since, isCut, unknown } = comparison;
  return (
    <>
      <p class="lede">
        {missed.length === 0 ? 'No delivery is missing: ' : `${name} compared with the log: `}
        {counts.arrived} arrived, {counts.failed} failed, {counts['never-arrived']} never arrived since{' '}
        <time datetime={since}>{exactly(new Date(since))}</time>.
        {isCut ? ` ${name} lists more, and older ones.` : ''}
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
        <MissedForm missed={missed} path={path} now={deps.clock.now()} chosen={form.getAll('delivery')} />
      )}
    </>
  );
}

/** Sends one, the chosen or all of the missed deliveries again. */
function MissedForm({
  missed,
  path,
  now,
  chosen,
}: {
  missed: readonly ComparedDelivery[];
  path: string;
  now: Date;
  chosen: readonly string[];
}) {
  return (
    <form method="post" action={`${path}/missed`} data-once>
      <input type="hidden" name="mark" value={newMark()} />
      <div class="bar">
        {missed.length === 1 ? null : (
          <button type="submit" name="which" value="chosen" class="button" data-busy="Asking the provider…">
            Send selected again
          </button>
        )}
        <button type="submit" name="which" value="all" class="button go" data-busy="Asking the provider…">
          {missed.length === 1 ? 'Send it again' : `Send all ${missed.length} again`}
        </button>
      </div>
      <Table
        caption="Deliveries that are missing, the oldest first"
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
                {fate === 'failed' ? (
                  <span class="tag failed">Failed</span>
                ) : (
                  <span class="tag rejected">Never arrived</span>
                )}
                {attempts > 1 ? <div class="dim">{attempts} attempts</div> : null}
              </>
            ),
          },
          {
            title: 'Reason',
            class: 'reason',
            cell: ({ cause }) => (cause === null ? null : describeMissed(cause)),
          },
          { title: 'When', class: 'dim', cell: ({ deliveredAt }) => <When at={deliveredAt} now={now} /> },
          {
            title: 'Send again',
            isTitleHidden: true,
            class: 'end',
            cell: ({ deliveryId }) => (
              <button type="submit" name="only" value={deliveryId} class="button" data-busy="Asking…">
                Send again<span class="hidden"> {deliveryId}</span>
              </button>
            ),
          },
        ]}
      />
      {missed.length > MAX_ROWS ? <p class="hint">{missed.length - MAX_ROWS} more are missing.</p> : null}
    </form>
  );
}

/** The provider's responses to redelivery requests. The deliveries arrive at the receiver a moment later. */
function showRedelivered(visit: MemberVisit, integration: Integration, results: readonly Redelivered[]) {
  const { id, type } = integration;
  const { name } = providerOf(type);
  const refused = results.flatMap(({ deliveryId, problem }) =>
    problem === null ? [] : [{ deliveryId, message: problemOf(problem, type) }],
  );
  const accepted = results.length - refused.length;
  const title =
    results.length === 0
      ? 'No delivery is missing now'
      : accepted === 0
        ? `${name} does not send them again`
        : `${name} sends ${counted(accepted, 'delivery', 'deliveries')} again`;
  return subpage(
    visit,
    integration,
    { title, isRefused: refused.length > 0 },
    <>
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
        <a class={accepted > 0 ? 'button go' : 'button'} href={`${visit.base}/deliveries?integration=${id}`}>
          Open the log
        </a>
        <a class="button" href={`${visit.base}/integrations/${id}/missed`}>
          Check again
        </a>
      </p>
    </>,
  );
}
