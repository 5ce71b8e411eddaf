import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox';
import { cutLine } from '../../lib/text.ts';
import {
  Action,
  bodyOf,
  defineEvent,
  type EventHandler,
  type EventResult,
  ignored,
  lineOf,
  MAX_LIST_LENGTH,
  type Maybe,
  MaybeNames,
  MaybeNumber,
  MaybeText,
  maybe,
  namesOf,
  personOf,
  processed,
  textOf,
  urlOf,
  versionOf,
} from '../provider.ts';

// linear.app/developers/webhooks. Each event is checked, read into the data of the log, and mapped from there.

const MAX_TITLE_LENGTH = 300;

const Id = Type.String({ minLength: 1 });
const Named = Type.Object({ id: Type.String(), name: Type.String() });

/** A person, an application (which has a name) or an integration (which has a service). */
const Actor = maybe(Type.Object({ name: MaybeText, service: MaybeText }), 'an actor');

const Change = Type.Object({
  action: Action,
  actor: Actor,
  // The previous values of the fields that an update changed.
  updatedFrom: maybe(Type.Record(Type.String(), Type.Unknown()), 'an object'),
  url: MaybeText,
});

/** A payload. The header that names the event is not signed; `type` is. */
const payloadOf = <Fields extends TProperties>(type: string, fields: Fields) =>
  Type.Object({
    ...Change.properties,
    type: Type.Literal(type, { errorMessage: `must be ${type}, as the header Linear-Event says` }),
    data: Type.Object(fields),
  });

const namedOf = (value: Maybe<Static<typeof Named>>) =>
  value ? { id: textOf(value.id), name: textOf(value.name) } : null;

/** Who changed an issue or a project, and which of its fields. */
function changeOf({ actor, updatedFrom }: Static<typeof Change>) {
  const fields = Object.keys(updatedFrom ?? {}).slice(0, MAX_LIST_LENGTH);
  return { actor: personOf(actor?.name) ?? lineOf(actor?.service), changedFields: fields.map(textOf) };
}

/**
 * An issue or a project is completed when this very event moved it into a completed state: its state alone would
 * complete it again with each later edit.
 */
function changed(
  { action, updatedFrom }: Static<typeof Change>,
  type: 'issue' | 'project',
  data: object,
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
    ? ignored(titled('changed'), `Only the actions create, update and remove are processed, not ${action}`)
    : processed(titled(happened), type, happened, data);
}

const Issue = payloadOf('Issue', {
  id: Id,
  // Such as ENG-412. Changes when the issue moves to another team; `id` does not.
  identifier: Type.String({ minLength: 1 }),
  title: Type.String(),
  // The type is triage, backlog, unstarted, started, completed, canceled or duplicate.
  state: Type.Object({ type: Type.String(), name: MaybeText }),
  description: MaybeText,
  url: MaybeText,
  team: maybe(Type.Object({ ...Named.properties, key: MaybeText }), 'an id and a name'),
  project: maybe(Named, 'an id and a name'),
  projectMilestone: maybe(Named, 'an id and a name'),
  labels: MaybeNames,
  assignee: Actor,
  // 0 none, 1 urgent, 2 high, 3 medium, 4 low.
  priority: MaybeNumber,
  completedAt: MaybeText,
  updatedAt: MaybeText,
});

function issueData({ data, url, ...change }: Static<typeof Issue>) {
  const team = namedOf(data.team);
  return {
    id: textOf(data.id),
    identifier: textOf(data.identifier),
    title: textOf(data.title),
    description: bodyOf(data.description),
    url: urlOf(data.url) ?? urlOf(url),
    team: team && { ...team, key: lineOf(data.team?.key) },
    project: namedOf(data.project),
    milestone: namedOf(data.projectMilestone),
    labels: namesOf(data.labels),
    assignee: personOf(data.assignee?.name),
    priority: data.priority ?? null,
    state: { name: lineOf(data.state.name), type: textOf(data.state.type) },
    completedAt: lineOf(data.completedAt),
    updatedAt: lineOf(data.updatedAt),
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
  description: MaybeText,
  content: MaybeText,
  url: MaybeText,
  // The type is backlog, planned, started, paused, completed or canceled.
  status: maybe(Type.Object({ type: Type.String(), name: MaybeText }), 'a status with a type'),
  lead: Actor,
  teamIds: maybe(Type.Array(Type.String()), 'a list of ids'),
  initiatives: maybe(Type.Array(Named), 'a list of initiatives'),
  // onTrack, atRisk or offTrack.
  health: MaybeText,
  completedAt: MaybeText,
  updatedAt: MaybeText,
  // A day, such as 2026-11-20.
  targetDate: MaybeText,
});

function projectData({ data, url, ...change }: Static<typeof Project>) {
  const { status } = data;
  return {
    id: textOf(data.id),
    name: textOf(data.name),
    description: bodyOf(data.description),
    content: bodyOf(data.content),
    url: urlOf(data.url) ?? urlOf(url),
    status: status ? { name: lineOf(status.name), type: textOf(status.type) } : null,
    lead: personOf(data.lead?.name),
    teamIds: (data.teamIds ?? []).slice(0, MAX_LIST_LENGTH).map(textOf),
    initiatives: (data.initiatives ?? []).slice(0, MAX_LIST_LENGTH).map(namedOf),
    health: lineOf(data.health),
    completedAt: lineOf(data.completedAt),
    updatedAt: lineOf(data.updatedAt),
    targetDate: lineOf(data.targetDate),
    ...changeOf(change),
  };
}

const project = defineEvent(
  Project,
  (payload) => {
    const { name, status } = payload.data;
    const state = { isCompleted: status?.type === 'completed', stateField: 'statusId' };
    return changed(
      payload,
      'project',
      projectData(payload),
      state,
      (happened) => `Project ${happened}: ${name}`,
    );
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
  body: MaybeText,
  health: MaybeText,
  user: Actor,
  createdAt: MaybeText,
  url: MaybeText,
};
const Subject = Type.Object({ id: Id, name: Type.String(), url: MaybeText });

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
    id: textOf(data.id),
    about: { kind, id: textOf(id), name: textOf(name), url: urlOf(page) },
    body: bodyOf(data.body),
    health: lineOf(data.health),
    author: personOf(data.user?.name),
    createdAt: lineOf(data.createdAt),
    url: urlOf(data.url) ?? urlOf(url),
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
        : ignored(title, `Only new updates are processed, not the action ${action}`);
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

/** Linear's events, by `Linear-Event`. */
export const events: Readonly<Record<string, EventHandler>> = {
  Issue: issue,
  Project: project,
  ProjectUpdate: defineUpdate('project', 'ProjectUpdate', 'Project update'),
  InitiativeUpdate: defineUpdate('initiative', 'InitiativeUpdate', 'Initiative update'),
};
