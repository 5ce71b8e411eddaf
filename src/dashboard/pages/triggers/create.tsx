/** @jsxRuntime automatic @jsxImportSource preact */

import { listReleases } from '../../../events/store.ts';
import { type Integration, integrationName } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { IntegrationType } from '../../../providers/index.ts';
import { countRequests } from '../../../triggers/queue-store.ts';
import { createTrigger } from '../../../triggers/service.ts';
import { get, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { Select } from '../../view/elements.tsx';
import { requireIntegration } from '../integrations/one.tsx';
import {
  contentsWords,
  contentTypeOf,
  eventWords,
  kindOf,
  problemOf,
  readTrigger,
  TriggerForm,
} from './form.tsx';
import { changes, triggerPage } from './one.tsx';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers';

const newTrigger: readonly Page[] = [
  get(`${PATH}/new`, 'owner', async (visit) => showForm(visit, visit.url.searchParams)),

  post(PATH, 'owner', async (visit) => {
    const { deps, base, form } = visit;
    const integration = await requireIntegration(visit);
    const kind = requireKind(integration.type, form.get('event'));
    try {
      const { id } = await createTrigger(deps, readTrigger(form, integration.id, kind));
      const requested = await deps.db.read((tx) => countRequests(tx, id));
      const drafts = requested === 1 ? '1 draft of a past release' : `${requested} drafts of past releases`;
      return redirect(
        `${base}/integrations/${integration.id}/triggers/${id}`,
        `Trigger created. It acts on new events from now on.${requested === 0 ? '' : ` ${drafts} will follow.`}`,
      );
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      return showForm(visit, form, error);
    }
  }),
];

/** The triggers of an integration. */
export const triggers: readonly Page[] = [...newTrigger, triggerPage, ...changes];

async function showForm(visit: MemberVisit, form: URLSearchParams, error?: AppError): Promise<View> {
  const { base } = visit;
  const integration = await requireIntegration(visit);
  const kind = requireKind(integration.type, form.get('event'));
  const contentType = contentTypeOf(form.get('contentType'));
  const repositoryIds = integration.repositories.map(({ id }) => id);
  const releases =
    kind.event === 'release'
      ? await visit.deps.db.read((tx) => listReleases(tx, integration.id, repositoryIds))
      : [];
  return view(
    'New trigger',
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> /{' '}
        <a href={`${base}/integrations/${integration.id}`}>{integrationName(integration)}</a>
      </p>
      <h1>New trigger</h1>
      <p class="lede">
        {eventWords[kind.event]} become {contentsWords[contentType]}.
      </p>
      <TriggerForm
        kind={kind}
        contentType={contentType}
        path={`${base}/integrations/${integration.id}/triggers`}
        form={form}
        problem={problemOf(error)}
        submit="Create trigger"
        canRequestLast={releases.length > 0}
      >
        <input type="hidden" name="event" value={kind.event} />
        <input type="hidden" name="contentType" value={contentType} />
        <Repository integration={integration} value={form.get('repository') ?? ''} />
      </TriggerForm>
    </>,
    { section: 'integrations', ...(error === undefined ? {} : { status: error.status }) },
  );
}

function Repository({ integration: { repositories }, value }: { integration: Integration; value: string }) {
  if (repositories.length < 2) return null;
  const all = repositories.map(({ id, fullName }) => ({ value: id, label: fullName }));
  return (
    <Select
      label="Repository"
      name="repository"
      value={value}
      options={[{ value: '', label: 'All repositories' }, ...all]}
    />
  );
}

function requireKind(provider: IntegrationType, event: string | null) {
  const kind = kindOf(provider, event);
  if (kind === null) throw new AppError(400, 'Choose an event from the list.');
  return kind;
}
