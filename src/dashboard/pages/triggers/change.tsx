/** @jsxRuntime automatic @jsxImportSource preact */
import type { Trigger } from '../../../triggers/model.ts';
import { switchTrigger } from '../../../triggers/service.ts';
import { deleteTrigger, retryRuns } from '../../../triggers/store.ts';
import { type Page, post, redirect } from '../../page.ts';
import { Action } from '../../view/form.tsx';
import { requireTrigger } from './find.ts';
import { eventWords } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId';

export const changeTrigger: readonly Page[] = [
  ...(['enable', 'disable'] as const).map((name) =>
    post(`${PATH}/${name}`, 'owner', async (visit) => {
      const { trigger, path } = await requireTrigger(visit);
      await switchTrigger(visit.deps, trigger.id, name === 'enable');
      return redirect(
        path,
        name === 'enable' ? 'It is enabled.' : 'It makes no posts until it is enabled again.',
      );
    }),
  ),

  post(`${PATH}/delete`, 'owner', async (visit) => {
    const { trigger, integration } = await requireTrigger(visit);
    await deleteTrigger(visit.deps.db, trigger.id);
    return redirect(
      `${visit.base}/integrations/${integration.id}`,
      'The trigger is deleted. Its posts stay.',
    );
  }),

  post(`${PATH}/retry`, 'member', async (visit) => {
    const { trigger, path } = await requireTrigger(visit);
    const retried = await retryRuns(visit.deps.db, trigger.id, visit.deps.clock.now());
    return redirect(
      path,
      retried === 0 ? 'There was nothing to run again.' : 'What was given up is tried again now.',
    );
  }),
];

/** What can be changed of a trigger, by owners. */
export function Changes({ trigger: { event, enabled }, path }: { trigger: Trigger; path: string }) {
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">Change it</h2>
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
