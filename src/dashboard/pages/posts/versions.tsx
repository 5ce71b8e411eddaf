import type { VNode } from 'preact';
import { compareTexts } from '../../../drafting/suggestions.ts';
import { AppError } from '../../../lib/app-error.ts';
import { type Actor, describeActor } from '../../../people/audit.ts';
import { contentTypeRules, type OwnedPost } from '../../../posts/model.ts';
import { restoreVersion } from '../../../posts/service.ts';
import { findVersion, listVersions, type PostVersion, type VersionHead } from '../../../posts/versions.ts';
import { type EditState, type Fields, mergeOf, seenOf } from '../../edit.ts';
import { NoFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { editForm } from '../../submission.ts';
import { ChangedSince, Difference, type EditWords } from '../../view/difference.tsx';
import { Columns, LinkButton, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { Empty } from '../../view/list.tsx';
import { crumbsOf, heldNotice, requirePost } from './suggestion.tsx';
import { editable, editWords, shown } from './words.tsx';

const VERSIONS = '/dashboard/:organizationId/posts/:postId/versions';

export const routes: readonly Page[] = [
  get(VERSIONS, 'member', (visit) => showVersions(visit)),

  // No confirmation: the text before is a version too, and the notice takes it back.
  editForm(`${VERSIONS}/:versionId/restore`, 'member', NoFields, showVersions, async (visit, _, merge) => {
    const { post, path } = await requirePost(visit);
    const versionId = visit.params.versionId ?? '';
    const check = (stored: OwnedPost) => merge.requireSeen(shown(stored));
    const restored = await restoreVersion(visit.deps, post.id, versionId, check).catch((error) => {
      throw error instanceof AppError && error.status === 404 ? noVersion() : error;
    });
    const { previousId, post: after } = restored;
    const held = after.status === 'published' ? await heldNotice(visit, after.id) : null;
    if (held !== null) return redirect(path, held);
    if (previousId === null) return redirect(path, 'The post already has this text.');
    return redirect(
      path,
      'Version restored.',
      undoPath(`${path}/versions/${previousId}/restore`, shown(after)),
    );
  }),
];

/** The path of an "Undo" that does nothing once somebody has changed these values. */
export const undoPath = (path: string, values: Fields) =>
  `${path}?seen=${encodeURIComponent(seenOf(values))}`;

/** The changes since a page was opened, for a button of it that did nothing. `textOf`: what the page shows of a version. */
export async function changedSince(
  visit: MemberVisit,
  id: string,
  error: AppError,
  { textOf, words }: { textOf: (version: PostVersion) => Fields; words: EditWords } = {
    textOf: editable,
    words: editWords,
  },
): Promise<VNode> {
  const { conflicts } = error.details as unknown as EditState;
  const { isSeen } = mergeOf(visit);
  const text = await visit.deps.db.read(async (tx) => {
    for (const head of await listVersions(tx, id)) {
      const version = await findVersion(tx, id, head.id);
      const text = version === null ? {} : textOf(version);
      if (version && Object.entries(text).every(([name, value]) => isSeen(name, value))) return text;
    }
    return {};
  });
  const status = conflicts.find(({ field }) => field === 'status')?.stored;
  const before: Fields = { ...(text as Fields), status: status === 'draft' ? 'published' : 'draft' };
  const known = conflicts.map((each) => ({ ...each, typed: before[each.field] }));
  return <ChangedSince conflicts={known} words={words} />;
}

export function noVersion(): AppError {
  return new AppError(404, 'Version not found. Tidings keeps the newest 100 versions.');
}

async function showVersions(visit: MemberVisit, error?: AppError) {
  const { post, path } = await requirePost(visit);
  return showHistory(visit, {
    id: post.id,
    path,
    title: post.title,
    crumbs: crumbsOf({ post, path }),
    noun: 'post',
    mayRestore: true,
    seen: seenOf(shown(post)),
    ...(error && { error, problem: await changedSince(visit, post.id, error) }),
    note:
      post.status === 'draft' || visit.organization.needsApproval
        ? null
        : 'This post is published: the API returns the restored text at once.',
  });
}

interface Subject {
  id: string;
  path: string;
  title: string;
  crumbs: readonly { to: string; label: string }[];
  noun: 'post' | 'trigger';
  mayRestore: boolean;
  /** The version of what a restored one replaces. */
  seen: string;
  note: string | null;
  error?: AppError;
  problem?: VNode;
}

export async function showHistory(visit: MemberVisit, subject: Subject) {
  const { deps, url } = visit;
  const { id, path, title, crumbs, noun } = subject;
  const wanted = url.searchParams.get('version');
  const { heads, version, before } = await deps.db.read(async (tx) => {
    const heads = await listVersions(tx, id);
    const index = wanted === null ? 0 : heads.findIndex(({ id }) => id === wanted);
    const find = async (head: VersionHead | undefined) =>
      head === undefined ? null : findVersion(tx, id, head.id);
    return { heads, version: await find(heads[index]), before: await find(heads[index + 1]) };
  });
  if (version === null && wanted !== null) throw noVersion();
  return view(
    { title: `Versions of ${title}`, error: subject.error, heading: 'Version history', crumbs: crumbs },
    subject.problem,
    version === null ? (
      <Empty>
        <p>No changes yet. Tidings keeps a version for each change of this {noun}.</p>
        <LinkButton to={path} label={`Open ${noun}`} />
      </Empty>
    ) : (
      <Columns details={<VersionList heads={heads} current={version} subject={subject} />}>
        <Version subject={subject} version={version} before={before} isNewest={version.id === heads[0]?.id} />
      </Columns>
    ),
  );
}

function VersionList(props: { heads: readonly VersionHead[]; current: PostVersion; subject: Subject }) {
  const { path, noun } = props.subject;
  return (
    <nav aria-label="Versions" class="card versions">
      <ol>
        {props.heads.map((head) => (
          <li>
            <a
              href={`${path}/versions?version=${head.id}`}
              aria-current={head.id === props.current.id ? 'page' : undefined}
            >
              <When at={head.updatedAt} />
              <span class="dim">{describeVersion(head, noun)}</span>
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function Version(props: {
  subject: Subject;
  version: PostVersion;
  before: PostVersion | null;
  isNewest: boolean;
}) {
  const { version, before, isNewest } = props;
  const { path, noun, mayRestore, seen, note } = props.subject;
  const hasChangedType = before !== null && before.contentType !== version.contentType;
  return (
    <section class="version" aria-labelledby="version">
      <div class="bar">
        <h2 class="grow" id="version">
          {describeVersion(version, noun)}
        </h2>
        {isNewest ? (
          <span class="dim">Current version</span>
        ) : mayRestore ? (
          <Action
            to={`${path}/versions/${version.id}/restore`}
            label="Restore version"
            kind="go"
            seen={seen}
          />
        ) : null}
      </div>
      {hasChangedType && (
        <p>
          Changed the type from {contentTypeRules[before.contentType].name} to{' '}
          {contentTypeRules[version.contentType].name}.
        </p>
      )}
      {before !== null && (
        <Difference
          label="Changes"
          lines={compareTexts(before, version)}
          otherwise={<a href={`${path}/versions?version=${before.id}`}>Open the version before</a>}
        />
      )}
      <details open={before === null}>
        <summary>Full text</summary>
        <p>
          <strong>{version.title || (noun === 'trigger' && 'Built-in title')}</strong>
        </p>
        <pre class="stored">{version.markdown || (noun === 'trigger' && 'Built-in body')}</pre>
      </details>
      {!isNewest && note !== null && <p class="hint">{note}</p>}
    </section>
  );
}

const actions: Readonly<Record<PostVersion['origin'], string>> = {
  edit: 'edited the',
  restore: 'restored an earlier version',
  suggestion: 'accepted a suggestion',
  trigger: 'updated the draft',
  import: 'imported a new version',
};

function describeVersion({ origin, actorType, actorId, actorName }: VersionHead, noun: string): string {
  if (actorType === 'anonymous') return noun === 'post' ? 'Original text' : 'Original templates';
  const actor = { type: actorType as Actor['type'], id: actorId, name: actorName };
  return `${describeActor(actor)} ${actions[origin]}${origin === 'edit' ? ` ${noun}` : ''}`;
}
