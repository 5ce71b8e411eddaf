import { Type } from '@sinclair/typebox';
import { MaybeText, maybe, personOf, textOf, urlOf } from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed } from '../../results.ts';
import { Account } from './fields.ts';

/** A tag that was pushed. */
export interface TagData {
  name: string;
  /** The login of whoever made it. */
  author: string | null;
  /** The page of what is at the tag. */
  url: string | null;
}

const Create = Type.Object({
  ref: Type.String({ minLength: 1 }),
  ref_type: Type.String({ minLength: 1 }),
  sender: Account,
  repository: maybe(Type.Object({ html_url: MaybeText }), 'a repository'),
});

/** docs.github.com/webhooks/webhook-events-and-payloads#create. Not sent when more than three tags come at once. */
export const create = defineEvent(Create, ({ ref, ref_type: kind, sender, repository }) => {
  if (kind !== 'tag') {
    return ignored(`New ${kind}: ${ref}`, `Only new tags are processed; this is a new ${kind}`);
  }
  const home = urlOf(repository?.html_url);
  const data: TagData = {
    name: textOf(ref),
    author: personOf(sender?.login),
    url: home && urlOf(`${home}/tree/${ref.split('/').map(encodeURIComponent).join('/')}`),
  };
  return processed(`Tag ${ref} created`, { type: 'tag', action: 'created', data });
});
