import { type Static, Type } from '@sinclair/typebox';
import { lineOf, MAX_LIST_LENGTH, type Maybe, MaybeText, maybe, personOf, textOf } from '../../fields.ts';

/** A thing that an entity belongs to, by id and name. */
export interface Named {
  id: string;
  name: string;
}

export const MaybeNamed = maybe(Type.Object({ id: Type.String(), name: Type.String() }), 'an id and a name');

/** A person, an application (which has a name) or an integration (which has a service). */
export const Actor = maybe(Type.Object({ name: MaybeText, service: MaybeText }), 'an actor');

/** The previous values of what an update changed. */
export const UpdatedFrom = maybe(Type.Record(Type.String(), Type.Unknown()), 'an object');

/** The header that names the event is not signed; this field is. */
export const typeOf = (type: string) =>
  Type.Literal(type, { errorMessage: `must be ${type}, as the header Linear-Event says` });

export function namedOf(value: Maybe<Named>): Named | null {
  return value ? { id: textOf(value.id), name: textOf(value.name) } : null;
}

export function actorOf(actor: Maybe<Static<typeof Actor>>): string | null {
  return personOf(actor?.name) ?? lineOf(actor?.service);
}

/** The names of the fields that an update changed. */
export function changedFieldsOf(updatedFrom: Maybe<Static<typeof UpdatedFrom>>): string[] {
  return Object.keys(updatedFrom ?? {})
    .slice(0, MAX_LIST_LENGTH)
    .map(textOf);
}
