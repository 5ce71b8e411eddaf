import type { Static } from '@sinclair/typebox';
import { listReleases } from '../../../drafting/events.ts';
import { kindsFor, MAX_LAST, type Trigger } from '../../../drafting/triggers/model.ts';
import { countRequests } from '../../../drafting/triggers/queue-store.ts';
import { createTrigger } from '../../../drafting/triggers/service.ts';
import { AppError } from '../../../lib/app-error.ts';
import { DEFAULT_CONTENT_TYPE } from '../../../posts/model.ts';
import type { IntegrationType } from '../../../providers/index.ts';
import { readFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect } from '../../page.ts';
import { submit } from '../../submission.ts';
import { counted } from '../../view/elements.tsx';
import { Field, Select } from '../../view/form.tsx';
import { requireIntegration } from '../integrations/subpage.tsx';
import { assistanceIn, editorPage, typedValues } from './editor.tsx';
import { ruleOf, TriggerForm } from './form.tsx';
import { crumbsOf, eventWords } from './list.tsx';
import { onePages } from './one.tsx';
import { previewFragment } from './preview.tsx';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers';

export const routes: readonly Page[] = [
  get(`${PATH}/new`, 'owner', (visit) => showForm(visit, visit.url.searchParams)),

  post(PATH, 'owner', (visit) =>
    assistanceIn(visit.form) !== null
      ? showForm(visit, visit.form)
      : submit(
          visit,
          TriggerForm,
          (values) => create(visit, values),
          (error) => showForm(visit, visit.form, error),
        ),
  ),

  post(`${PATH}/preview`, 'owner', async (visit) =>
    previewFragment(visit, await newTrigger(visit, visit.form), visit.form),
  ),

  ...onePages,
];

async function create(visit: MemberVisit, values: Static<typeof TriggerForm>) {
  const { deps } = visit;
  const { id: integrationId, type } = await requireIntegration(visit);
  const kind = requireKind(type, values.event);
  const { id } = await createTrigger(deps, {
    contentType: DEFAULT_CONTENT_TYPE,
    ...ruleOf(values, kind),
    integrationId,
    repository: values.repository || undefined,
    event: kind.event,
    last: Number(values.last),
  });
  const requested = await deps.db.read((tx) => countRequests(tx, id));
  const drafts = requested > 0 ? ` ${counted(requested, 'draft')} of past releases will follow.` : '';
  return redirect(
    `integrations/${integrationId}/triggers/${id}`,
    `Trigger created. It acts on new events from now on.${drafts}`,
  );
}

async function newTrigger(visit: MemberVisit, values: URLSearchParams): Promise<Trigger> {
  const { deps, organization } = visit;
  const { id: integrationId, type, repositories } = await requireIntegration(visit);
  const { event, repository, contentType = DEFAULT_CONTENT_TYPE } = readFields(TriggerForm, values);
  const kind = requireKind(type, event);
  const now = deps.clock.now().toISOString();
  return {
    id: 'trg_new',
    organizationId: organization.id,
    integrationId,
    integrationType: type,
    repositoryId: repositories.find(({ id }) => id === repository)?.id ?? null,
    event: kind.event,
    action: kind.action,
    filters: {},
    contentType,
    titleTemplate: null,
    bodyTemplate: null,
    publish: false,
    suggests: false,
    enabled: true,
    createdAt: now,
    updatedAt: now,
  };
}

async function showForm(visit: MemberVisit, given: URLSearchParams, error?: AppError) {
  const integration = await requireIntegration(visit);
  const { id, repositories } = integration;
  const trigger = await newTrigger(visit, given);
  const { event } = trigger;
  const values = typedValues(given, event);
  const repositoryIds = repositories.map((each) => each.id);
  const releases =
    event === 'release' ? await visit.deps.db.read((tx) => listReleases(tx, id, repositoryIds)) : [];
  const to = `${visit.base}/integrations/${id}/triggers`;
  return editorPage(
    visit,
    { trigger, values, error, to, button: 'Create trigger' },
    {
      about: {
        title: 'New trigger',
        crumbs: crumbsOf(integration),
        facts: `${eventWords[event]} become posts.`,
      },
      first: (fields) => (
        <>
          <input type="hidden" name="event" value={event} />
          {repositories.length >= 2 && (
            <Select
              {...fields.repository}
              all="All repositories"
              options={repositories.map((each) => ({ value: each.id, label: each.fullName }))}
            />
          )}
        </>
      ),
      last: (fields) =>
        releases.length > 0 && (
          <Field {...fields.last} type="number" min={0} max={MAX_LAST} required={false} />
        ),
    },
  );
}

function requireKind(provider: IntegrationType, event: string) {
  const kind = kindsFor(provider).find((each) => each.event === event);
  if (kind === undefined) throw new AppError(400, 'Choose an event from the list.');
  return kind;
}
