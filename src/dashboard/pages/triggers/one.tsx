import type { VNode } from 'preact';
import { changing, integration as integrationKey } from '../../../../db/engine.ts';
import { builtInTemplates } from '../../../drafting/starters.ts';
import { describeFilters, findTrigger, kinds, type Trigger } from '../../../drafting/triggers/model.ts';
import { listRuns, retryRuns } from '../../../drafting/triggers/queue-store.ts';
import { MAX_STREAMED_DELIVERIES, streamRehearsal } from '../../../drafting/triggers/rehearse.ts';
import {
  changeTrigger,
  deleteTrigger,
  restoreTemplates,
  switchTrigger,
} from '../../../drafting/triggers/service.ts';
import { getIntegration } from '../../../integrations/store.ts';
import { sourceName } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { DAY_MS } from '../../../lib/time.ts';
import type { PostVersion } from '../../../posts/versions.ts';
import { editState, openedWith, seenOf } from '../../edit.ts';
import { NoFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { editForm } from '../../submission.ts';
import { Streamed } from '../../view/document.tsx';
import { counted, Facts, LinkButton, More, Section, Status, useVisit, When } from '../../view/elements.tsx';
import { Action, Danger } from '../../view/form.tsx';
import { deliveriesScript } from '../deliveries/list.tsx';
import { changedSince, noVersion, showHistory, undoPath } from '../posts/versions.tsx';
import { assistanceIn, editorPage, typedValues } from './editor.tsx';
import { changesOf, editable, ruleLabels, ruleOf, TriggerForm, valuesOf } from './form.tsx';
import { crumbsOf, describePosts, eventWords, Runs } from './list.tsx';
import { MAX_SHOWN, previewFragment, renderPreview, trialPost, whyNoPost, withinTime } from './preview.tsx';

/** How far back a rehearsal goes. */
const DAYS = 30;

/** With `?rehearse`, the place of the posts that the trigger would have made, which `rehearsedPosts` streams. */
function Rehearsal({ path }: { path: string }) {
  const { url } = useVisit();
  return (
    <div id="rehearsal">
      <More label="Rehearsal" isOpen={isRehearsed(url)}>
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
      </More>
    </div>
  );
}

const isRehearsed = (url: URL) => url.searchParams.has('rehearse');

async function* rehearse({ deps, request }: MemberVisit, { id }: Trigger): AsyncGenerator<VNode> {
  const now = deps.clock.now();
  const since = new Date(now.getTime() - DAYS * DAY_MS);
  const options = { since, limit: MAX_SHOWN, signal: request.signal };
  let isAnnounced = false;
  let shown = 0;
  try {
    const { total, posts } = await streamRehearsal(deps, withinTime(deps.compose), id, options);
    if (total === 0) yield <p class="note">No posts. No delivery in the log matches this trigger.</p>;
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

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId';

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

  post(`${PATH}/retry`, 'publisher', async (visit) => {
    const { db, clock } = visit.deps;
    const { trigger, path } = await requireTrigger(visit);
    const retried = await db.write(
      (tx) => retryRuns(tx, trigger.id, clock.now()),
      changing(integrationKey(trigger.integrationId)),
    );
    return redirect(path, retried === 0 ? 'Nothing to retry.' : 'Retrying now.');
  }),
];

async function hasFailedRuns({ deps }: MemberVisit, { id, integrationId }: Trigger): Promise<boolean> {
  const runs = await deps.db.read((tx) => listRuns(tx, { integrationId }));
  return runs.some(({ triggerId, error }) => triggerId === id && error !== null);
}

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
    mayRestore: visit.isOwner,
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
  const { url, form, request, isOwner } = visit;
  const found = await requireTrigger(visit);
  const { trigger, integration, runs, integrationPath, path } = found;
  const [name, label] = trigger.enabled ? ['disable', 'Disable trigger'] : ['enable', 'Enable trigger'];
  const about = {
    title: eventWords[trigger.event],
    crumbs: crumbsOf(integration),
    tag: <Status status={trigger.enabled ? 'active' : 'disabled'} />,
    facts: describePosts(trigger, visit.organization),
    actions: isOwner && <Action to={`${path}/${name}`} label={label} />,
    error,
    scripts: [deliveriesScript],
    pieces: isRehearsed(url) ? rehearse(visit, trigger) : undefined,
  };
  const head = (
    <>
      <Facts
        kind="row"
        facts={[
          ['Source', sourceName(integration, trigger.repositoryId)],
          ['Filters', describeFilters(trigger.filters)],
          ['Created', <When at={trigger.createdAt} />],
          ['Versions', <a href={`${path}/versions`}>Version history</a>],
          ['Trigger ID', <code>{trigger.id}</code>],
        ]}
      />
      <Runs runs={runs} triggers={[trigger]} path={integrationPath} triggerId={trigger.id} />
    </>
  );
  const stored = new URLSearchParams({ contentType: trigger.contentType, ...valuesOf(trigger) });
  if (!isOwner) {
    // Members cannot change the templates.
    const builtIn = builtInTemplates(trigger.event, trigger.contentType);
    return view(
      about,
      head,
      <Section id="templates" title="Templates">
        <pre class="wrap">{trigger.titleTemplate ?? builtIn.title}</pre>
        <pre class="wrap">{trigger.bodyTemplate ?? builtIn.body}</pre>
      </Section>,
      await renderPreview(visit, trigger, path, stored),
      <Rehearsal path={path} />,
    );
  }
  // The form of the button that deletes has no fields.
  const isDeleting = url.pathname.endsWith('/delete');
  const isPosted = request.method === 'POST' && !isDeleting;
  const values = isPosted ? typedValues(form, trigger.event) : stored;
  const rule = editable(trigger, kinds[trigger.event]);
  const fresh = openedWith(rule);
  const state = isDeleting ? fresh : editState(visit, rule, error);
  const edit = { ...state, noun: 'trigger', labels: ruleLabels };
  return editorPage(
    visit,
    { trigger, values, error, to: path, button: 'Save trigger', edit },
    {
      about,
      head: (
        <>
          {head}
          {error && isDeleting && (await changedSince(visit, trigger.id, error, ofVersions))}
        </>
      ),
      tail: (
        <>
          <Rehearsal path={path} />
          <Section id="danger" title="Danger zone">
            <Danger label="Delete trigger" to={`${path}/delete`} button="Delete trigger" seen={fresh.seen}>
              This trigger creates no more posts. Its posts stay, without further updates. You can't undo
              this.
            </Danger>
          </Section>
        </>
      ),
    },
  );
}
