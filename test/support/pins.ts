import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Draft } from './histories.ts';

// Drafts as files for a person to read: what changes in them shows in a commit.

const FIXTURES = resolve(import.meta.dir, '../fixtures');

const PINNED = ['release-changelog', 'release-linkedin', 'push-changelog', 'pull-request-changelog'];

/**
 * The files of drafts, by name: the title, a line of where it comes from, and the text that is published. Drafts of
 * triggers with filters say much the same again, and are left out.
 */
export function pinsOf(drafts: readonly Draft[]): Record<string, string> {
  const pinned = drafts.filter(({ trigger }) => PINNED.includes(trigger));
  const pins = pinned.map(({ trigger, title, status, createdAt, sourceMetadata, ...draft }) => {
    const version = String(sourceMetadata.version ?? 'unreleased').replaceAll(/[^\w.-]/g, '-');
    const from = `${trigger}, ${status}, ${createdAt}, ${JSON.stringify(sourceMetadata)}`;
    const text = draft.contentType === 'changelog' ? draft.markdown : draft.content;
    return [`${trigger}-${version}.md`, `# ${title}\n\n${from}\n\n${text}\n`] as const;
  });
  const named = Object.fromEntries(pins.sort(([one], [other]) => (one < other ? -1 : 1)));
  if (Object.keys(named).length !== pinned.length) throw new Error('two drafts have one name');
  return named;
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
