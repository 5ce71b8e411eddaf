import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { postsOf } from './drafts.ts';
import type { Happening } from './github-api/project.ts';
import { importAll, startProject } from './import.ts';

// The past of public projects, each as a file of `test/fixtures/histories`, and the drafts that an import makes of it.

const FOLDER = resolve(import.meta.dir, '../fixtures/histories');

interface ProjectHistory {
  repository: string;
  /** The origin of the notes. */
  source: string;
  license: 'MIT';
  /** Newest first. */
  releases: {
    tag: string;
    at: string;
    notes: string | null;
    merged?: { number: number; title: string; body?: string; labels?: string[]; author?: string }[];
    /** The messages of commits. */
    pushed?: string[];
  }[];
}

/** The names of the projects. */
export async function listProjects(): Promise<string[]> {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.json'));
  return files.map((name) => name.replace('.json', '')).sort();
}

export const readProject = (name: string): Promise<ProjectHistory> =>
  Bun.file(join(FOLDER, `${name}.json`)).json();

/** Events of a project, oldest first; the changes of a release an hour before it. */
function happeningsOf({ releases }: ProjectHistory): Happening[] {
  const [oldest] = releases.toReversed();
  const before = (at: string, hours: number) => new Date(Date.parse(at) - hours * 3_600_000).toISOString();
  return [
    { at: before(oldest?.at ?? '', 24), push: ['Start'] },
    ...releases
      .toReversed()
      .flatMap(({ tag, at, notes, merged = [], pushed = [] }): Happening[] => [
        ...(pushed.length === 0 ? [] : [{ at: before(at, 2), push: pushed }]),
        ...merged.map(({ number, ...pull }) => ({ at: before(at, 1), merge: number, ...pull })),
        { at, release: tag, notes },
      ]),
  ];
}

/** The drafts of a project as one text for a person to read, newest first. Those that repeat the notes only say so. */
export async function draftsOf(name: string): Promise<string> {
  const project = await readProject(name);
  await using world = await startProject(happeningsOf(project), project.repository);
  for (const contentType of ['changelog', 'linkedin_post'] as const) {
    await importAll(world.app, { repository: project.repository, contentType });
  }
  const posts = (await postsOf(world.app)).toSorted((one, other) =>
    one.contentType < other.contentType ? -1 : Number(one.contentType > other.contentType),
  );
  const notes = new Set(project.releases.map((release) => `${release.at} ${release.notes}`));
  const texts = posts.map(({ title, contentType, createdAt, markdown, content }) => {
    const isNotes = notes.has(`${createdAt.replace('.000', '')} ${markdown}`);
    const text = contentType !== 'changelog' ? content : isNotes ? '(the notes of the release)' : markdown;
    return `──── ${title} · ${contentType} · ${createdAt.slice(0, 10)}\n${text}\n`;
  });
  return texts.join('\n');
}

export const pinOf = (name: string) => Bun.file(join(FOLDER, `${name}.drafts.md`));
