import { type Static, Type } from '@sinclair/typebox';
import { providerOfRepository, readableProviders, startHistory } from '../../../intake/history/service.ts';
import type { History } from '../../../intake/history/store.ts';
import type { Integration } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { contentTypes } from '../../../posts/model.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import { listProviders } from '../../../providers/index.ts';
import { formState, readFields } from '../../fields.ts';
import { type Answer, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { once } from '../../submission.ts';
import { Link, LinkButton, More, Section, Status, useVisit, When } from '../../view/elements.tsx';
import { Field, Form, Select } from '../../view/form.tsx';
import { problemOf } from '../integrations/subpage.tsx';
import { typeOptions } from '../posts/toolbar.tsx';

/** Such as "20 newest releases". */
export function describeRequest({ releases, since }: Pick<History, 'releases' | 'since'>): string {
  if (releases !== null) return releases === 1 ? 'Newest release' : `${releases} newest releases`;
  return since === null ? 'All releases' : `Releases since ${since.slice(0, 10)}`;
}

/** The newest imports of an integration's repositories. */
export function Imports(props: { integration: Integration; histories: readonly History[] }) {
  const { histories } = props;
  const { repositories } = props.integration;
  const { isOwner } = useVisit();
  const nameOf = (id: string) => repositories.find((each) => each.id === id)?.fullName;
  const [only, ...others] = repositories;
  const query =
    only === undefined || others.length > 0 ? '' : `?repository=${encodeURIComponent(only.fullName)}`;
  return (
    <Section id="imports" title="Imports">
      {histories.length === 0 ? (
        <p class="hint">Past releases can become drafts too, each with its own date.</p>
      ) : (
        <ul class="card rows">
          {histories.map((history) => (
            <li>
              <Status status={history.status === 'queued' ? 'reading' : history.status} />
              <Link class="grow any" to={`import/${history.id}`}>
                {describeRequest(history)}
                {others.length === 0 ? '' : ` of ${nameOf(history.repositoryId)}`}:{' '}
                {history.found.toLocaleString('en')} read
              </Link>
              <span class="dim">
                <When at={history.createdAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {isOwner ? (
        <div class="bar">
          <LinkButton to={`import${query}`} label="Import releases" />
        </div>
      ) : null}
    </Section>
  );
}

// The form that imports the past releases of a repository: a page of its own, and the first of the first steps.

const PATH = '/dashboard/:organizationId/import';

export const routes: readonly Page[] = [
  get(PATH, 'owner', async () => showImport()),
  post(PATH, 'owner', startImport),
];

const spanNames = ['newest20', 'newest100', 'year', 'all'] as const;
type Span = (typeof spanNames)[number];

/** How far back, by the value of the field. */
const spans: Readonly<Record<Span, { label: string; releases?: number; days?: number }>> = {
  newest20: { label: '20 newest releases', releases: 20 },
  newest100: { label: '100 newest releases', releases: 100 },
  year: { label: 'Releases of the last year', days: 365 },
  all: { label: 'All releases' },
};

const ImportForm = Type.Object({
  repository: Type.String({
    label: 'Repository',
    // The provider's sentences are whole.
    subject: '',
    hint: `OWNER/NAME, or the URL at ${listProviders('or', readableProviders)}`,
  }),
  contentType: Type.Union(
    contentTypes.map((each) => Type.Literal(each)),
    { label: 'Content type', default: contentTypes[0] },
  ),
  span: Type.Union(
    spanNames.map((each) => Type.Literal(each)),
    { label: 'How far back', default: spanNames[0] },
  ),
  token: Type.String({
    label: 'Token',
    subject: '',
    inputType: 'password',
    hint: 'For a private repository. The token needs read access to its contents and pull requests. It is kept encrypted.',
  }),
});

type ImportFields = Static<typeof ImportForm>;

async function startImport(visit: MemberVisit): Promise<Answer> {
  const { deps, organization, form } = visit;
  try {
    const fields = readFields(ImportForm, form);
    if (fields.repository.trim() === '')
      throw invalid('repository', 'Enter a repository, such as acme/rocket.');
    const history = await once(deps, form.get('mark'), () => start(fields));
    return history === null
      ? redirect('integrations', 'This form was already submitted. Nothing else was imported.')
      : redirect(`import/${history.id}`);
  } catch (error) {
    if (error instanceof ProviderProblem) return showImport(describe(visit, error));
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return showImport(error.status === 404 ? new AppError(400, error.message) : error);
  }

  function start({ repository, contentType, span, token }: ImportFields) {
    const { releases, days } = spans[span];
    const now = deps.clock.now().getTime();
    return startHistory(deps, {
      type: providerOfRepository(deps, repository),
      organizationId: organization.id,
      ...{ repository, contentType, releases },
      since: days === undefined ? undefined : new Date(now - days * DAY_MS),
      publish: false,
      token: token.trim() === '' ? undefined : token,
    });
  }
}

const invalid = (field: string, sentence: string) =>
  new AppError(400, sentence, { code: 'invalid_field', fields: { [field]: sentence } });

/** The provider's problem beside the field that it is about. */
function describe({ deps, form }: MemberVisit, problem: ProviderProblem): AppError {
  const type = providerOfRepository(deps, form.get('repository') ?? '');
  const sentence = problemOf(problem, type);
  if (problem.kind === 'place-not-found') return invalid('repository', sentence);
  if (problem.kind === 'bad-token' || problem.kind === 'missing-permission')
    return invalid('token', sentence);
  return new AppError(400, sentence);
}

function showImport(error?: AppError) {
  return view(
    {
      title: 'Import releases',
      crumbs: [{ to: 'integrations', label: 'Integrations' }],
      facts: 'Each past release becomes a draft with the date of the release. Nothing is published.',
      error,
    },
    <ImportReleases error={error} />,
  );
}

export function ImportReleases({ error }: { error?: AppError | undefined }) {
  const { form, url } = useVisit();
  const given = form.size > 0 ? form : { repository: url.searchParams.get('repository') ?? '' };
  const { fields, problem } = formState(ImportForm, given, error);
  const { repository, contentType, span, token } = fields;
  return (
    <Form to="import" problem={problem} button="Import releases" busy="Finding repository…" isOnce>
      <Field {...repository} placeholder="acme/rocket" />
      <div class="pair-fields">
        <Select {...contentType} id="field-contentType" options={typeOptions} />
        <Select
          {...span}
          id="field-span"
          options={spanNames.map((value) => ({ value, label: spans[value].label }))}
        />
      </div>
      <More label="Private repository" isOpen={problem !== null}>
        <Field {...token} required={false} />
      </More>
    </Form>
  );
}
