import { type Static, Type } from '@sinclair/typebox';
import { bodyOf, lineOf, MaybeText, personOf, textOf, urlOf } from '../../fields.ts';
import type { EventResult } from '../../provider.ts';
import { ignored, processed } from '../../results.ts';
import { Actor, type Named } from './fields.ts';

/** A report on how a project or an initiative goes. */
export interface ProjectUpdateData {
  id: string;
  /** What it reports on. */
  about: Named & { kind: 'project' | 'initiative'; url: string | null };
  /** In Markdown, at most 200,000 characters; null when only the health was told. */
  body: string | null;
  /** `onTrack`, `atRisk`, `offTrack`. */
  health: string | null;
  /** The name of whoever wrote it. */
  author: string | null;
  /** ISO 8601. */
  createdAt: string | null;
  url: string | null;
}

export const Subject = Type.Object({
  id: Type.String({ minLength: 1 }),
  name: Type.String(),
  url: MaybeText,
});

/** What both kinds of updates hold beside their subject. */
export const updateFields = {
  id: Type.String({ minLength: 1 }),
  body: MaybeText,
  health: MaybeText,
  user: Actor,
  createdAt: MaybeText,
  url: MaybeText,
};

const Update = Type.Object(updateFields);
const HAPPENED = new Map([
  ['create', 'posted'],
  ['update', 'edited'],
  ['remove', 'removed'],
]);

export function handleUpdate(
  { action, data, url }: { action: string; data: Static<typeof Update>; url?: string | null },
  kind: 'project' | 'initiative',
  subject: Static<typeof Subject>,
): EventResult {
  const what = kind === 'project' ? 'Project update' : 'Initiative update';
  const title = `${what} ${HAPPENED.get(action) ?? 'changed'}: ${subject.name}`;
  if (action !== 'create') {
    return ignored(title, `Only new updates are processed, not the action ${action}`);
  }
  const about = {
    kind,
    id: textOf(subject.id),
    name: textOf(subject.name),
    url: urlOf(subject.url),
  };
  const update: ProjectUpdateData = {
    id: textOf(data.id),
    about,
    body: bodyOf(data.body),
    health: lineOf(data.health),
    author: personOf(data.user?.name),
    createdAt: lineOf(data.createdAt),
    url: urlOf(data.url) ?? urlOf(url),
  };
  return processed(title, { type: 'project_update', action: 'created', data: update });
}
