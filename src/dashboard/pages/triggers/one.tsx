/** @jsxRuntime automatic @jsxImportSource preact */

import { builtInTemplates } from '../../../drafts/built-in.ts';
import { integrationName } from '../../../integrations/model.ts';
import { getIntegration } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import { listRuns, retryRuns } from '../../../triggers/queue-store.ts';
import { changeTrigger, deleteTrigger, switchTrigger } from '../../../triggers/service.ts';
import { findTrigger } from '../../../triggers/store.ts';
import { describeFilters } from '../../../triggers/words.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { formState, readFields, submit } from '../../submission.ts';
import { Select, Status, When } from '../../view/elements.tsx';
import { Action, Form } from '../../view/form.tsx';
import { typeOptions } from '../posts/origin.ts';
import { RuleFields, ruleOf, TriggerForm, valuesOf } from './form.tsx';
import { Crumbs, describePosts, eventWords, Runs } from './list.tsx';
import { renderPreview, renderRehearsal } from './preview.tsx';

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

export type FoundTrigger = Awaited<ReturnType<typeof requireTrigger>>;

/** The trigger of the path. Throws `AppError` 404, also for another organization's. */
async function requireTrigger({ deps, organization, params, base }: MemberVisit) {
  const { triggerId = '', integrationId } = params;
  return deps.db.read(async (tx) => {
    const trigger = await findTrigger(tx, triggerId);
    if (trigger?.organizationId !== organization.id || trigger.integrationId !== integrationId) {
      throw new AppError(404, 'There is no such trigger. It may have been deleted.');
    }
    const integrationPath = `${base}/integrations/${integrationId}`;
    const runs = await listRuns(tx, { integrationId });
    return {
      trigger,
      integration: await getIntegration(tx, integrationId),
      runs: runs.filter((run) => run.triggerId === triggerId),
      integrationPath,
      path: `${integrationPath}/triggers/${triggerId}`,
    };
  });
}

/** Shows the trigger or, with an error, the posted form. */
async function showTrigger(visit: MemberVisit, error?: AppError) {
  const found = await requireTrigger(visit);
  const { trigger, integration, runs, integrationPath } = found;
  const now = visit.deps.clock.now();
  const isOwner = visit.role === 'owner';
  return view(
    eventWords[trigger.event],
    <>
      <Crumbs base={visit.base} integration={integration} />
      <h1>{eventWords[trigger.event]}</h1>
      <p class="bar">
        <Status status={trigger.enabled ? 'active' : 'disabled'} />
        <span class="dim">{describePosts(trigger)}</span>
      </p>
      <Runs runs={runs} triggers={[trigger]} path={integrationPath} now={now} />
      <Facts {...found} now={now} />
      {isOwner ? <EditTrigger {...found} posted={visit.form} error={error} /> : <Templates {...found} />}
      {await renderPreview(visit, found)}
      {await renderRehearsal(visit, found)}
      {isOwner ? <Switches {...found} /> : null}
    </>,
    { section: 'integrations', error },
  );
}

function Facts({ trigger, integration, now }: FoundTrigger & { now: Date }) {
  const repository = integration.repositories.find(({ id }) => id === trigger.repositoryId);
  return (
    <dl class="facts card">
      <dt>Source</dt>
      <dd>{repository?.fullName ?? integrationName(integration)}</dd>
      <dt>Filters</dt>
      <dd>{describeFilters(trigger.filters)}</dd>
      <dt>Created</dt>
      <dd>
        <When at={trigger.createdAt} now={now} />
      </dd>
      <dt>Trigger ID</dt>
      <dd>
        <code>{trigger.id}</code>
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
}: FoundTrigger & { posted: URLSearchParams; error: AppError | undefined }) {
  const { event } = trigger;
  const { contentType = trigger.contentType } = readFields(TriggerForm, posted);
  const { fields, problem } = formState(TriggerForm, error ? posted : valuesOf(trigger), error);
  const builtIn = builtInTemplates(event, trigger.contentType);
  return (
    <section aria-labelledby="rule">
      <h2 id="rule">Filters and templates</h2>
      <Form to={path} problem={problem} button="Save" layout="stack wide">
        <Select {...fields.contentType} value={contentType} options={typeOptions} />
        <RuleFields kind={kinds[event]} type={contentType} fields={fields} />
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
function Templates({ trigger }: FoundTrigger) {
  const builtIn = builtInTemplates(trigger.event, trigger.contentType);
  return (
    <section aria-labelledby="templates">
      <h2 id="templates">Templates</h2>
      <pre class="wrap">{trigger.titleTemplate ?? builtIn.title}</pre>
      <pre class="wrap">{trigger.bodyTemplate ?? builtIn.body}</pre>
    </section>
  );
}

function Switches({ trigger: { enabled }, path }: FoundTrigger) {
  const [name, label] = enabled ? ['disable', 'Disable'] : ['enable', 'Enable'];
  return (
    <section aria-labelledby="switches">
      <h2 id="switches">{`${label} or delete`}</h2>
      <div class="bar">
        <Action to={`${path}/${name}`} label={label} />
        <span class="dim">
          {enabled ? 'A disabled trigger makes no posts.' : 'When enabled, it first does what waits.'}
        </span>
      </div>
      <details class="danger">
        <summary>Delete</summary>
        <p>This trigger makes no more posts. Its posts stay, without further updates.</p>
        <Action to={`${path}/delete`} label="Delete trigger" kind="bad" />
      </details>
    </section>
  );
}
