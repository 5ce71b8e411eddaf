import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { ALL_PUBLIC_TEAMS } from '../../api.ts';
import { isoTime, type Payload } from '../../provider.ts';
import { PAGE_INFO, pageOf } from './client.ts';

// Lists what changed since a time, each thing as the webhook of its last change would deliver it. Linear charges for what a
// query may return: a point for each object and a tenth for each field, times the sizes of the pages. `first` keeps each query
// below 3,000 points; Linear refuses more than 10,000.

const Text = Type.Union([Type.String(), Type.Null()]);
const Person = Type.Union([Type.Object({ name: Text }), Type.Null()]);
const Trashed = Type.Optional(Type.Union([Type.Boolean(), Type.Null()]));
const Stage = Type.Object({ type: Type.String() });
const listOf = <Node extends TProperties>(node: Node) =>
  Type.Object({ nodes: Type.Array(Type.Object(node)) });

interface Place {
  /** Null: all public teams. */
  teamId: string | null;
}
const teamFilter = ({ teamId }: Place) =>
  teamId === null ? { visibility: { eq: 'public' } } : { id: { eq: teamId } };
const pipelineFilter = (place: Place) => {
  const teams = { some: teamFilter(place) };
  // A pipeline may be of no team.
  return place.teamId === null ? { or: [{ teams }, { teams: { length: { eq: 0 } } }] } : { teams };
};

type Delivered = { action: string; data: Payload; updatedFrom?: Payload; actor?: Payload | null };

function defineList<Fields extends TProperties>(
  root: string,
  list: {
    filter: string;
    first: number;
    time: 'createdAt' | 'updatedAt';
    fields: string;
    /** The fields that `deliver` reads; the event checks the others. */
    node: Fields;
    /** Null: a webhook of the place brings none. */
    filterOf(place: Place): object | null;
    deliver(
      node: Static<ReturnType<typeof Type.Object<Fields>>>,
      since: string,
      place: Place,
    ): Delivered | null;
  },
) {
  const { filter, first, time, fields, node, filterOf } = list;
  // The trash is part of the archive.
  const archived = fields.includes('trashed') ? ', includeArchived: true' : '';
  const text = `query tidingsChanges($filter: ${filter}, $first: Int, $after: String) {
    changed: ${root}(filter: $filter, first: $first, after: $after, orderBy: ${time}${archived}) {
      nodes { ${fields} } ${PAGE_INFO}
    }
  }`;
  return {
    text,
    data: Type.Object({ changed: pageOf(Type.Object(node)) }),
    first,
    filterOf(place: Place, since: string) {
      const base = filterOf(place);
      return base && { ...base, [time]: { gte: since } };
    },
    deliver: list.deliver as (node: unknown, since: string, place: Place) => Delivered | null,
  };
}

/** As an update that has completed it, if that is newer than `since`. */
function updateOf(
  data: Payload,
  {
    trashed,
    ...state
  }: {
    trashed?: boolean | null | undefined;
    stateField: string;
    isCompleted: boolean;
    completedAt: string | null;
  },
  since: string,
): Pick<Delivered, 'action' | 'data' | 'updatedFrom'> {
  const isNews = state.isCompleted && (isoTime(state.completedAt) ?? '') >= since;
  return {
    action: trashed === true ? 'remove' : 'update',
    data,
    updatedFrom: isNews ? { [state.stateField]: null } : {},
  };
}

const report = { first: 25, time: 'createdAt' as const };
const reportFields = 'id body health createdAt url user { name }';

/** By the name of the event. */
export const changes = {
  Issue: defineList('issues', {
    filter: 'IssueFilter',
    first: 50,
    time: 'updatedAt',
    fields: `id identifier previousIdentifiers title url priority completedAt updatedAt trashed
      state { type name } team { id name key } project { id name } projectMilestone { id name } assignee { name }
      labels(first: 30) { nodes { name } }
      history(first: 1) { nodes { actor { name } botActor { name } } }`,
    node: {
      state: Stage,
      completedAt: Text,
      trashed: Trashed,
      labels: listOf({ name: Type.String() }),
      history: listOf({ actor: Person, botActor: Person }),
    },
    filterOf: (place) => ({ team: teamFilter(place) }),
    deliver({ labels, history, trashed, ...issue }, since) {
      const { actor = null, botActor = null } = history.nodes[0] ?? {};
      const { state, completedAt } = issue;
      const about = { stateField: 'stateId', isCompleted: state.type === 'completed', completedAt, trashed };
      return { ...updateOf({ ...issue, labels: labels.nodes }, about, since), actor: actor ?? botActor };
    },
  }),
  Attachment: defineList('attachments', {
    filter: 'AttachmentFilter',
    first: 50,
    time: 'updatedAt',
    fields: 'id title url updatedAt issue { id team { id visibility } }',
    node: {
      issue: Type.Object({
        id: Type.String(),
        team: Type.Object({ id: Type.String(), visibility: Type.String() }),
      }),
    },
    // The pages of pull requests. Linear filters attachments by no team.
    filterOf: () => ({ or: [{ url: { contains: '/pull' } }, { url: { contains: '/merge_requests/' } }] }),
    deliver({ issue: { id: issueId, team }, ...attachment }, _since, { teamId }) {
      const isOfPlace = teamId === null ? team.visibility === 'public' : team.id === teamId;
      return isOfPlace ? { action: 'update', data: { ...attachment, issueId } } : null;
    },
  }),
  Project: defineList('projects', {
    filter: 'ProjectFilter',
    first: 25,
    time: 'updatedAt',
    fields: `id name description content url completedAt updatedAt health targetDate trashed
      status { type name } lead { name }`,
    node: { status: Stage, completedAt: Text, trashed: Trashed },
    filterOf: (place) => ({ accessibleTeams: { some: teamFilter(place) } }),
    deliver({ trashed, ...project }, since) {
      const { status, completedAt } = project;
      const isCompleted = status.type === 'completed';
      return updateOf(project, { stateField: 'statusId', isCompleted, completedAt, trashed }, since);
    },
  }),
  ProjectUpdate: defineList('projectUpdates', {
    ...report,
    filter: 'ProjectUpdateFilter',
    fields: `${reportFields} project { id name url }`,
    node: {},
    filterOf: (place) => ({ project: { accessibleTeams: { some: teamFilter(place) } } }),
    deliver: (data) => ({ action: 'create', data }),
  }),
  InitiativeUpdate: defineList('initiativeUpdates', {
    ...report,
    filter: 'InitiativeUpdateFilter',
    fields: `${reportFields} initiative { id name url visibility }`,
    node: { initiative: Type.Object({ visibility: Type.String() }) },
    // Initiatives are of the workspace.
    filterOf: ({ teamId }) => (teamId === null ? {} : null),
    deliver: (data) => (data.initiative.visibility === 'public' ? { action: 'create', data } : null),
  }),
  Release: defineList('releases', {
    filter: 'ReleaseFilter',
    first: 5,
    time: 'updatedAt',
    fields: `id name description version url completedAt updatedAt trashed pipeline { id name } stage { type name }
      issues(first: 250) { nodes { id identifier title url } }`,
    node: { stage: Stage, completedAt: Text, issues: listOf({ id: Type.String() }) },
    filterOf: (place) => ({ pipeline: pipelineFilter(place) }),
    deliver({ issues, ...release }, since) {
      const { stage, completedAt } = release;
      const about = { stateField: 'stageId', isCompleted: stage.type === 'completed', completedAt };
      return updateOf({ ...release, issues: issues.nodes }, about, since);
    },
  }),
  ReleaseNote: defineList('releaseNotes', {
    filter: 'ReleaseNoteFilter',
    first: 25,
    time: 'updatedAt',
    fields: 'id title url updatedAt documentContent { content } lastRelease { id }',
    node: {
      documentContent: Type.Union([Type.Object({ content: Text }), Type.Null()]),
      lastRelease: Type.Union([Type.Object({ id: Type.String() }), Type.Null()]),
    },
    filterOf: (place) => ({ pipeline: pipelineFilter(place) }),
    deliver: ({ documentContent, lastRelease, ...note }) => ({
      action: 'update',
      data: { ...note, content: documentContent?.content ?? null, lastReleaseId: lastRelease?.id ?? null },
    }),
  }),
};

/** The list of an event; null for one that Linear does not list. */
export const changesOf = (event: string) =>
  Object.hasOwn(changes, event) ? changes[event as keyof typeof changes] : null;

export const placeWith = (placeId: string): Place => ({
  teamId: placeId === ALL_PUBLIC_TEAMS ? null : placeId,
});
