/** @jsxRuntime automatic @jsxImportSource preact */

import type { EventType } from '../../../events/model.ts';
import type { Integration } from '../../../integrations/model.ts';
import { contentTypes } from '../../../posts/model.ts';
import { providerOf } from '../../../providers/index.ts';
import type { Trigger, TriggerRun } from '../../../triggers/model.ts';
import { describeFilters } from '../../../triggers/words.ts';
import { Select, Status, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { contentWords, eventWords } from './form.tsx';

export function whatOnly({ filters }: Pick<Trigger, 'filters'>): string {
  return Object.keys(filters).length === 0 ? 'no filter' : describeFilters(filters);
}

/** Such as "Changelog, as a draft". */
export function makes({ contentType, publish }: Pick<Trigger, 'contentType' | 'publish'>): string {
  return `${contentWords[contentType]}, ${publish ? 'published at once' : 'as a draft'}`;
}

/** The triggers of an integration, and the start of a new one. */
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
          A trigger turns events into posts. Without triggers, deliveries only appear in the log.
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
  const events = Object.keys(providerOf(type).triggerEvents) as EventType[];
  return events.map((event) => ({ value: event, label: eventWords[event] }));
}

/** Limits the list. */
const MAX_SHOWN = 20;

/** The failing runs of triggers, each with a retry button. `path` is the integration's page. */
export function Runs({
  runs,
  triggers,
  path,
  now,
}: {
  runs: readonly TriggerRun[];
  triggers: readonly Trigger[];
  path: string;
  now: Date;
}) {
  const failing = runs.filter(({ error }) => error !== null);
  if (failing.length === 0) return null;
  return (
    <section aria-labelledby="failing">
      <h2 id="failing">Failed runs</h2>
      {failing
        .slice(0, MAX_SHOWN)
        .map(({ triggerId, scope, status, attempts, error, deliveryId, ...run }) => {
          const event = triggers.find(({ id }) => id === triggerId)?.event;
          return (
            <div class="card pad">
              <div class="bar">
                {status === 'failed' ? (
                  <Status status="failed" more=", given up" />
                ) : (
                  <span class="tag rejected">Retrying soon</span>
                )}
                <a href={`${path}/triggers/${triggerId}`}>
                  {event === undefined ? triggerId : eventWords[event]}
                </a>
                <span class="dim">
                  {attempts === 0 ? null : `tried ${attempts === 1 ? 'once' : `${attempts} times`}, `}
                  queued <When at={run.queuedAt} now={now} />
                  {run.nextAttemptAt === null ? null : (
                    <>
                      , next try <When at={run.nextAttemptAt} now={now} />
                    </>
                  )}
                </span>
              </div>
              <p class="error reason">{error}</p>
              <p class="hint">
                About <code>{scope}</code>, after delivery <code>{deliveryId}</code>
              </p>
              {status === 'failed' ? (
                <Action to={`${path}/triggers/${triggerId}/retry`} label="Retry" />
              ) : null}
            </div>
          );
        })}
      {failing.length > MAX_SHOWN ? <p class="hint">…and {failing.length - MAX_SHOWN} more.</p> : null}
    </section>
  );
}

/** Disable, enable and delete, for owners. */
export function Switches({ trigger: { event, enabled }, path }: { trigger: Trigger; path: string }) {
  return (
    <section aria-labelledby="switches">
      <h2 id="switches">{enabled ? 'Disable or delete' : 'Enable or delete'}</h2>
      <div class="bar">
        {enabled ? (
          <Action to={`${path}/disable`} label="Disable" />
        ) : (
          <Action to={`${path}/enable`} label="Enable" kind="go" />
        )}
        <span class="dim">
          {enabled
            ? 'A disabled trigger makes no posts.'
            : 'An enabled trigger first does the runs that wait.'}
        </span>
      </div>
      <details class="danger">
        <summary>Delete</summary>
        <p>
          {eventWords[event]} make no more posts by this trigger. Its posts stay, without further updates.
        </p>
        <Action to={`${path}/delete`} label="Delete trigger" kind="bad" />
      </details>
    </section>
  );
}
