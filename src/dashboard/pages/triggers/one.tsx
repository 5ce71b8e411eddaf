/** @jsxRuntime automatic @jsxImportSource preact */

import { builtInTemplates } from '../../../drafts/built-in.ts';
import { type Integration, integrationName } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { contentTypes } from '../../../posts/model.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { listRuns, retryRuns } from '../../../triggers/queue-store.ts';
import { changeTrigger, deleteTrigger, findTriggers, switchTrigger } from '../../../triggers/service.ts';
import { get, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { Select, Status, When } from '../../view/elements.tsx';
import { requireIntegration } from '../integrations/one.tsx';
import {
  contentTypeOf,
  contentWords,
  eventWords,
  formOf,
  problemOf,
  readRule,
  TriggerForm,
} from './form.tsx';
import { makes, Runs, Switches, whatOnly } from './list.tsx';
import { Preview, preview, Rehearsal, rehearse } from './preview.tsx';

/** One trigger: what it makes of what, and what it would have made. */
export const triggerPage: Page = get(
  '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId',
  'member',
  (visit) => showTrigger(visit),
);

/** The page of a trigger; after a change that was refused, with what was typed. */
async function showTrigger(visit: MemberVisit, refused?: RefusedChange): Promise<View> {
  const { deps, base, role, url } = visit;
  const { trigger, integration, path } = await requireTrigger(visit);
  const runs = await deps.db.read((tx) => listRuns(tx, { integrationId: integration.id }));
  const now = deps.clock.now();
  const previewed = await preview(visit, trigger);
  const rehearsed = url.searchParams.has('rehearse') ? await rehearse(deps, trigger.id) : null;
  const integrationPath = `${base}/integrations/${integration.id}`;
  return view(
    eventWords[trigger.event],
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> /{' '}
        <a href={integrationPath}>{integrationName(integration)}</a>
      </p>
      <h1>{eventWords[trigger.event]}</h1>
      <p class="bar">
        <Status status={trigger.enabled ? 'active' : 'disabled'} />
        <span class="dim">{makes(trigger)}</span>
      </p>
      <Runs
        runs={runs.filter(({ triggerId }) => triggerId === trigger.id)}
        triggers={[trigger]}
        path={integrationPath}
        now={now}
      />
      <Facts trigger={trigger} integration={integration} now={now} />
      {role === 'owner' ? (
        <EditTrigger trigger={trigger} path={path} refused={refused} />
      ) : (
        <Templates trigger={trigger} />
      )}
      <Preview previewed={previewed} path={path} integrationPath={integrationPath} now={now} />
      <Rehearsal rehearsed={rehearsed} path={path} now={now} />
      {role === 'owner' ? <Switches trigger={trigger} path={path} /> : null}
    </>,
    { section: 'integrations', ...(refused === undefined ? {} : { status: refused.error.status }) },
  );
}

function Facts({ trigger, integration, now }: { trigger: Trigger; integration: Integration; now: Date }) {
  const { id, repositoryId, createdAt } = trigger;
  const repository = integration.repositories.find((each) => each.id === repositoryId);
  return (
    <dl class="facts card">
      <dt>Of</dt>
      <dd>{repository?.fullName ?? integrationName(integration)}</dd>
      <dt>Only</dt>
      <dd>{whatOnly(trigger)}</dd>
      <dt>Made</dt>
      <dd>
        <When at={createdAt} now={now} />
      </dd>
      <dt>Trigger</dt>
      <dd>
        <code>{id}</code>
      </dd>
    </dl>
  );
}

/** The trigger of the path and its integration. Throws `AppError` 404, also for another organization's. */
async function requireTrigger(
  visit: MemberVisit,
): Promise<{ trigger: Trigger; integration: Integration; path: string }> {
  const integration = await requireIntegration(visit);
  const all = await findTriggers(visit.deps, { integrationId: integration.id });
  const trigger = all.find(({ id }) => id === visit.params.triggerId);
  if (trigger === undefined) throw new AppError(404, 'There is no such trigger. It may have been deleted.');
  return {
    trigger,
    integration,
    path: `${visit.base}/integrations/${integration.id}/triggers/${trigger.id}`,
  };
}

/** A rejected change, with the form as it was typed. */
interface RefusedChange {
  form: URLSearchParams;
  error: AppError;
}

function EditTrigger({
  trigger,
  path,
  refused,
}: {
  trigger: Trigger;
  path: string;
  refused: RefusedChange | undefined;
}) {
  const form = refused?.form ?? formOf(trigger);
  const contentType = contentTypeOf(form.get('contentType'), trigger.contentType);
  return (
    <section aria-labelledby="rule">
      <h2 id="rule">Filters and templates</h2>
      <TriggerForm
        kind={kinds[trigger.event]}
        contentType={contentType}
        path={path}
        form={form}
        problem={problemOf(refused?.error)}
        submit="Save"
      >
        <Select
          label="Makes"
          name="contentType"
          value={contentType}
          options={contentTypes.map((value) => ({ value, label: contentWords[value] }))}
        />
      </TriggerForm>
      <BuiltIn trigger={trigger} />
    </section>
  );
}

/** The built-in templates as text to copy and start from. */
function BuiltIn({ trigger: { event, contentType } }: { trigger: Trigger }) {
  const { title, body } = builtInTemplates(event, contentType);
  return (
    <details class="more">
      <summary>The built-in templates</summary>
      <pre class="wrap">{title}</pre>
      <pre class="wrap">{body}</pre>
    </details>
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

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId';

export const changes: readonly Page[] = [
  post(PATH, 'owner', async (visit) => {
    const { deps, form } = visit;
    const { trigger, path } = await requireTrigger(visit);
    const contentType = contentTypeOf(form.get('contentType'), trigger.contentType);
    try {
      await changeTrigger(deps, trigger.id, readRule(form, kinds[trigger.event], contentType));
      return redirect(path, 'Saved. Existing drafts change with their next event.');
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      return showTrigger(visit, { form, error });
    }
  }),

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
    const { trigger, integration } = await requireTrigger(visit);
    await deleteTrigger(visit.deps, trigger.id);
    return redirect(`${visit.base}/integrations/${integration.id}`, 'Trigger deleted. Its posts stay.');
  }),

  post(`${PATH}/retry`, 'member', async (visit) => {
    const { db, clock } = visit.deps;
    const { trigger, path } = await requireTrigger(visit);
    const retried = await db.write((tx) => retryRuns(tx, trigger.id, clock.now()));
    return redirect(path, retried === 0 ? 'Nothing to retry.' : 'Retrying now.');
  }),
];
