import { type Static, type TObject, Type } from '@sinclair/typebox';
import { cutLine } from '../../lib/text.ts';
import {
  defineEvent,
  type EventHandler,
  type EventResult,
  ignored,
  MAX_LIST_LENGTH,
  Maybe,
  maybe,
  type Payload,
  processed,
  read,
  versionOf,
} from '../provider.ts';
import { Actor, attachment, type Change, Id, Named, namedOf, payloadOf } from './payload.ts';

// linear.app/developers/webhooks. Each event is checked, read into the data of the log, and mapped from there.

const MAX_TITLE_LENGTH = 300;

/** The author and the changed fields of an issue or a project. */
function changeOf({ actor, updatedFrom }: Static<typeof Change>) {
  const fields = Object.keys(updatedFrom ?? {}).slice(0, MAX_LIST_LENGTH);
  return {
    actor: read.person(actor?.name) ?? read.line(actor?.service),
    changedFields: fields.map(read.text),
  };
}

/**
 * An issue or a project is completed when this very event moved it into a completed state: its state alone would
 * complete it again with each later edit.
 */
function changed(
  { action, updatedFrom }: Static<typeof Change>,
  type: 'issue' | 'project',
  data: Payload,
  { isCompleted, stateField }: { isCompleted: boolean; stateField: string },
  titled: (happened: string) => string,
): EventResult {
  const completes = isCompleted && (action === 'create' || Object.hasOwn(updatedFrom ?? {}, stateField));
  const happened = new Map([
    ['create', completes ? 'completed' : 'created'],
    ['update', completes ? 'completed' : 'updated'],
    ['remove', 'removed'],
  ]).get(action);
  return happened === undefined
    ? ignored(titled('changed'), `Tidings processes the actions create, update and remove, not ${action}`)
    : processed(titled(happened), type, happened, data);
}

const Issue = payloadOf('Issue', {
  id: Id,
  // Such as ENG-412. Changes when the issue moves to another team; `id` does not.
  identifier: Type.String({ minLength: 1 }),
  previousIdentifiers: maybe(Type.Array(Type.String()), 'a list of identifiers'),
  title: Type.String(),
  // The type is triage, backlog, unstarted, started, completed, canceled or duplicate.
  state: Type.Object({ type: Type.String(), name: Maybe.Text }),
  description: Maybe.Text,
  url: Maybe.Text,
  team: maybe(Type.Object({ ...Named.properties, key: Maybe.Text }), 'an ID and a name'),
  project: maybe(Named, 'an ID and a name'),
  projectMilestone: maybe(Named, 'an ID and a name'),
  labels: Maybe.Names,
  assignee: Actor,
  // 0 none, 1 urgent, 2 high, 3 medium, 4 low.
  priority: Maybe.Number,
  completedAt: Maybe.Text,
  updatedAt: Maybe.Text,
});

/** A commit may name the issue as it was called in an earlier team. */
const MAX_PREVIOUS = 20;

function issueData({ data, url, ...change }: Static<typeof Issue>) {
  const team = namedOf(data.team);
  return {
    id: read.text(data.id),
    identifier: read.text(data.identifier),
    previousIdentifiers: (data.previousIdentifiers ?? []).slice(-MAX_PREVIOUS).map(read.text),
    title: read.text(data.title),
    description: read.body(data.description),
    url: read.url(data.url) ?? read.url(url),
    team: team && { ...team, key: read.line(data.team?.key) },
    project: namedOf(data.project),
    milestone: namedOf(data.projectMilestone),
    labels: read.names(data.labels),
    assignee: read.person(data.assignee?.name),
    priority: data.priority ?? null,
    state: { name: read.line(data.state.name), type: read.text(data.state.type) },
    completedAt: read.line(data.completedAt),
    updatedAt: read.line(data.updatedAt),
    ...changeOf(change),
  };
}

const issue = defineEvent(
  Issue,
  (payload) => {
    const { identifier, title, state } = payload.data;
    const status = { isCompleted: state.type === 'completed', stateField: 'stateId' };
    const titled = (happened: string) => `${identifier} ${happened}: ${title}`;
    return changed(payload, 'issue', issueData(payload), status, titled);
  },
  (data: ReturnType<typeof issueData>, action) => ({
    type: 'issue',
    key: data.id,
    branch: null,
    times: [data.completedAt],
    version: versionOf(data.updatedAt, action === 'removed' ? 1 : 0),
    data: {
      id: data.id,
      identifier: data.identifier,
      // Older log entries lack them.
      ...(data.previousIdentifiers?.length > 0 && { previousIdentifiers: data.previousIdentifiers }),
      title: cutLine(data.title, MAX_TITLE_LENGTH),
      labels: data.labels,
      team: data.team,
      project: data.project,
      author: data.assignee ?? data.actor,
      url: data.url,
      isCompleted: data.state.type === 'completed' && action !== 'removed',
    },
  }),
);

const Project = payloadOf('Project', {
  id: Id,
  name: Type.String(),
  // A line or two; `content` is the long text, in Markdown.
  description: Maybe.Text,
  content: Maybe.Text,
  url: Maybe.Text,
  // The type is backlog, planned, started, paused, completed or canceled.
  status: maybe(Type.Object({ type: Type.String(), name: Maybe.Text }), 'a status with a type'),
  lead: Actor,
  teamIds: maybe(Type.Array(Type.String()), 'a list of IDs'),
  initiatives: maybe(Type.Array(Named), 'a list of initiatives'),
  // onTrack, atRisk or offTrack.
  health: Maybe.Text,
  completedAt: Maybe.Text,
  updatedAt: Maybe.Text,
  // A day, such as 2026-11-20.
  targetDate: Maybe.Text,
});

function projectData({ data, url, ...change }: Static<typeof Project>) {
  const { status } = data;
  return {
    id: read.text(data.id),
    name: read.text(data.name),
    description: read.body(data.description),
    content: read.body(data.content),
    url: read.url(data.url) ?? read.url(url),
    status: status ? { name: read.line(status.name), type: read.text(status.type) } : null,
    lead: read.person(data.lead?.name),
    teamIds: (data.teamIds ?? []).slice(0, MAX_LIST_LENGTH).map(read.text),
    initiatives: (data.initiatives ?? []).slice(0, MAX_LIST_LENGTH).map(namedOf),
    health: read.line(data.health),
    completedAt: read.line(data.completedAt),
    updatedAt: read.line(data.updatedAt),
    targetDate: read.line(data.targetDate),
    ...changeOf(change),
  };
}

const project = defineEvent(
  Project,
  (payload) => {
    const { name, status } = payload.data;
    const state = { isCompleted: status?.type === 'completed', stateField: 'statusId' };
    const titled = (happened: string) => `Project ${happened}: ${name}`;
    return changed(payload, 'project', projectData(payload), state, titled);
  },
  (data: ReturnType<typeof projectData>, action) => ({
    type: 'project',
    key: data.id,
    branch: null,
    times: [data.completedAt],
    version: versionOf(data.updatedAt, action === 'removed' ? 1 : 0),
    data: {
      id: data.id,
      name: data.name,
      summary: data.content ?? data.description,
      author: data.lead,
      url: data.url,
      isCompleted: data.status?.type === 'completed' && action !== 'removed',
    },
  }),
);

/** A report on how a project or an initiative goes. */
const report = {
  id: Id,
  body: Maybe.Text,
  health: Maybe.Text,
  user: Actor,
  createdAt: Maybe.Text,
  url: Maybe.Text,
};
const Subject = Type.Object({ id: Id, name: Type.String(), url: Maybe.Text });

const HAPPENED = new Map([
  ['create', 'posted'],
  ['update', 'edited'],
  ['remove', 'removed'],
]);

function updateData(
  kind: 'project' | 'initiative',
  { id, name, url: page }: Static<typeof Subject>,
  data: Static<TObject<typeof report>>,
  url: Maybe<string>,
) {
  return {
    id: read.text(data.id),
    about: { kind, id: read.text(id), name: read.text(name), url: read.url(page) },
    body: read.body(data.body),
    health: read.line(data.health),
    author: read.person(data.user?.name),
    createdAt: read.line(data.createdAt),
    url: read.url(data.url) ?? read.url(url),
  };
}

function defineUpdate(kind: 'project' | 'initiative', type: string, what: string) {
  return defineEvent(
    payloadOf(type, { ...report, [kind]: Subject }),
    ({ action, data, url }) => {
      const subject = (data as Record<string, unknown>)[kind] as Static<typeof Subject>;
      const title = `${what} ${HAPPENED.get(action) ?? 'changed'}: ${subject.name}`;
      return action === 'create'
        ? processed(title, 'project_update', 'created', updateData(kind, subject, data, url))
        : ignored(title, `Tidings processes new updates, not the action ${action}`);
    },
    ({ createdAt, ...data }: ReturnType<typeof updateData>) => ({
      type: 'project_update',
      key: data.id,
      branch: null,
      times: [createdAt],
      version: '',
      data,
    }),
  );
}

const Pipeline = maybe(Named, 'an ID and a name');

const NamedIssue = Type.Object({ id: Id, identifier: Type.String(), title: Type.String(), url: Maybe.Text });

const Release = payloadOf('Release', {
  id: Id,
  name: Type.String(),
  description: Maybe.Text,
  // Null, or unique in its pipeline.
  version: Maybe.Text,
  pipeline: Pipeline,
  // The type is planned, started, completed or canceled.
  stage: maybe(Type.Object({ type: Type.String(), name: Maybe.Text }), 'a stage with a type'),
  issues: maybe(Type.Array(NamedIssue), 'a list of issues'),
  completedAt: Maybe.Text,
  updatedAt: Maybe.Text,
  trashed: Maybe.Boolean,
  url: Maybe.Text,
});

/** A release may have many issues; the log keeps as many as a person would read. */
const MAX_ISSUES = 500;

function releaseData({ data, url }: Static<typeof Release>) {
  return {
    id: read.text(data.id),
    name: read.text(data.name),
    version: read.line(data.version),
    description: read.body(data.description),
    pipeline: namedOf(data.pipeline),
    stage: data.stage ? { name: read.line(data.stage.name), type: read.text(data.stage.type) } : null,
    issues: (data.issues ?? []).slice(0, MAX_ISSUES).map((issue) => ({
      id: read.text(issue.id),
      identifier: read.text(issue.identifier),
      title: read.text(issue.title),
      url: read.url(issue.url),
    })),
    completedAt: read.line(data.completedAt),
    updatedAt: read.line(data.updatedAt),
    url: read.url(data.url) ?? read.url(url),
  };
}

/** A release is published when it moves into a completed stage; what changes after that edits it. */
const release = defineEvent(
  Release,
  (payload) => {
    const { action, updatedFrom, data } = payload;
    const titled = (happened: string) => `Release ${happened}: ${data.name}`;
    const isCompleted = data.stage?.type === 'completed' && data.trashed !== true;
    if (action === 'remove') return ignored(titled('removed'), 'A removed release keeps its post');
    if (!isCompleted) return ignored(titled('changed'), 'A release is processed once it is completed');
    const completes = action === 'create' || Object.hasOwn(updatedFrom ?? {}, 'stageId');
    return completes
      ? processed(titled('completed'), 'release', 'published', releaseData(payload))
      : processed(titled('edited'), 'release', 'edited', releaseData(payload));
  },
  (data: ReturnType<typeof releaseData>, action) => ({
    type: 'release',
    key: data.id,
    branch: null,
    times: [data.completedAt],
    version: versionOf(data.updatedAt, action === 'edited' ? 1 : 0),
    data: {
      tag: data.version ?? data.name,
      name: cutLine(data.name, MAX_TITLE_LENGTH),
      // Beside its issues a description says what is planned.
      notes: data.issues.length === 0 ? data.description : null,
      isPrerelease: false,
      author: null,
      url: data.url,
      pipeline: data.pipeline?.name ?? null,
      issues: data.issues.map((issue) => ({ ...issue, title: cutLine(issue.title, MAX_TITLE_LENGTH) })),
    },
  }),
);

const ReleaseNote = payloadOf('ReleaseNote', {
  id: Id,
  title: Maybe.Text,
  content: Maybe.Text,
  // The newest of the releases that it covers.
  lastReleaseId: Maybe.Text,
  updatedAt: Maybe.Text,
  url: Maybe.Text,
});

function releaseNoteData({ data, url }: Static<typeof ReleaseNote>) {
  return {
    id: read.text(data.id),
    title: read.line(data.title),
    content: read.body(data.content),
    releaseId: read.line(data.lastReleaseId),
    updatedAt: read.line(data.updatedAt),
    url: read.url(data.url) ?? read.url(url),
  };
}

/** The notes of a release edit it, before or after it is completed. */
const releaseNote = defineEvent(
  ReleaseNote,
  (payload) => {
    const { action, data } = payload;
    const title = `Release notes ${HAPPENED.get(action) ?? 'changed'}: ${data.title ?? 'Untitled'}`;
    if (action !== 'create' && action !== 'update') {
      return ignored(title, `Only new and edited notes are processed, not the action ${action}`);
    }
    if (!data.lastReleaseId) return ignored(title, 'The notes belong to no release');
    return processed(title, 'release', 'edited', releaseNoteData(payload));
  },
  (data: ReturnType<typeof releaseNoteData>) => ({
    type: 'release',
    key: `note ${data.releaseId}`,
    branch: null,
    times: [data.updatedAt],
    version: versionOf(data.updatedAt),
    data: {
      tag: '',
      name: data.title,
      notes: data.content,
      isPrerelease: false,
      author: null,
      url: data.url,
      noteOf: data.releaseId ?? '',
    },
  }),
);

/** Linear's events, by `Linear-Event`. */
export const events: Readonly<Record<string, EventHandler>> = {
  Issue: issue,
  Attachment: attachment,
  Project: project,
  Release: release,
  ReleaseNote: releaseNote,
  ProjectUpdate: defineUpdate('project', 'ProjectUpdate', 'Project update'),
  InitiativeUpdate: defineUpdate('initiative', 'InitiativeUpdate', 'Initiative update'),
};
