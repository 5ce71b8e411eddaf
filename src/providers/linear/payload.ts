import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { Action, Maybe, maybe, read } from '../provider.ts';

// The fields that Linear's payloads share.

export const Id = Type.String({ minLength: 1 });
export const Named = Type.Object({ id: Type.String(), name: Type.String() });

/** A person, an application (which has a name) or an integration (which has a service). */
export const Actor = maybe(Type.Object({ name: Maybe.Text, service: Maybe.Text }), 'an actor');

export const Change = Type.Object({
  action: Action,
  actor: Actor,
  // The previous values of the fields that an update changed.
  updatedFrom: maybe(Type.Record(Type.String(), Type.Unknown()), 'an object'),
  url: Maybe.Text,
});

/** A payload. The header that names the event is not signed; `type` is. */
export const payloadOf = <Fields extends TProperties>(type: string, fields: Fields) =>
  Type.Object({
    ...Change.properties,
    type: Type.Literal(type, { errorMessage: `must be ${type}, as the header Linear-Event says` }),
    data: Type.Object(fields),
  });

export const namedOf = (value: Maybe<Static<typeof Named>>) =>
  value ? { id: read.text(value.id), name: read.text(value.name) } : null;
