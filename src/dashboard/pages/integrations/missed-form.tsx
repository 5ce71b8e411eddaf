/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComparedDelivery } from '../../../integrations/missed.ts';
import { describeMissed } from '../../../integrations/words.ts';
import { newMark } from '../../once.ts';
import { When } from '../../view/when.tsx';

/** How many deliveries have a row of their own. */
const MAX_ROWS = 200;

/** The deliveries that are missing, to be sent again: one, those that are chosen, or all. */
export function MissedForm({
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
  const shown = missed.slice(0, MAX_ROWS);
  return (
    <form method="post" action={`${path}/missed`} data-once>
      <input type="hidden" name="mark" value={newMark()} />
      <div class="bar">
        {missed.length === 1 ? null : (
          <button type="submit" name="which" value="chosen" class="button" data-busy="Asking the provider…">
            Send the chosen again
          </button>
        )}
        <button type="submit" name="which" value="all" class="button go" data-busy="Asking the provider…">
          {missed.length === 1 ? 'Send it again' : `Send all ${missed.length} again`}
        </button>
      </div>
      <div class="card">
        <table class="list">
          <caption class="hidden">Deliveries that are missing, the oldest first</caption>
          <thead>
            <tr>
              <th scope="col">Event</th>
              <th scope="col">Result</th>
              <th scope="col">Reason</th>
              <th scope="col">When</th>
              <th scope="col" class="end">
                <span class="hidden">Send again</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((delivery) => (
              <MissedRow delivery={delivery} isChosen={chosen.includes(delivery.deliveryId)} now={now} />
            ))}
          </tbody>
        </table>
      </div>
      {missed.length > shown.length ? (
        <p class="hint">{missed.length - shown.length} more are missing than are shown here.</p>
      ) : null}
    </form>
  );
}

function MissedRow({
  delivery,
  isChosen,
  now,
}: {
  delivery: ComparedDelivery;
  isChosen: boolean;
  now: Date;
}) {
  const { deliveryId, place, event, action, deliveredAt, fate, cause, attempts } = delivery;
  return (
    <tr>
      <td>
        <label class="check">
          <input type="checkbox" name="delivery" value={deliveryId} checked={isChosen} />
          <span>
            {event}
            {action === null ? '' : ` ${action}`}
            <span class="hint">
              {place} <span class="mono whole">{deliveryId}</span>
            </span>
          </span>
        </label>
      </td>
      <td>
        <span class={`tag ${fate === 'failed' ? 'failed' : 'rejected'}`}>
          {fate === 'failed' ? 'Failed' : 'Never arrived'}
        </span>
        {attempts > 1 ? <div class="dim">{attempts} attempts</div> : null}
      </td>
      <td class="reason">{cause === null ? '' : describeMissed(cause)}</td>
      <td class="dim">
        <When at={deliveredAt} now={now} />
      </td>
      <td class="end">
        <button type="submit" name="only" value={deliveryId} class="button" data-busy="Asking…">
          Send again<span class="hidden"> {deliveryId}</span>
        </button>
      </td>
    </tr>
  );
}
