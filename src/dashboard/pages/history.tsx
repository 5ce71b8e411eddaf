import { type Static, Type } from '@sinclair/typebox';
import { listPostsOfTrigger } from '../../drafting/store.ts';
import { listRuns } from '../../drafting/triggers/queue-store.ts';
import { scriptAsset } from '../../http/look/assets.ts';
import { findProvider, readableProviders, startHistory, stopHistory } from '../../intake/history/service.ts';
import { getHistory, type History } from '../../intake/history/store.ts';
import { getIntegration, type Integration, listHistoryOnly } from '../../integrations/store.ts';
import { AppError } from '../../lib/app-error.ts';
import { DAY_MS, formatDay } from '../../lib/time.ts';
import { contentTypes, type OwnedPost } from '../../posts/model.ts';
import { changePosts } from '../../posts/service.ts';
import { ProviderProblem } from '../../providers/api.ts';
import { listProviders, providerOf } from '../../providers/index.ts';
import script from '../client/history.client.js' with { type: 'text' };
import { choiceOf, readFields } from '../fields.ts';
import { type Answer, fragment, get, type MemberVisit, type Page, post, redirect, view } from '../page.ts';
import { once } from '../submission.ts';
import { counted, Link, LinkButton, More, Section, Status, useVisit, When } from '../view/elements.tsx';
import { Action, Danger, Field, FormOf, Select } from '../view/form.tsx';
import { dateColumn, statusColumn, Table } from '../view/list.tsx';
import { problemOf } from './integrations/subpage.tsx';
import { describeBulk } from './posts/list.tsx';
import { typeOptions } from './posts/words.tsx';

const historyScript = scriptAsset('history.js', script);

const PATH = '/dashboard/:organizationId/import';

const MAX_LISTED = 20;

/** More than a repository has releases. */
const MAX_DRAFTS = 100_000;

/** How often a browser without scripts loads the page again while something changes. */
const REFRESH_S = 3;

const spanNames = ['newest20', 'newest100', 'year', 'all'] as const;

/** How far back, by the value of the field. */
const spans: Readonly<
  Record<(typeof spanNames)[number], { label: string; releases?: number; days?: number }>
> = {
  newest20: { label: '20 newest releases', releases: 20 },
  newest100: { label: '100 newest releases', releases: 100 },
  year: { label: 'Releases of the last year', days: 365 },
  all: { label: 'All releases' },
};

export const repositoryField = Type.String({
  label: 'Repository',
  // The provider's sentences are whole.
  subject: '',
  placeholder: 'acme/rocket',
  hint: `OWNER/NAME, or the URL at ${listProviders('or', readableProviders)}`,
});

const ImportForm = Type.Object({
  repository: repositoryField,
  contentType: choiceOf(contentTypes, { label: 'Content type', default: contentTypes[0] }),
  span: choiceOf(spanNames, { label: 'How far back', default: spanNames[0] }),
  token: Type.String({
    label: 'Token',
    subject: '',
    inputType: 'password',
    isOptional: true,
    hint: 'For a private repository. The token needs read access to its contents and pull requests. It is kept encrypted.',
  }),
});

export const routes: readonly Page[] = [
  get(PATH, 'owner', async () => showImport()),
  post(PATH, 'owner', startImport),

  get(`${PATH}/:historyId`, 'member', async (visit) => {
    const state = await readState(visit);
    const { history, name, isMoving } = state;
    return view(
      {
        title: `Import of ${name}`,
        crumbs: [
          { to: 'integrations', label: 'Integrations' },
          { to: `integrations/${history.integrationId}`, label: name },
        ],
        facts: (
          <>
            {describeRequest(history, visit.look.zone)}, started <When at={history.createdAt} />
          </>
        ),
        ...(isMoving && {
          refresh: { seconds: REFRESH_S, to: `${visit.base}/import/${history.id}` },
          scripts: [historyScript],
        }),
      },
      <ImportState {...state} />,
    );
  }),
  get(`${PATH}/:historyId/state`, 'member', async (visit) =>
    fragment(<ImportState {...(await readState(visit))} />),
  ),
  post(`${PATH}/:historyId/stop`, 'owner', async ({ deps, organization, params }) => {
    const { id, status } = await stopHistory(deps, organization.id, params.historyId ?? '');
    const done = status === 'stopped' ? 'Import stopped. The drafts that it wrote stay.' : undefined;
    return redirect(`import/${id}`, done);
  }),
  post(`${PATH}/:historyId/publish`, 'publisher', async (visit) => {
    const { deps, organization, form } = visit;
    const { history } = await readState(visit);
    const drafts = { status: 'draft', limit: MAX_DRAFTS } as const;
    const { posts } = await deps.db.read((tx) => listPostsOfTrigger(tx, history, drafts));
    const ids = posts.map(({ id }) => id);
    const seenAt = form.get('seen');
    const isSeen = ({ updatedAt }: OwnedPost) => seenAt === null || updatedAt <= seenAt;
    const result = await changePosts(deps, organization.id, ids, 'publish', isSeen);
    return redirect(`import/${history.id}`, describeBulk('publish', result));
  }),
];

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

  async function start({ repository, contentType, span, token }: Static<typeof ImportForm>) {
    const { releases, days } = spans[span];
    const now = deps.clock.now().getTime();
    return startHistory(deps, {
      type: await findProvider(deps, organization.id, repository),
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
function describe(visit: MemberVisit, problem: ProviderProblem): AppError {
  const sentence = problemOf(visit, problem);
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
  return (
    <FormOf
      schema={ImportForm}
      values={form.size > 0 ? form : { repository: url.searchParams.get('repository') ?? '' }}
      {...{ error, to: 'import', button: 'Import releases', busy: 'Finding repository…', isOnce: true }}
      arrange={({ repository, contentType, span, token }, problem) => (
        <>
          <Field {...repository} />
          <div class="pair-fields">
            <Select {...contentType} options={typeOptions} />
            <Select {...span} options={spanNames.map((value) => ({ value, label: spans[value].label }))} />
          </div>
          <More label="Private repository" isOpen={problem !== null}>
            <Field {...token} />
          </More>
        </>
      )}
    />
  );
}

function describeRequest({ releases, since }: Pick<History, 'releases' | 'since'>, zone: string): string {
  if (releases !== null) return releases === 1 ? 'Newest release' : `${releases} newest releases`;
  return since === null ? 'All releases' : `Releases since ${formatDay(since, zone)}`;
}

export function Imports(props: { integration: Integration; histories: readonly History[] }) {
  const { repositories } = props.integration;
  const { isOwner, look } = useVisit();
  const nameOf = (id: string) => repositories.find((each) => each.id === id)?.fullName;
  const [only, ...others] = repositories;
  const query =
    only === undefined || others.length > 0 ? '' : `?repository=${encodeURIComponent(only.fullName)}`;
  return (
    <Section id="imports" title="Imports">
      {props.histories.length === 0 ? (
        <p class="hint">Past releases can become drafts too, each with its own date.</p>
      ) : (
        <ul class="card rows">
          {props.histories.map((history) => (
            <li>
              <Status status={history.status === 'queued' ? 'reading' : history.status} />
              <Link class="grow any" to={`import/${history.id}`}>
                {describeRequest(history, look.zone)}
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
      <div class="bar">
        {isOwner && (
          <>
            <LinkButton to={`import${query}`} label="Import releases" />
            <LinkButton to={`posts/~/compare${query}`} label="Draft the changes between two tags" />
          </>
        )}
        <LinkButton to={`triggers/request${query}`} label="Preview a pull request" />
      </div>
    </Section>
  );
}

type State = Awaited<ReturnType<typeof readState>>;

async function readState({ deps, organization, params }: MemberVisit) {
  return deps.db.read(async (tx) => {
    const history = await getHistory(tx, organization.id, params.historyId ?? '');
    const { integrationId, repositoryId, triggerId } = history;
    const integration = await getIntegration(tx, integrationId);
    const { repositories } = integration;
    const runs = (await listRuns(tx, { integrationId })).filter(
      (run) => run.triggerId === triggerId && run.scope.startsWith(`${repositoryId} `),
    );
    const isReading = history.status === 'queued';
    const isWriting = !isReading && runs.some(({ status }) => status === 'queued');
    return {
      history,
      integration,
      isHistoryOnly: (await listHistoryOnly(tx, [integration])).has(integrationId),
      name: repositories.find(({ id }) => id === repositoryId)?.fullName ?? 'a repository',
      isReading,
      isWriting,
      isMoving: isReading || isWriting,
      error: runs.find((run) => run.error !== null)?.error ?? null,
      drafts: (await listPostsOfTrigger(tx, history, { status: 'draft', limit: 1 })).totalItems,
      all: await listPostsOfTrigger(tx, history, { limit: MAX_LISTED }),
    };
  });
}

/** The part that changes while the import goes on. The script replaces it. */
function ImportState(state: State) {
  const { history, isMoving, isReading, error, drafts, all, name } = state;
  const { base, now, isOwner } = useVisit();
  const path = `import/${history.id}`;
  const isFresh = isReading && history.problem === null;
  return (
    <div id="import" data-state={isMoving ? `${base}/${path}/state` : undefined}>
      <section class="card pad" aria-label="Progress">
        <p class="import-status" role="status" data-part="status">
          <Status status={tagOf(state)} />
          <span>{describeState(state)}</span>
        </p>
        <div data-part="work">
          {isMoving && <Bar {...state} />}
          {isReading && history.problem !== null && (
            <p class="hint">
              {history.problem} Reading continues <When at={history.dueAt} />.
            </p>
          )}
          {history.status === 'failed' && <p class="reason">{history.problem}</p>}
          {error !== null && <p class="reason">A post could not be written: {error}</p>}
          {isReading && isOwner && <Action to={`${path}/stop`} label="Stop import" />}
          {!isMoving && (
            <div class="bar">
              {drafts > 0 && (
                <>
                  <LinkButton to="posts?status=draft" label="Review drafts" kind="go" />
                  <Danger
                    to={`${path}/publish`}
                    label={drafts === 1 ? 'Publish draft' : `Publish all ${drafts.toLocaleString('en')}`}
                    button={`Publish ${counted(drafts, 'post')}`}
                    busy="Publishing…"
                    seen={now.toISOString()}
                    isMild
                    isButton
                  >
                    Publishes {drafts === 1 ? 'the draft' : `all ${counted(drafts, 'draft')}`} of {name}, each
                    with the date of its release.
                  </Danger>
                </>
              )}
              {isOwner && (
                <LinkButton to={`import?repository=${encodeURIComponent(name)}`} label="Import again" />
              )}
            </div>
          )}
          {!isMoving && state.isHistoryOnly && <NotConnected {...state} />}
        </div>
      </section>
      <div data-part="posts">
        {all.posts.length > 0 && !isFresh && (
          <Table
            caption="Posts of this repository, newest first"
            kind="posts"
            rows={all.posts}
            columns={[
              statusColumn,
              {
                title: 'Title',
                class: 'title',
                cell: ({ id, title }) => (
                  <Link class="ellipsis" to={`posts/${id}`} title={title}>
                    {title}
                  </Link>
                ),
              },
              dateColumn(),
            ]}
          />
        )}
        {!isFresh && all.totalItems > all.posts.length && (
          <p class="hint">
            These are the newest {all.posts.length} of {counted(all.totalItems, 'post')}.{' '}
            <Link to="posts">Show all posts</Link>
          </p>
        )}
      </div>
    </div>
  );
}

/** Offers both ways for the releases to come. */
function NotConnected({ integration: { id, type }, name }: State) {
  const { isOwner, organization } = useVisit();
  const { api, reader } = providerOf(type);
  return (
    <div class="note" id="next-releases">
      <p>
        <strong>New releases of {name} do not arrive yet.</strong> The import read only past releases.{' '}
        {isOwner ? 'Choose how the next ones arrive:' : `Ask an owner of ${organization.name} to connect it.`}
      </p>
      {isOwner && (
        <div class="bar">
          {api !== null && <LinkButton to={`integrations/${id}/token`} label="Connect webhook" />}
          {api === null && <LinkButton to={`integrations/${id}#hooks`} label="Set up webhook" />}
          {reader !== null && <LinkButton to={`integrations/${id}/polling`} label="Use polling" />}
          {reader !== null && <span class="dim">Polling needs no public address.</span>}
        </div>
      )}
    </div>
  );
}

/** Without a known total, the bar has no value. */
function Bar({ history: { found, releases }, isWriting, all }: State) {
  if (isWriting)
    return <progress max={Math.max(found, 1)} value={Math.min(all.totalItems, found)} aria-label="Drafts" />;
  const known = releases === null ? {} : { max: releases, value: found };
  return <progress {...known} aria-label="Releases" />;
}

function tagOf({ history: { status, problem }, isReading, isWriting, error }: State): string {
  if (isReading) return problem === null ? 'reading' : 'paused';
  if (isWriting && error === null) return 'writing';
  return status === 'done' && error !== null ? 'failed' : status;
}

function describeState({ history, isReading, isWriting, drafts, all }: State): string {
  const { found, cursor, status } = history;
  const releases = counted(found, 'release');
  if (isReading) {
    const isLater = cursor !== null && cursor.phase !== 'releases';
    return `${releases} found.${isLater ? ' Reading the pull requests of those without notes.' : ''}`;
  }
  if (isWriting) return `Writing drafts of ${releases}: ${all.totalItems.toLocaleString('en')} written.`;
  if (status === 'done' && found === 0) return 'The repository has no releases in this range.';
  const toReview = drafts === 0 ? 'No drafts to review.' : `${counted(drafts, 'draft')} to review.`;
  return `${releases} read. ${toReview}`;
}
