import { type Static, Type } from '@sinclair/typebox';
import {
  bodyOf,
  lineOf,
  MaybeNames,
  MaybeNumber,
  MaybeText,
  maybe,
  namesOf,
  personOf,
  textOf,
  urlOf,
} from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed } from '../../results.ts';
import { entityAction } from './action.ts';
import {
  Actor,
  actorOf,
  changedFieldsOf,
  MaybeNamed,
  type Named,
  namedOf,
  typeOf,
  UpdatedFrom,
} from './fields.ts';

/** An issue of Linear, as it is after the event. */
export interface LinearIssueData {
  id: string;
  /** Such as `ENG-412`. Changes when the issue moves to another team; `id` does not. */
  identifier: string;
  title: string;
  /** In Markdown, at most 200,000 characters; null when there is none. */
  description: string | null;
  url: string | null;
  /** Its team; `key` is what identifiers begin with. */
  team: (Named & { key: string | null }) | null;
  project: Named | null;
  /** Its milestone within the project. */
  milestone: Named | null;
  /** Names of labels, such as `Bug`. */
  labels: string[];
  /** A person's name. */
  assignee: string | null;
  /** 0 none, 1 urgent, 2 high, 3 medium, 4 low. */
  priority: number | null;
  /** `type` is triage, backlog, unstarted, started, completed, canceled or duplicate. */
  state: { name: string | null; type: string };
  /** ISO 8601; null while it is open. */
  completedAt: string | null;
  /** ISO 8601. */
  updatedAt: string | null;
  /** Who or what made the change. */
  actor: string | null;
  /** What an update changed, by the names of Linear's fields. */
  changedFields: string[];
}

const Team = maybe(
  Type.Object({ id: Type.String(), name: Type.String(), key: MaybeText }),
  'an id and a name',
);

const Issue = Type.Object({
  id: Type.String({ minLength: 1 }),
  identifier: Type.String({ minLength: 1 }),
  title: Type.String(),
  state: Type.Object({ type: Type.String(), name: MaybeText }),
  description: MaybeText,
  url: MaybeText,
  team: Team,
  project: MaybeNamed,
  projectMilestone: MaybeNamed,
  labels: MaybeNames,
  assignee: Actor,
  priority: MaybeNumber,
  completedAt: MaybeText,
  updatedAt: MaybeText,
});

const IssueEvent = Type.Object({
  action: Type.String({ minLength: 1 }),
  type: typeOf('Issue'),
  data: Issue,
  actor: Actor,
  updatedFrom: UpdatedFrom,
  url: MaybeText,
});

export const issue = defineEvent(IssueEvent, (payload) => {
  const { action, data, updatedFrom } = payload;
  const isCompleted = data.state.type === 'completed';
  const happened = entityAction(action, { isCompleted, stateField: 'stateId', updatedFrom });
  if (happened === null) {
    return ignored(
      `${data.identifier} changed: ${data.title}`,
      `Only the actions create, update and remove are processed, not ${action}`,
    );
  }
  return processed(`${data.identifier} ${happened}: ${data.title}`, {
    type: 'issue',
    action: happened,
    data: toData(payload),
  });
});

function toData({ data, actor, updatedFrom, url }: Static<typeof IssueEvent>): LinearIssueData {
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
