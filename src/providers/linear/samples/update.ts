import { ANN, envelope, INITIATIVE, PROJECT, type SampleContext, sampleId } from './context.ts';

/** A report on a project that was just posted. */
export function projectUpdate(context: SampleContext) {
  const url = `${PROJECT.url}/updates#project-update-51c07de9`;
  const data = {
    ...updateFields(context, 30),
    body: 'Quiet mode is out. Engines start **40 % softer**.',
    url,
    projectId: PROJECT.id,
    project: PROJECT,
  };
  return envelope(context, { type: 'ProjectUpdate', action: 'create', data, url });
}

/** A report on an initiative that was just posted. */
export function initiativeUpdate(context: SampleContext) {
  const url = `${INITIATIVE.url}/updates#initiative-update-9e20b3f4`;
  const data = {
    ...updateFields(context, 31),
    body: 'Two of three projects are done.',
    url,
    initiativeId: INITIATIVE.id,
    initiative: INITIATIVE,
  };
  return envelope(context, { type: 'InitiativeUpdate', action: 'create', data, url });
}

function updateFields({ minutesAgo }: SampleContext, id: number) {
  return {
    id: sampleId(id),
    createdAt: minutesAgo(0),
    updatedAt: minutesAgo(0),
    editedAt: minutesAgo(0),
    archivedAt: null,
    bodyData: '{"type":"doc","content":[]}',
    diffMarkdown: null,
    health: 'onTrack',
    reactionData: [],
    slugId: `51c07de9${id}`,
    userId: ANN.id,
    user: ANN,
  };
}
