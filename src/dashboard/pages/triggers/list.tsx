/** @jsxRuntime automatic @jsxImportSource preact */
import type { Integration } from '../../../integrations/model.ts';
import { contentTypes } from '../../../posts/model.ts';
import { providerOf } from '../../../providers/index.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { Select } from '../../view/select.tsx';
import { Status } from '../../view/status.tsx';
import { contentWords, eventWords, makes, whatOnly } from './words.ts';

/** What an integration's events become, and the beginning of another trigger. */
export function TriggerList({
  integration,
  triggers,
  base,
  isOwner,
}: {
  integration: Integration;
  triggers: readonly Trigger[];
  base: string;
  isOwner: boolean;
}) {
  const path = `${base}/integrations/${integration.id}/triggers`;
  return (
    <section aria-labelledby="triggers">
      <h2 id="triggers">Triggers</h2>
      {triggers.length === 0 ? (
        <p class="hint">
          A trigger makes posts of events. Without one, deliveries are taken and kept in the log, and nothing
          is written.
        </p>
      ) : (
        <div class="card">
          <table class="list">
            <caption class="hidden">Triggers, the oldest first</caption>
            <thead>
              <tr>
                <th scope="col">Of</th>
                <th scope="col">Makes</th>
                <th scope="col">Only</th>
                <th scope="col">Status</th>
              </tr>
            </thead>
            <tbody>
              {triggers.map((trigger) => (
                <tr>
                  <td>
                    <a href={`${path}/${trigger.id}`}>{eventWords[trigger.event]}</a>
                  </td>
                  <td>{makes(trigger)}</td>
                  <td class="dim">{whatOnly(trigger)}</td>
                  <td>
                    <Status status={trigger.enabled ? 'active' : 'disabled'} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isOwner ? (
        <form method="get" action={`${path}/new`} class="bar ends">
          <Select label="Make posts of" name="event" options={eventOptions(integration)} />
          <Select
            label="As"
            name="contentType"
            options={contentTypes.map((value) => ({ value, label: contentWords[value] }))}
          />
          <button type="submit" class="button">
            New trigger…
          </button>
        </form>
      ) : null}
    </section>
  );
}

function eventOptions({ type }: Integration) {
  return Object.values(kinds)
    .filter(({ event }) => Object.hasOwn(providerOf(type).triggerEvents, event))
    .map(({ event }) => ({ value: event, label: eventWords[event] }));
}
