import { Type } from '@sinclair/typebox';
import { describeFilters, kinds, listTriggers } from '../../../drafting/triggers/model.ts';
import { draftCompare } from '../../../intake/history/compare.ts';
import { findProvider } from '../../../intake/history/service.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { sourceName } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { cutLine } from '../../../lib/text.ts';
import { contentTypeRules, contentTypes } from '../../../posts/model.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import { choiceOf, readFields } from '../../fields.ts';
import { type Answer, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { once } from '../../submission.ts';
import { counted, Link } from '../../view/elements.tsx';
import { Field, FormOf, Select } from '../../view/form.tsx';
import { repositoryField } from '../history.tsx';
import { problemOf } from '../integrations/subpage.tsx';
import { eventWords } from '../triggers/list.tsx';
import { withinTime } from '../triggers/preview.tsx';
import { typeOptions } from './words.tsx';

const PATH = '/dashboard/:organizationId/posts/~/compare';

/** The triggers that the form offers; `tidings draft --trigger` takes any. */
const MAX_OFFERED = 50;

const MAX_LABEL_LENGTH = 160;

const CompareForm = Type.Object({
  repository: repositoryField,
  range: Type.String({
    label: 'Range',
    placeholder: 'v1.2.0..v1.3.0',
    hint: 'Two tags, branches or commits.',
  }),
  contentType: Type.Optional(choiceOf(contentTypes, { label: 'Content type' })),
  trigger: Type.String({
    label: 'Templates and rules',
    subject: 'The trigger',
    hint: 'Choose a trigger of the repository to use its templates, filters and rules.',
    isOptional: true,
  }),
});

export const routes: readonly Page[] = [
  get(PATH, 'owner', (visit) => showForm(visit)),
  post(PATH, 'owner', makeDraft),
];

async function makeDraft(visit: MemberVisit): Promise<Answer> {
  const { deps, organization, form, request } = visit;
  deps.extendTimeout?.(request);
  try {
    const { trigger, ...fields } = readFields(CompareForm, form);
    const triggerId = trigger || undefined;
    const type = await findProvider(deps, organization.id, fields.repository);
    const made = await once(deps, form.get('mark'), () =>
      draftCompare(deps, withinTime(deps.compose), {
        ...{ type, organizationId: organization.id, triggerId },
        ...fields,
      }),
    );
    if (made === null) return redirect('posts', 'This form was already submitted. There is one draft of it.');
    const { post: draft, leftOut } = made;
    const more = leftOut.length === 0 ? '' : ` ${counted(leftOut.length, 'change')} left out.`;
    return redirect(`posts/${draft.id}`, `Draft written from ${counted(made.commits, 'commit')}.${more}`);
  } catch (error) {
    if (error instanceof ProviderProblem) return showForm(visit, new AppError(400, problemOf(visit, error)));
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return showForm(visit, error);
  }
}

async function triggerOptions({ deps, organization }: MemberVisit, repository: string) {
  const organizationId = organization.id;
  const { integrations, triggers } = await deps.db.read(async (tx) => ({
    integrations: await listIntegrations(tx, organizationId),
    triggers: await listTriggers(tx, { organizationId }),
  }));
  const byId = new Map(integrations.map((integration) => [integration.id, integration]));
  const options = triggers.flatMap(({ id, integrationId, repositoryId, event, enabled, ...trigger }) => {
    const integration = byId.get(integrationId);
    if (integration === undefined || !kinds[event].isOfBranch) return [];
    const own = integration.repositories.filter((each) => repositoryId === null || each.id === repositoryId);
    const name = sourceName(integration, repositoryId);
    const posts = contentTypeRules[trigger.contentType].name;
    const state = enabled ? [] : ['disabled'];
    const facts = [name, ...state, eventWords[event], posts, describeFilters(trigger.filters)];
    const isOfThis = own.some(({ fullName }) => fullName === repository);
    return [{ value: id, label: cutLine(facts.join(' · '), MAX_LABEL_LENGTH), isOfThis }];
  });
  return options.sort((one, other) => Number(other.isOfThis) - Number(one.isOfThis)).slice(0, MAX_OFFERED);
}

async function showForm(visit: MemberVisit, error?: AppError) {
  const { form, url } = visit;
  const repository = form.get('repository') ?? url.searchParams.get('repository') ?? '';
  const values = form.size > 0 ? form : { repository };
  const options = await triggerOptions(visit, repository);
  return view(
    {
      title: 'Draft the changes between two tags',
      crumbs: [{ to: 'posts', label: 'Posts' }],
      facts: (
        <>
          They become one draft. Nothing is published. For one change,{' '}
          <Link to="triggers/request">preview a pull request</Link>.
        </>
      ),
      error,
    },
    <FormOf
      schema={CompareForm}
      {...{
        values,
        error,
        to: 'posts/~/compare',
        button: 'Create draft',
        busy: 'Reading changes…',
        isOnce: true,
      }}
      arrange={({ repository, range, contentType, trigger }) => (
        <>
          <Field {...repository} />
          <div class="pair-fields">
            <Field {...range} />
            <Select {...contentType} options={typeOptions} all="From the trigger, or changelog" />
          </div>
          <Select {...trigger} options={options} all="Built-in" />
        </>
      )}
    />,
  );
}
