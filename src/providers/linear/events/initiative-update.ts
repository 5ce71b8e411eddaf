import { Type } from '@sinclair/typebox';
import { MaybeText } from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { typeOf } from './fields.ts';
import { handleUpdate, Subject, updateFields } from './update.ts';

const InitiativeUpdateEvent = Type.Object({
  action: Type.String({ minLength: 1 }),
  type: typeOf('InitiativeUpdate'),
  data: Type.Object({ ...updateFields, initiative: Subject }),
  url: MaybeText,
});

/** Somebody reported on an initiative. */
export const initiativeUpdate = defineEvent(InitiativeUpdateEvent, (payload) =>
  handleUpdate(payload, 'initiative', payload.data.initiative),
);
