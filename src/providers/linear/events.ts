import { type Static, Type } from '@sinclair/typebox';
import { cutLine } from '../../lib/text.ts';
import {
  bodyOf,
  lineOf,
  MAX_LIST_LENGTH,
  type Maybe,
  MaybeNames,
  MaybeNumber,
  MaybeText,
  maybe,
  namesOf,
  personOf,
  textOf,
  urlOf,
  versionOf,
} from '../fields.ts';
import { defineEvent, type EventHandler, ignored, processed } from '../provider.ts';

// linear.app/developers/webhooks. Each event is checked, read into the data of the log, and mapped from there.

const MAX_TITLE_LENGTH = 300;

/** A thing that an entity belongs to. */
interface Named {
  id: string;
  name: string;
}

const Named = Type.Object({ id: Type.String(), name: Type.String() });
const MaybeNamed = maybe(Named, 'an id and a name');

/** A person, an application (which has a name) or an integration (which has a service). */
const Actor = maybe(Type.Object({ name: MaybeText, service: MaybeText }), 'an actor');

/** The previous values of the fields that an update changed. */
const UpdatedFrom = maybe(Type.Record(Type.String(), Type.Unknown()), 'an object');

/** The header that names the event is not signed; this field is. */
const typeOf = (type: string) =>
  Type.Literal(type, { errorMessage: `must be ${type}, as the header Linear-Event says` });

function namedOf(value: Maybe<Named>): Named | null {
  return value ? { id: textOf(value.id), name: textOf(value.name) } : null;
}

function actorOf(actor: Maybe<Static<typeof Actor>>): string | null {
  return personOf(actor?.name) ?? lineOf(actor?.service);
}

/** The names of the fields that an update changed. */
function changedFieldsOf(updatedFrom: Maybe<Static<typeof UpdatedFrom>>): string[] {
  return Object.keys(updatedFrom ?? {})
    .slice(0, MAX_LIST_LENGTH)
    .map(textOf);
}

/**
 * Maps Linear's action to ours; null for an unknown one. An entity is completed when this very event moved it into a
 * completed state: its state alone would complete it again with each later edit.
 */
function entityAction(
  action: string,
  isCompleted: boolean,
  stateField: string,
  updatedFrom: Maybe<Static<typeof UpdatedFrom>>,
): 'completed' | 'created' | 'updated' | 'removed' | null {
  if (action === 'create') return isCompleted ? 'completed' : 'created';
  if (action === 'remove') return 'removed';
  if (action !== 'update') return null;
  return isCompleted && Object.hasOwn(updatedFrom ?? {}, stateField) ? 'completed' : 'updated';
}

const unknownAction = (action: string) =>
  `Only the actions create, update and remove are processed, not ${action}`;

const Team = Type.Object({ id: Type.String(), name: Type.String(), key: MaybeText });

const IssueEvent = Type.Object({
  action: Type.String({ minLength: 1 }),
  type: typeOf('Issue'),
  data: Type.Object({
    id: Type.String({ minLength: 1 }),
    // Such as ENG-412. Changes when the issue moves to another team; `id` does not.
    identifier: Type.String({ minLength: 1 }),
    title: Type.String(),
    // The type is triage, backlog, unstarted, started, completed, canceled or duplicate.
    state: Type.Object({ type: Type.String(), name: MaybeText }),
    description: MaybeText,
    url: MaybeText,
    team: maybe(Team, 'an id and a name'),
    project: MaybeNamed,
    projectMilestone: MaybeNamed,
    labels: MaybeNames,
    assignee: Actor,
    // 0 none, 1 urgent, 2 high, 3 medium, 4 low.
    priority: MaybeNumber,
    completedAt: MaybeText,
    updatedAt: MaybeText,
  }),
  actor: Actor,
  updatedFrom: UpdatedFrom,
  url: MaybeText,
});

function issueData({ data, actor, updatedFrom, url }: Static<typeof IssueEvent>) {
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
    actor: actorOf(actor),
    changedFields: changedFieldsOf(updatedFrom),
  };
}

const issue = defineEvent(
  IssueEvent,
  (payload) => {
    const { action, data, updatedFrom } = payload;
    const happened = entityAction(action, data.state.type === 'completed', 'stateId', updatedFrom);
    if (happened === null) return ignored(`${data.identifier} changed: ${data.title}`, unknownAction(action));
    return processed(`${data.identifier} ${happened}: ${data.title}`, {
      type: 'issue',
      action: happened,
      data: issueData(payload),
    });
  },
  (data: ReturnType<typeof issueData>, action) => {
    const isRemoved = action === 'removed';
    return {
      type: 'issue',
      key: data.id,
      branch: null,
      times: [data.completedAt],
      version: versionOf(data.updatedAt, isRemoved ? 1 : 0),
      data: {
        id: data.id,
        identifier: data.identifier,
        title: cutLine(data.title, MAX_TITLE_LENGTH),
        labels: data.labels,
        team: data.team,
        project: data.project,
        author: data.assignee ?? data.actor,
        url: data.url,
        isCompleted: data.state.type === 'completed' && !isRemoved,
      },
    };
  },
);

const ProjectEvent = Type.Object({
  action: Type.String({ minLength: 1 }),
  type: typeOf('Project'),
  data: Type.Object({
    id: Type.String({ minLength: 1 }),
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
  }),
  actor: Actor,
  updatedFrom: UpdatedFrom,
  url: MaybeText,
});

function projectData({ data, actor, updatedFrom, url }: Static<typeof ProjectEvent>) {
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
    initiatives: (data.initiatives ?? []).slice(0, MAX_LIST_LENGTH).flatMap((each) => namedOf(each) ?? []),
    health: lineOf(data.health),
    completedAt: lineOf(data.completedAt),
    updatedAt: lineOf(data.updatedAt),
    targetDate: lineOf(data.targetDate),
    actor: actorOf(actor),
    changedFields: changedFieldsOf(updatedFrom),
  };
}

const project = defineEvent(
  ProjectEvent,
  (payload) => {
    const { action, data, updatedFrom } = payload;
    const happened = entityAction(action, data.status?.type === 'completed', 'statusId', updatedFrom);
    if (happened === null) return ignored(`Project changed: ${data.name}`, unknownAction(action));
    return processed(`Project ${happened}: ${data.name}`, {
      type: 'project',
      action: happened,
      data: projectData(payload),
    });
  },
  (data: ReturnType<typeof projectData>, action) => {
    const isRemoved = action === 'removed';
    return {
      type: 'project',
      key: data.id,
      branch: null,
      times: [data.completedAt],
      version: versionOf(data.updatedAt, isRemoved ? 1 : 0),
      data: {
        id: data.id,
        name: data.name,
        summary: data.content ?? data.description,
        author: data.lead,
        url: data.url,
        isCompleted: data.status?.type === 'completed' && !isRemoved,
      },
    };
  },
);

/** A report on how a project or an initiative goes. */
const Update = Type.Object({
  id: Type.String({ minLength: 1 }),
  body: MaybeText,
  health: MaybeText,
  user: Actor,
  createdAt: MaybeText,
  url: MaybeText,
});

const Subject = Type.Object({ id: Type.String({ minLength: 1 }), name: Type.String(), url: MaybeText });

const HAPPENED = new Map([
  ['create', 'posted'],
  ['update', 'edited'],
  ['remove', 'removed'],
]);

function updateData(
  data: Static<typeof Update>,
  subject: Static<typeof Subject>,
  kind: 'project' | 'initiative',
  url: Maybe<string>,
) {
  return {
    id: textOf(data.id),
    about: { kind, id: textOf(subject.id), name: textOf(subject.name), url: urlOf(subject.url) },
    body: bodyOf(data.body),
    health: lineOf(data.health),
    author: personOf(data.user?.name),
    createdAt: lineOf(data.createdAt),
    url: urlOf(data.url) ?? urlOf(url),
  };
}

function defineUpdate(kind: 'project' | 'initiative', type: string, what: string): EventHandler {
  const schema = Type.Object({
    action: Type.String({ minLength: 1 }),
    type: typeOf(type),
    data: Type.Object({ ...Update.properties, [kind]: Subject }),
    url: MaybeText,
  });
  return defineEvent(
    schema,
    ({ action, data, url }) => {
      const subject = (data as Record<string, unknown>)[kind] as Static<typeof Subject>;
      const title = `${what} ${HAPPENED.get(action) ?? 'changed'}: ${subject.name}`;
      if (action !== 'create') {
        return ignored(title, `Only new updates are processed, not the action ${action}`);
      }
      const update = updateData(data as Static<typeof Update>, subject, kind, url);
      return processed(title, { type: 'project_update', action: 'created', data: update });
    },
    ({ id, about, body, health, author, url, createdAt }: ReturnType<typeof updateData>) => ({
      type: 'project_update',
      key: id,
      branch: null,
      times: [createdAt],
      version: '',
      data: { id, about, body, health, author, url },
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
