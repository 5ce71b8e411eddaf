import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Draft } from './histories.ts';

// Drafts as files for a person to read: what changes in them shows in a commit.

const FIXTURES = resolve(import.meta.dir, '../fixtures');

const PINNED = ['release-changelog', 'release-linkedin', 'push-changelog', 'pull-request-changelog'];

/**
 * The files of drafts, by name: the title, a line of where it comes from, and the text that is published, or the name of
 * an earlier file with the same text. Drafts of triggers with filters say much the same again, and are left out.
 */
export function pinsOf(drafts: readonly Draft[]): Record<string, string> {
  const pinned = drafts.filter(({ trigger }) => PINNED.includes(trigger));
  const named = pinned
    .map((draft) => {
      const version = String(draft.sourceMetadata.version ?? 'unreleased').replaceAll(/[^\w.-]/g, '-');
      return [`${draft.trigger}-${version}.md`, draft] as const;
    })
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const fileOf = new Map<string, string>();
  const pins = named.map(([name, { trigger, title, status, createdAt, sourceMetadata, ...draft }]) => {
    const from = `${trigger}, ${status}, ${createdAt}, ${JSON.stringify(sourceMetadata)}`;
    const text = draft.contentType === 'changelog' ? draft.markdown : draft.content;
    const earlier = fileOf.get(text);
    fileOf.set(text, earlier ?? name);
    return [name, `# ${title}\n\n${from}\n\n${earlier ? `(the text of ${earlier})` : text}\n`] as const;
  });
  const files = Object.fromEntries(pins);
  if (Object.keys(files).length !== pinned.length) throw new Error('two drafts have one name');
  return files;
}

export const HOW_TO_PIN =
  'if the drafts are better so, `bun test/support/month/pin.ts` writes the files anew';

/** The files of a folder of `test/fixtures`, by name. */
export async function readPins(folder: string): Promise<Record<string, string>> {
  const path = join(FIXTURES, folder);
  const names = (await readdir(path)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await Bun.file(join(path, name)).text()])),
  );
}

/** Makes a folder of `test/fixtures` hold these files and no others. */
export async function writePins(folder: string, pins: Record<string, string>): Promise<void> {
  const path = join(FIXTURES, folder);
  await mkdir(path, { recursive: true });
  for (const name of await readdir(path))
    if (!Object.hasOwn(pins, name)) await Bun.file(join(path, name)).delete();
  for (const [name, text] of Object.entries(pins)) await Bun.write(join(path, name), text);
}
