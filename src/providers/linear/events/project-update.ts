import { Type } from '@sinclair/typebox';
import { MaybeText } from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { typeOf } from './fields.ts';
import { handleUpdate, Subject, updateFields } from './update.ts';

const ProjectUpdateEvent = Type.Object({
  action: Type.String({ minLength: 1 }),
  type: typeOf('ProjectUpdate'),
  data: Type.Object({ ...updateFields, project: Subject }),
  url: MaybeText,
});

/** Somebody reported on a project. */
export const projectUpdate = defineEvent(ProjectUpdateEvent, (payload) =>
  handleUpdate(payload, 'project', payload.data.project),
);
