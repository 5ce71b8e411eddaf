/** @jsxRuntime automatic @jsxImportSource preact */
import type { Hook } from '../../../integrations/model.ts';
import { Action } from '../../view/form.tsx';
import { When } from '../../view/when.tsx';

/** The webhooks by place, with their state and events. */
export function HookTable({
  hooks,
  path,
  now,
  noun,
  canRemove,
}: {
  hooks: readonly Hook[];
  path: string;
  now: Date;
  noun: string;
  canRemove: boolean;
}) {
  return (
    <div class="card">
      <table class="list">
        <caption class="hidden">Webhooks, by {noun}</caption>
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">Webhook</th>
            <th scope="col">Delivers</th>
            {canRemove ? (
              <th scope="col" class="end">
                <span class="hidden">Change</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {hooks.map((hook) => (
            <tr>
              <td>{hook.placeName}</td>
              <td>
                <State hook={hook} now={now} />
              </td>
              <td class="dim mono">{hook.events.join(', ') || 'Nothing yet'}</td>
              {canRemove ? (
                <td class="end">
                  <Remove path={path} placeId={hook.placeId} name={hook.placeName} />
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ hook, now }: { hook: Hook; now: Date }) {
  const { problem, remoteId, hasPresentSecret, retryAt } = hook;
  if (problem !== null) {
    return (
      <>
        <span class="tag failed">Problem</span>
        <div class="reason">{problem}</div>
        {retryAt === null ? null : (
          <div class="dim">
            {retryAt > now.getTime() ? (
              <>
                Tried again <When at={new Date(retryAt).toISOString()} now={now} />.
              </>
            ) : (
              'Tried again in a moment.'
            )}
          </div>
        )}
      </>
    );
  }
  if (remoteId !== null && hasPresentSecret) return <span class="tag active">As it should be</span>;
  return (
    <>
      <span class="tag soon">Waiting</span>
      <div class="dim">
        {remoteId === null ? 'It is yet to be made there.' : 'It is yet to be given the present secret.'}
      </div>
    </>
  );
}

/** Takes one repository or team away, once it was confirmed. */
export function Remove({ path, placeId, name }: { path: string; placeId: string; name: string }) {
  return (
    <details class="danger">
      <summary>
        Remove<span class="hidden"> {name}</span>
      </summary>
      <p>
        Disconnects {name} for good, with its webhook and the triggers that are for it alone. Posts stay, and
        so does the log.
      </p>
      <Action to={`${path}/remove`} label={`Remove ${name}`} kind="bad" fields={{ place: placeId }} />
    </details>
  );
}
