/** @jsxRuntime automatic @jsxImportSource preact */

import { listReleases } from '../../../events/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { IntegrationType } from '../../../providers/index.ts';
import { kindsFor } from '../../../triggers/kinds/index.ts';
import { MAX_LAST } from '../../../triggers/model.ts';
import { countRequests } from '../../../triggers/queue-store.ts';
import { createTrigger } from '../../../triggers/service.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { formState, readFields, submit } from '../../submission.ts';
import { counted, Select } from '../../view/elements.tsx';
import { Field, Form } from '../../view/form.tsx';
import { requireIntegration } from '../integrations/one.tsx';
import { RuleFields, ruleOf, TriggerForm } from './form.tsx';
import { Crumbs, eventWords } from './list.tsx';
import { onePages } from './one.tsx';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers';

/** The triggers of an integration. */
export const triggers: readonly Page[] = [
  get(`${PATH}/new`, 'owner', (visit) => showForm(visit, visit.url.searchParams)),

  post(PATH, 'owner', (visit) =>
    submit(
      visit,
      TriggerForm,
      async (values) => {
        const { deps, base } = visit;
        const { id: integrationId, type } = await requireIntegration(visit);
        const kind = requireKind(type, values.event);
        const { id } = await createTrigger(deps, {
          contentType: 'changelog',
          ...ruleOf(values, kind),
          integrationId,
          repository: values.repository || undefined,
          event: kind.event,
          last: Number(values.last),
        });
        const requested = await deps.db.read((tx) => countRequests(tx, id));
        const drafts = requested > 0 ? ` ${counted(requested, 'draft')} of past releases will follow.` : '';
        return redirect(
          `${base}/integrations/${integrationId}/triggers/${id}`,
          `Trigger created. It acts on new events from now on.${drafts}`,
        );
      },
      (error) => showForm(visit, visit.form, error),
    ),
  ),

  ...onePages,
];

async function showForm(visit: MemberVisit, values: URLSearchParams, error?: AppError) {
  const integration = await requireIntegration(visit);
  const { id, type, repositories } = integration;
  const { event, contentType = 'changelog' } = readFields(TriggerForm, values);
  const kind = requireKind(type, event);
  const { fields, problem } = formState(TriggerForm, values, error);
  const repositoryIds = repositories.map((each) => each.id);
  const releases =
    kind.event === 'release' ? await visit.deps.db.read((tx) => listReleases(tx, id, repositoryIds)) : [];
  return view(
    'New trigger',
    <>
      <Crumbs base={visit.base} integration={integration} />
      <h1>New trigger</h1>
      <p class="lede">
        {eventWords[kind.event]} become {contentType === 'changelog' ? 'changelog entries' : 'LinkedIn posts'}
        .
      </p>
      <Form
        to={`${visit.base}/integrations/${id}/triggers`}
        problem={problem}
        button="Create trigger"
        layout="stack wide"
      >
        <input type="hidden" name="event" value={kind.event} />
        <input type="hidden" name="contentType" value={contentType} />
        {repositories.length < 2 ? null : (
          <Select
            {...fields.repository}
            all="All repositories"
            options={repositories.map((each) => ({ value: each.id, label: each.fullName }))}
          />
        )}
        <RuleFields kind={kind} type={contentType} fields={fields} />
        {releases.length === 0 ? null : (
          <Field {...fields.last} type="number" min={0} max={MAX_LAST} required={false} />
        )}
      </Form>
    </>,
    { section: 'integrations', error },
  );
}

function requireKind(provider: IntegrationType, event: string) {
  const kind = kindsFor(provider).find((each) => each.event === event);
  if (kind === undefined) throw new AppError(400, 'Choose an event from the list.');
  return kind;
}
