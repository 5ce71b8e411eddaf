import type { VNode } from 'preact';
import { changing, integration as integrationKey } from '../../../../db/engine.ts';
import { builtInTemplates } from '../../../drafting/starters.ts';
import { kinds } from '../../../drafting/triggers/kinds/index.ts';
import { describeFilters, findTrigger, type Trigger } from '../../../drafting/triggers/model.ts';
import { listRuns, retryRuns } from '../../../drafting/triggers/queue-store.ts';
import { MAX_STREAMED_DELIVERIES, streamRehearsal } from '../../../drafting/triggers/rehearse.ts';
import {
  changeTrigger,
  deleteTrigger,
  restoreTemplates,
  switchTrigger,
} from '../../../drafting/triggers/service.ts';
import { getIntegration } from '../../../integrations/store.ts';
import { integrationName } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { DAY_MS } from '../../../lib/time.ts';
import type { PostVersion } from '../../../posts/version-store.ts';
import { editForm, editState, NoFields, openedWith, seenOf } from '../../edit.ts';
import { get, type MemberVisit, type Page, post, redirect } from '../../page.ts';
import { Streamed, view } from '../../view/document.tsx';
import { counted, LinkButton, Status } from '../../view/elements.tsx';
import { Action, Danger } from '../../view/form.tsx';
import { Facts, PageHead } from '../../view/layout.tsx';
import { useVisit, When } from '../../view/time.tsx';
import { crumbsOf } from '../integrations/subpage.tsx';
import { changedSince, noVersion, showHistory, undoPath } from '../posts/versions.tsx';
import { assistanceIn, editorPage, typedValues } from './editor.tsx';
import { changesOf, editable, ruleLabels, ruleOf, TriggerForm, valuesOf } from './form.tsx';
import { describePosts, eventWords, Runs } from './list.tsx';
import { MAX_SHOWN, previewFragment, renderPreview, trialPost, whyNoPost, withinTime } from './preview.tsx';

/** How far back a rehearsal goes. */
const DAYS = 30;

/** With `?rehearse`, the place of the posts that the trigger would have made, which `rehearsedPosts` streams. */
function Rehearsal({ path }: { path: string }) {
  const { url } = useVisit();
  return (
    <section aria-labelledby="rehearsal">
      <h2 id="rehearsal">Rehearsal</h2>
      <p class="hint">
        See the posts that this trigger would have created from the deliveries of the last {DAYS} days, at
        most the newest {MAX_STREAMED_DELIVERIES.toLocaleString('en')}. Nothing is saved.
      </p>
      {isRehearsed(url) ? (
        <Streamed />
      ) : (
        <p>
          <LinkButton to={`${path}?rehearse=yes#rehearsal`} label="Rehearse" />
        </p>
      )}
    </section>
  );
}

const isRehearsed = (url: URL) => url.searchParams.has('rehearse');

/** The pieces of a page with a `Rehearsal`; undefined when it shows none. */
function rehearsalOf(visit: MemberVisit, trigger: Trigger): AsyncIterable<VNode> | undefined {
  return isRehearsed(visit.url) ? rehearse(visit, trigger) : undefined;
}

async function* rehearse({ deps, request }: MemberVisit, { id }: Trigger): AsyncGenerator<VNode> {
  const now = deps.clock.now();
  const since = new Date(now.getTime() - DAYS * DAY_MS);
  const options = { since, limit: MAX_SHOWN, signal: request.signal };
  let isAnnounced = false;
  let shown = 0;
  try {
    const { total, posts } = await streamRehearsal(deps, withinTime(deps.compose), id, options);
    if (total === 0) yield <NoPosts />;
    isAnnounced = total > 1;
    if (isAnnounced) yield <p>{counted(total, 'post')}, newest first.</p>;
    for await (const post of posts) {
      yield await trialPost(deps, post);
      shown++;
    }
    if (total > MAX_SHOWN) yield <p class="hint">…and {total - MAX_SHOWN} older ones.</p>;
  } catch (error) {
    if (isAnnounced) yield <p>{shown === 0 ? 'None' : `Only ${shown}`} of these posts could be made:</p>;
    yield whyNoPost(error);
  }
}

const NoPosts = () => <p class="note">No posts. No delivery in the log matches this trigger.</p>;

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId';

/** The page of one trigger, and its changes. */
export const onePages: readonly Page[] = [
  get(PATH, 'member', (visit) => showTrigger(visit)),

  editForm(PATH, 'owner', TriggerForm, showTrigger, async (visit, values, merge) => {
    if (assistanceIn(visit.form) !== null) return showTrigger(visit);
    const { trigger, path } = await requireTrigger(visit);
    const hadFailed = await hasFailedRuns(visit, trigger);
    const kind = kinds[trigger.event];
    const { contentType = trigger.contentType, ...typed } = ruleOf(values, kind);
    const rule = editable({ ...typed, contentType }, kind);
    await changeTrigger(visit.deps, trigger.id, (stored) =>
      changesOf(merge.changes(rule, editable(stored, kind)), stored, kind),
    );
    const next = hadFailed ? 'Retrying its failed runs.' : 'Existing drafts change with their next event.';
    return redirect(path, `Trigger saved. ${next}`);
  }),

  get(`${PATH}/versions`, 'member', (visit) => showVersions(visit)),

  editForm(
    `${PATH}/versions/:versionId/restore`,
    'owner',
    NoFields,
    showVersions,
    async (visit, _, merge) => {
      const { trigger, path } = await requireTrigger(visit);
      const versionId = visit.params.versionId ?? '';
      const check = (stored: Trigger) => merge.requireSeen(templatesOf(stored));
      const restored = await restoreTemplates(visit.deps, trigger.id, versionId, check).catch((error) => {
        throw error instanceof AppError && error.code === 'version_not_found' ? noVersion() : error;
      });
      const { previousId } = restored;
      if (previousId === null) return redirect(path, 'The trigger already has these templates.');
      const undo = undoPath(`${path}/versions/${previousId}/restore`, templatesOf(restored.trigger));
      return redirect(path, 'Version restored.', undo);
    },
  ),

  post(`${PATH}/preview`, 'owner', async (visit) => {
    const { trigger } = await requireTrigger(visit);
    return previewFragment(visit, trigger, visit.form);
  }),

  ...(['enable', 'disable'] as const).map((name) =>
    post(`${PATH}/${name}`, 'owner', async (visit) => {
      const { trigger, path } = await requireTrigger(visit);
      await switchTrigger(visit.deps, trigger.id, name === 'enable');
      return redirect(
        path,
        name === 'enable' ? 'Trigger enabled.' : 'Trigger disabled. It creates no posts until you enable it.',
      );
    }),
  ),

  editForm(`${PATH}/delete`, 'owner', NoFields, showTrigger, async (visit, _, merge) => {
    const { trigger, integrationPath } = await requireTrigger(visit);
    const check = (stored: Trigger) => merge.requireSeen(editable(stored, kinds[stored.event]));
    await deleteTrigger(visit.deps, trigger.id, check);
    return redirect(integrationPath, 'Trigger deleted. Its posts stay.');
  }),

  post(`${PATH}/retry`, 'member', async (visit) => {
    const { db, clock } = visit.deps;
    const { trigger, path } = await requireTrigger(visit);
    const retried = await db.write(
      (tx) => retryRuns(tx, trigger.id, clock.now()),
      changing(integrationKey(trigger.integrationId)),
    );
    return redirect(path, retried === 0 ? 'Nothing to retry.' : 'Retrying now.');
  }),
];

export type FoundTrigger = Awaited<ReturnType<typeof requireTrigger>>;

async function hasFailedRuns({ deps }: MemberVisit, { id, integrationId }: Trigger): Promise<boolean> {
  const runs = await deps.db.read((tx) => listRuns(tx, { integrationId }));
  return runs.some(({ triggerId, error }) => triggerId === id && error !== null);
}

/** What a version holds. */
const templatesOf = ({
  contentType,
  titleTemplate,
  bodyTemplate,
}: Pick<Trigger, 'contentType' | 'titleTemplate' | 'bodyTemplate'>) => ({
  contentType,
  titleTemplate,
  bodyTemplate,
});

const ofVersions = {
  textOf: ({ title, markdown, contentType }: PostVersion) =>
    templatesOf({ contentType, titleTemplate: title || null, bodyTemplate: markdown || null }),
  words: { noun: 'trigger', labels: ruleLabels },
};

async function showVersions(visit: MemberVisit, error?: AppError) {
  const { trigger, integration, path } = await requireTrigger(visit);
  const title = eventWords[trigger.event];
  return showHistory(visit, {
    id: trigger.id,
    path,
    title,
    crumbs: [...crumbsOf(integration), { to: path, label: title }],
    noun: 'trigger',
    section: 'integrations',
    mayRestore: visit.role === 'owner',
    seen: seenOf(templatesOf(trigger)),
    ...(error && { error, problem: await changedSince(visit, trigger.id, error, ofVersions) }),
    note: null,
  });
}

/** The trigger of the path. Throws `AppError` 404, also for another organization's. */
async function requireTrigger({ deps, organization, params, base }: MemberVisit) {
  const { triggerId = '', integrationId } = params;
  return deps.db.read(async (tx) => {
    const trigger = await findTrigger(tx, triggerId);
    if (trigger?.organizationId !== organization.id || trigger.integrationId !== integrationId) {
      throw new AppError(404, 'Trigger not found. It may have been deleted.');
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

/** Shows the trigger as it is stored or, after a post, as it was typed. */
async function showTrigger(visit: MemberVisit, error?: AppError) {
  const found = await requireTrigger(visit);
  const { trigger, path } = found;
  const title = eventWords[trigger.event];
  if (visit.role !== 'owner') {
    const body = (
      <>
        <Head {...found} />
        <Templates {...found} />
        {await renderPreview(visit, found)}
        <Rehearsal path={path} />
      </>
    );
    return view(title, body, { section: 'integrations', error, pieces: rehearsalOf(visit, trigger) });
  }
  // The form of the button that deletes has no fields.
  const isDeleting = visit.url.pathname.endsWith('/delete');
  const isPosted = visit.request.method === 'POST' && !isDeleting;
  const rule = editable(trigger, kinds[trigger.event]);
  const fresh = openedWith(rule);
  const stored = new URLSearchParams({ contentType: trigger.contentType, ...valuesOf(trigger) });
  const values = isPosted ? typedValues(visit.form, trigger.event) : stored;
  return editorPage(
    visit,
    {
      trigger,
      values,
      error,
      to: path,
      button: 'Save trigger',
      edit: {
        ...(isDeleting ? fresh : editState(visit, rule, error)),
        noun: 'trigger',
        labels: ruleLabels,
      },
    },
    {
      title,
      head: (
        <>
          <Head {...found} />
          {error && isDeleting ? await changedSince(visit, trigger.id, error, ofVersions) : null}
        </>
      ),
      tail: (
        <>
          <Rehearsal path={path} />
          <DangerZone path={path} seen={fresh.seen} />
        </>
      ),
      pieces: rehearsalOf(visit, trigger),
    },
  );
}

function Head({ trigger, integration, runs, integrationPath, path }: FoundTrigger) {
  const { isOwner } = useVisit();
  const repository = integration.repositories.find(({ id }) => id === trigger.repositoryId);
  const [name, label] = trigger.enabled ? ['disable', 'Disable trigger'] : ['enable', 'Enable trigger'];
  return (
    <>
      <PageHead
        title={eventWords[trigger.event]}
        crumbs={crumbsOf(integration)}
        status={<Status status={trigger.enabled ? 'active' : 'disabled'} />}
        facts={describePosts(trigger)}
        actions={isOwner ? <Action to={`${path}/${name}`} label={label} /> : null}
      />
      <Facts
        kind="row"
        facts={[
          ['Source', repository?.fullName ?? integrationName(integration)],
          ['Filters', describeFilters(trigger.filters)],
          ['Created', <When at={trigger.createdAt} />],
          ['Versions', <a href={`${path}/versions`}>Version history</a>],
          ['Trigger ID', <code>{trigger.id}</code>],
        ]}
      />
      <Runs runs={runs} triggers={[trigger]} path={integrationPath} />
    </>
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

function DangerZone({ path, seen }: { path: string; seen: string }) {
  return (
    <section aria-labelledby="danger">
      <h2 id="danger">Danger zone</h2>
      <Danger label="Delete trigger" to={`${path}/delete`} button="Delete trigger" seen={seen}>
        This trigger creates no more posts. Its posts stay, without further updates. You can't undo this.
      </Danger>
    </section>
  );
}
