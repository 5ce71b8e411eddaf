import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { cutLine } from '../../lib/text.ts';
import { requestAt } from '../paths.ts';
import { Action, defineEvent, ignored, Maybe, maybe, processed, read, versionOf } from '../provider.ts';

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

// Linear links an issue to a pull request with an attachment, whose URL is the page of the pull request.

const MAX_TITLE_LENGTH = 300;

const Attachment = payloadOf('Attachment', {
  id: Id,
  issueId: Id,
  title: Maybe.Text,
  url: Type.String(),
  updatedAt: Maybe.Text,
});

function attachmentData({ data }: Static<typeof Attachment>, url: string) {
  return {
    id: read.text(data.id),
    issueId: read.text(data.issueId),
    title: read.line(data.title),
    url,
    updatedAt: read.line(data.updatedAt),
  };
}

/** Ignores attachments that are not pull requests, such as files and chats. */
export const attachment = defineEvent(
  Attachment,
  (payload) => {
    const { action, data } = payload;
    const request = requestAt(read.url(data.url) ?? '');
    const about = data.title || 'Untitled';
    if (request === null) {
      return ignored(`Attachment: ${about}`, 'Tidings processes attachments that are pull requests only');
    }
    const title = `Pull request #${request.number}`;
    const facts = attachmentData(payload, request.url);
    if (action === 'remove') return processed(`${title} unlinked: ${about}`, 'issue', 'unlinked', facts);
    if (action === 'create' || action === 'update') {
      return processed(`${title} linked: ${about}`, 'issue', 'linked', facts);
    }
    return ignored(
      `${title} changed: ${about}`,
      `Tidings processes the actions create, update and remove, not ${action}`,
    );
  },
  (data: ReturnType<typeof attachmentData>, action) => ({
    type: 'issue',
    key: `link ${data.id}`,
    branch: null,
    times: [data.updatedAt],
    version: versionOf(data.updatedAt, action === 'unlinked' ? 1 : 0),
    data: {
      id: data.issueId,
      identifier: '',
      title: cutLine(data.title ?? '', MAX_TITLE_LENGTH),
      labels: [],
      team: null,
      project: null,
      author: null,
      url: null,
      isCompleted: false,
      linksTo: action === 'unlinked' ? null : data.url,
    },
  }),
);
