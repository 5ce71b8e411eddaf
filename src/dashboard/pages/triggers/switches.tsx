/** @jsxRuntime automatic @jsxImportSource preact */
import type { Trigger } from '../../../triggers/model.ts';
import { Action } from '../../view/form.tsx';
import { eventWords } from './words.ts';

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
