import { listPostsOfTrigger } from '../../../drafting/store.ts';
import { listRuns } from '../../../drafting/triggers/queue-store.ts';
import { scriptAsset } from '../../../http/look/assets.ts';
import { stopHistory } from '../../../intake/history/service.ts';
import { getHistory } from '../../../intake/history/store.ts';
import { getIntegration } from '../../../integrations/store.ts';
import type { OwnedPost } from '../../../posts/model.ts';
import { type BulkResult, changePosts, MAX_POSTS } from '../../../posts/service.ts';
import script from '../../client/history.client.js' with { type: 'text' };
import { fragment, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { counted, Link, LinkButton, Status, useVisit, When } from '../../view/elements.tsx';
import { Action, Danger } from '../../view/form.tsx';
import { dateColumn, statusColumn, Table } from '../../view/list.tsx';
import { describeBulk } from '../posts/list.tsx';
import { describeRequest } from './list.tsx';

// An import of releases: how far it is, and the drafts that it wrote.

const historyScript = scriptAsset('history.js', script);

const PATH = '/dashboard/:organizationId/import/:historyId';

/** How many posts the page lists. */
const MAX_LISTED = 20;

/** More than a repository has releases. */
const MAX_DRAFTS = 100_000;

/** How often a browser without scripts loads the page again while something changes. */
const REFRESH_S = 3;

export const routes: readonly Page[] = [
  get(PATH, 'member', async (visit) => {
    const state = await readState(visit);
    const { base } = visit;
    const { history, name } = state;
    const path = `${base}/import/${history.id}`;
    const title = `Import of ${name}`;
    return view(
      {
        title,
        crumbs: [
          { to: 'integrations', label: 'Integrations' },
          { to: `integrations/${history.integrationId}`, label: name },
        ],
        facts: (
          <>
            {describeRequest(history)}, started <When at={history.createdAt} />
          </>
        ),
        ...(state.isMoving && { refresh: { seconds: REFRESH_S, to: path }, scripts: [historyScript] }),
      },
      <ImportState state={state} />,
    );
  }),
  get(`${PATH}/state`, 'member', async (visit) => fragment(<ImportState state={await readState(visit)} />)),
  post(`${PATH}/stop`, 'owner', async ({ deps, organization, params }) => {
    const { id, status } = await stopHistory(deps, organization.id, params.historyId ?? '');
    const done = status === 'stopped' ? 'Stopped. The drafts of what was read stay.' : undefined;
    return redirect(`import/${id}`, done);
  }),
  post(`${PATH}/publish`, 'member', async (visit) => {
    const { deps, organization, form } = visit;
    const { history } = await readState(visit);
    const drafts = { status: 'draft', limit: MAX_DRAFTS } as const;
    const { posts } = await deps.db.read((tx) => listPostsOfTrigger(tx, history, drafts));
    const ids = posts.map(({ id }) => id);
    const seenAt = form.get('seen');
    const isSeen = ({ updatedAt }: OwnedPost) => seenAt === null || updatedAt <= seenAt;
    const total: BulkResult = { changed: [], unchanged: 0, missing: 0, withoutText: 0, unseen: 0 };
    // Transactions of a hundred posts, so that nobody waits for all of them.
    for (let at = 0; at < ids.length; at += MAX_POSTS) {
      const some = ids.slice(at, at + MAX_POSTS);
      const result = await changePosts(deps, organization.id, some, 'publish', { needsText: true, isSeen });
      total.changed.push(...result.changed);
      for (const name of ['unchanged', 'missing', 'withoutText', 'unseen'] as const)
        total[name] += result[name];
    }
    return redirect(`import/${history.id}`, describeBulk('publish', total));
  }),
];

type State = Awaited<ReturnType<typeof readState>>;

async function readState({ deps, organization, params }: MemberVisit) {
  return deps.db.read(async (tx) => {
    const history = await getHistory(tx, organization.id, params.historyId ?? '');
    const { integrationId, repositoryId, triggerId } = history;
    const { repositories } = await getIntegration(tx, integrationId);
    const runs = (await listRuns(tx, { integrationId })).filter(
      (run) => run.triggerId === triggerId && run.scope.startsWith(`${repositoryId} `),
    );
    const isReading = history.status === 'queued';
    const isWriting = !isReading && runs.some(({ status }) => status === 'queued');
    return {
      history,
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

/** What changes while the import goes on. The script replaces it. */
function ImportState({ state }: { state: State }) {
  const { history, isMoving, isReading, error, drafts, all, name } = state;
  const { base, now, isOwner } = useVisit();
  const path = `${base}/import/${history.id}`;
  return (
    <div id="import" data-state={isMoving ? `${path}/state` : undefined}>
      <section class="card pad" aria-label="Progress">
        <p class="import-status" role="status" data-part="status">
          <Status status={tagOf(state)} />
          <span>{describeState(state)}</span>
        </p>
        <div data-part="work">
          {isMoving && <Bar {...state} />}
          {isReading && history.problem !== null && (
            <p class="hint">
              {history.problem} Reading continues <When at={new Date(history.dueAt).toISOString()} />.
              {isOwner ? ' To continue at once, import again with a token.' : ''}
            </p>
          )}
          {history.status === 'failed' && <p class="reason">{history.problem}</p>}
          {error !== null && <p class="reason">A post could not be written: {error}</p>}
          {isReading && isOwner ? <Action to={`${path}/stop`} label="Stop import" /> : null}
          {!isMoving && (
            <div class="bar">
              {drafts > 0 && <LinkButton to="posts?status=draft" label="Review drafts" kind="go" />}
              {drafts > 0 && (
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
              )}
              {isOwner ? (
                <LinkButton to={`import?repository=${encodeURIComponent(name)}`} label="Import again" />
              ) : null}
            </div>
          )}
        </div>
      </section>
      <div data-part="posts">
        {all.posts.length > 0 && !(isReading && history.problem === null) && (
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
        {!(isReading && history.problem === null) && all.totalItems > all.posts.length && (
          <p class="hint">
            These are the newest {all.posts.length} of {counted(all.totalItems, 'post')}.{' '}
            <Link to="posts">Show all posts</Link>
          </p>
        )}
      </div>
    </div>
  );
}

/** Without a known total, the bar has no value. */
function Bar({ history: { found, releases }, isWriting, all }: State) {
  if (isWriting)
    return <progress max={Math.max(found, 1)} value={Math.min(all.totalItems, found)} aria-label="Drafts" />;
  return releases === null ? (
    <progress aria-label="Releases" />
  ) : (
    <progress max={releases} value={found} aria-label="Releases" />
  );
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
    return isLater
      ? `${releases} found. Reading the pull requests of those without notes.`
      : `${releases} found.`;
  }
  if (isWriting) return `Writing drafts of ${releases}: ${all.totalItems.toLocaleString('en')} written.`;
  if (status === 'done' && found === 0) return 'The repository has no releases in this range.';
  const toReview = drafts === 0 ? 'No drafts to review.' : `${counted(drafts, 'draft')} to review.`;
  return `${releases} read. ${toReview}`;
}
