/** @jsxRuntime automatic @jsxImportSource preact */

import { builtInTemplates } from '../../../drafts/built-in.ts';
import { type Integration, integrationName } from '../../../integrations/model.ts';
import { getIntegration } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { listRuns, retryRuns } from '../../../triggers/queue-store.ts';
import { changeTrigger, deleteTrigger, switchTrigger } from '../../../triggers/service.ts';
import { findTrigger } from '../../../triggers/store.ts';
import { describeFilters } from '../../../triggers/words.ts';
import { get, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { readFields, submit } from '../../submission.ts';
import { Select, Status, When } from '../../view/elements.tsx';
import { Action, Form } from '../../view/form.tsx';
import { typeOptions } from '../posts/list.tsx';
import { RuleFields, ruleOf, TriggerForm, triggerFormState, valuesOf } from './form.tsx';
import { Crumbs, describePosts, eventWords, Runs } from './list.tsx';
import { Preview, preview, Rehearsal, rehearse } from './preview.tsx';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId';

/** The page of one trigger, and its changes. */
export const onePages: readonly Page[] = [
  get(PATH, 'member', (visit) => showTrigger(visit)),

  post(PATH, 'owner', (visit) =>
    submit(
      visit,
      TriggerForm,
      async (values) => {
        const { trigger, path } = await requireTrigger(visit);
        await changeTrigger(visit.deps, trigger.id, ruleOf(values, kinds[trigger.event]));
        return redirect(path, 'Saved. Existing drafts change with their next event.');
      },
      (error) => showTrigger(visit, error),
    ),
  ),

  ...(['enable', 'disable'] as const).map((name) =>
    post(`${PATH}/${name}`, 'owner', async (visit) => {
      const { trigger, path } = await requireTrigger(visit);
      await switchTrigger(visit.deps, trigger.id, name === 'enable');
      return redirect(
        path,
        name === 'enable' ? 'Trigger enabled.' : 'Trigger disabled. It makes no posts until you enable it.',
      );
    }),
  ),

  post(`${PATH}/delete`, 'owner', async (visit) => {
    const { trigger, integrationPath } = await requireTrigger(visit);
    await deleteTrigger(visit.deps, trigger.id);
    return redirect(integrationPath, 'Trigger deleted. Its posts stay.');
  }),

  post(`${PATH}/retry`, 'member', async (visit) => {
    const { db, clock } = visit.deps;
    const { trigger, path } = await requireTrigger(visit);
    const retried = await db.write((tx) => retryRuns(tx, trigger.id, clock.now()));
    return redirect(path, retried === 0 ? 'Nothing to retry.' : 'Retrying now.');
  }),
];

/** The trigger of the path. Throws `AppError` 404, also for another organization's. */
async function requireTrigger({ deps, organization, params, base }: MemberVisit) {
  const { triggerId = '', integrationId } = params;
  return deps.db.read(async (tx) => {
    const trigger = await findTrigger(tx, triggerId);
    if (trigger?.organizationId !== organization.id || trigger.integrationId !== integrationId) {
      throw new AppError(404, 'There is no such trigger. It may have been deleted.');
    }
    const integrationPath = `${base}/integrations/${integrationId}`;
    return {
      trigger,
      integration: await getIntegration(tx, integrationId),
      runs: await listRuns(tx, { integrationId }),
      integrationPath,
      path: `${integrationPath}/triggers/${triggerId}`,
    };
  });
}

/** Shows the trigger or, with an error, the posted form. */
async function showTrigger(visit: MemberVisit, error?: AppError): Promise<View> {
  const { deps, base, role, url } = visit;
  const { trigger, integration, runs, path, integrationPath } = await requireTrigger(visit);
  const now = deps.clock.now();
  const isOwner = role === 'owner';
  const previewed = await preview(visit, trigger);
  const rehearsed = url.searchParams.has('rehearse') ? await rehearse(deps, trigger.id) : null;
  return view(
    eventWords[trigger.event],
    <>
      <Crumbs base={base} integration={integration} />
      <h1>{eventWords[trigger.event]}</h1>
      <p class="bar">
        <Status status={trigger.enabled ? 'active' : 'disabled'} />
        <span class="dim">{describePosts(trigger)}</span>
      </p>
      <Runs
        runs={runs.filter(({ triggerId }) => triggerId === trigger.id)}
        triggers={[trigger]}
        path={integrationPath}
        now={now}
      />
      <Facts trigger={trigger} integration={integration} now={now} />
      {isOwner ? (
        <EditTrigger trigger={trigger} path={path} posted={visit.form} error={error} />
      ) : (
        <Templates trigger={trigger} />
      )}
      <Preview {...previewed} path={path} integrationPath={integrationPath} now={now} />
      <Rehearsal rehearsed={rehearsed} path={path} now={now} />
      {isOwner ? <Switches trigger={trigger} path={path} /> : null}
    </>,
    { section: 'integrations', error },
  );
}

function Facts({ trigger, integration, now }: { trigger: Trigger; integration: Integration; now: Date }) {
  const { id, repositoryId, filters, createdAt } = trigger;
  const repository = integration.repositories.find((each) => each.id === repositoryId);
  return (
    <dl class="facts card">
      <dt>Source</dt>
      <dd>{repository?.fullName ?? integrationName(integration)}</dd>
      <dt>Filters</dt>
      <dd>{describeFilters(filters)}</dd>
      <dt>Created</dt>
      <dd>
        <When at={createdAt} now={now} />
      </dd>
      <dt>Trigger ID</dt>
      <dd>
        <code>{id}</code>
      </dd>
    </dl>
  );
}

/** With an error, the form as it was posted. */
function EditTrigger({
  trigger,
  path,
  posted,
  error,
}: {
  trigger: Trigger;
  path: string;
  posted: URLSearchParams;
  error: AppError | undefined;
}) {
  const { event } = trigger;
  const { contentType = trigger.contentType } = readFields(TriggerForm, posted);
  const { fields, problem } = triggerFormState(error === undefined ? valuesOf(trigger) : posted, error);
  const builtIn = builtInTemplates(event, trigger.contentType);
  return (
    <section aria-labelledby="rule">
      <h2 id="rule">Filters and templates</h2>
      <Form to={path} problem={problem} button="Save" layout="stack wide">
        <Select {...fields.contentType} value={contentType} options={typeOptions} />
        <RuleFields kind={kinds[event]} contentType={contentType} fields={fields} />
      </Form>
      {/* To copy and start from. */}
      <details class="more">
        <summary>Built-in templates</summary>
        <pre class="wrap">{builtIn.title}</pre>
        <pre class="wrap">{builtIn.body}</pre>
      </details>
    </section>
  );
}

/** The templates in use, for members who cannot change them. */
function Templates({ trigger: { event, contentType, titleTemplate, bodyTemplate } }: { trigger: Trigger }) {
  const builtIn = builtInTemplates(event, contentType);
  return (
    <section aria-labelledby="templates">
      <h2 id="templates">Templates</h2>
      <p class="label">Title, {titleTemplate === null ? 'built in' : 'your own'}</p>
      <pre class="wrap">{titleTemplate ?? builtIn.title}</pre>
      <p class="label">Body, {bodyTemplate === null ? 'built in' : 'your own'}</p>
      <pre class="wrap">{bodyTemplate ?? builtIn.body}</pre>
    </section>
  );
}

function Switches({ trigger: { event, enabled }, path }: { trigger: Trigger; path: string }) {
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
          {eventWords[event]} no longer become posts through this trigger. Its posts stay, without further
          updates.
        </p>
        <Action to={`${path}/delete`} label="Delete trigger" kind="bad" />
      </details>
    </section>
  );
}
