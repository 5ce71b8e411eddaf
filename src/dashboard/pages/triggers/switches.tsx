/** @jsxRuntime automatic @jsxImportSource preact */
import type { Trigger } from '../../../triggers/model.ts';
import { Action } from '../../view/form.tsx';
import { eventWords } from './words.ts';

/** Whether it goes on, and the end of it, for owners. */
export function Switches({ trigger: { event, enabled }, path }: { trigger: Trigger; path: string }) {
  return (
    <section aria-labelledby="switches">
      <h2 id="switches">{enabled ? 'Stop it' : 'Start it again, or delete it'}</h2>
      <div class="bar">
        {enabled ? (
          <Action to={`${path}/disable`} label="Disable" />
        ) : (
          <Action to={`${path}/enable`} label="Enable" kind="go" />
        )}
        <span class="dim">
          {enabled
            ? 'Disabled, it makes no posts until it is enabled again.'
            : 'Enabled, it takes up first what it still had to do.'}
        </span>
      </div>
      <details class="danger">
        <summary>Delete</summary>
        <p>
          {eventWords[event]} make no more posts by this trigger. Its posts stay; they are no longer brought
          up to date.
        </p>
        <Action to={`${path}/delete`} label="Delete this trigger" kind="bad" />
      </details>
    </section>
  );
}
