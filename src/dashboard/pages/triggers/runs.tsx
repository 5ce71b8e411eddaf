/** @jsxRuntime automatic @jsxImportSource preact */
import type { Trigger, TriggerRun } from '../../../triggers/model.ts';
import { Action } from '../../view/form.tsx';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { eventWords } from './words.ts';

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
