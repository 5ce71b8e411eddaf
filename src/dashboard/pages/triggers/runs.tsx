/** @jsxRuntime automatic @jsxImportSource preact */
import type { Trigger, TriggerRun } from '../../../triggers/model.ts';
import { Action } from '../../view/form.tsx';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { eventWords } from './words.ts';

/** How many are shown. */
const MAX_SHOWN = 20;

/** What triggers could not do, with why, and the button that tries again. `path` is the integration's page. */
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
      <h2 id="failing">Could not be done</h2>
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
                  <span class="tag rejected">Tried again soon</span>
                )}
                <a href={`${path}/triggers/${triggerId}`}>
                  {event === undefined ? triggerId : eventWords[event]}
                </a>
                <span class="dim">
                  {attempts === 0 ? null : `tried ${attempts === 1 ? 'once' : `${attempts} times`}, `}
                  asked for <When at={run.queuedAt} now={now} />
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
