import { type Static, Type } from '@sinclair/typebox';
import { bodyOf, lineOf, MAX_LIST_LENGTH, MaybeText, maybe, personOf, textOf, urlOf } from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed } from '../../results.ts';
import { entityAction } from './action.ts';
import { Actor, actorOf, changedFieldsOf, type Named, namedOf, typeOf, UpdatedFrom } from './fields.ts';

/** A project of Linear, as it is after the event. */
export interface LinearProjectData {
  id: string;
  name: string;
  /** A line or two; null when there is none. */
  description: string | null;
  /** The long text, in Markdown, at most 200,000 characters; null when there is none. */
  content: string | null;
  url: string | null;
  /** `type` is backlog, planned, started, paused, completed or canceled. Null where Linear does not say. */
  status: { name: string | null; type: string } | null;
  /** A person's name. */
  lead: string | null;
  /** The teams that work on it. */
  teamIds: string[];
  initiatives: Named[];
  /** `onTrack`, `atRisk`, `offTrack`. */
  health: string | null;
  /** ISO 8601; null while it is open. */
  completedAt: string | null;
  /** ISO 8601. */
  updatedAt: string | null;
  /** A day, such as `2026-11-20`. */
  targetDate: string | null;
  /** Who or what made the change. */
  actor: string | null;
  /** What an update changed, by the names of Linear's fields. */
  changedFields: string[];
}

const Project = Type.Object({
  id: Type.String({ minLength: 1 }),
  name: Type.String(),
  description: MaybeText,
  content: MaybeText,
  url: MaybeText,
  status: maybe(Type.Object({ type: Type.String(), name: MaybeText }), 'a status with a type'),
  lead: Actor,
  teamIds: maybe(Type.Array(Type.String()), 'a list of ids'),
  initiatives: maybe(
    Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
    'a list of initiatives',
  ),
  health: MaybeText,
  completedAt: MaybeText,
  updatedAt: MaybeText,
  targetDate: MaybeText,
});

const ProjectEvent = Type.Object({
  action: Type.String({ minLength: 1 }),
  type: typeOf('Project'),
  data: Project,
  actor: Actor,
  updatedFrom: UpdatedFrom,
  url: MaybeText,
});

export const project = defineEvent(ProjectEvent, (payload) => {
  const { action, data, updatedFrom } = payload;
  const isCompleted = data.status?.type === 'completed';
  const happened = entityAction(action, { isCompleted, stateField: 'statusId', updatedFrom });
  if (happened === null) {
    return ignored(
      `Project changed: ${data.name}`,
      `Only the actions create, update and remove are processed, not ${action}`,
    );
  }
  return processed(`Project ${happened}: ${data.name}`, {
    type: 'project',
    action: happened,
    data: toData(payload),
  });
});

function toData({ data, actor, updatedFrom, url }: Static<typeof ProjectEvent>): LinearProjectData {
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
