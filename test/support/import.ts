import { readRanges } from '../../src/drafting/triggers/ranges.ts';
import { readHistory } from '../../src/intake/history/read.ts';
import { type HistoryRequest, startHistory } from '../../src/intake/history/service.ts';
import { findHistory, type History } from '../../src/intake/history/store.ts';
import { postsOf, runAll } from './drafts.ts';
import { type Happening, projectOf } from './github-api/project.ts';
import { type ProviderApp, startProviderApp } from './provider-app.ts';
import type { TestApp } from './test-app.ts';

/** A day of January 2026, as GitHub writes times. */
export const day = (number: number, hour = 12) =>
  new Date(Date.UTC(2026, 0, number, hour)).toISOString().replace('.000Z', 'Z');

/** A public repository with this past, at GitHub's stand-in. */
export async function startProject(happenings: readonly Happening[], name = 'acme/rocket') {
  const world: ProviderApp = await startProviderApp();
  const repository = world.github.addRepository(name, {
    isPrivate: false,
    rights: { ann: 'admin' },
  });
  const project = projectOf(repository, world.app.clock, happenings);
  return { ...world, world, repository, project, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

export const request = (changes: Partial<HistoryRequest> = {}): HistoryRequest => ({
  type: 'github',
  organizationId: 'org_a',
  repository: 'acme/rocket',
  contentType: 'changelog',
  publish: false,
  ...changes,
});

/** Reads a history to its end or its first pause, and makes the drafts. */
export async function importAll(app: TestApp, changes: Partial<HistoryRequest> = {}): Promise<History> {
  const { id } = await startHistory(app.deps, request(changes));
  return goOn(app, id);
}

export async function goOn(app: TestApp, id: string): Promise<History> {
  await readHistory(app.deps, id);
  await readRanges(app.deps);
  await runAll(app);
  const history = await app.db.read((tx) => findHistory(tx, id));
  if (history === null) throw new Error('the history is gone');
  return history;
}

/** The posts without what differs from one database to another. */
export async function textsOf(app: TestApp, organizationId = 'org_a') {
  const posts = await postsOf(app, organizationId);
  return posts
    .map(({ id: _, updatedAt: __, sourceMetadata, ...post }) => {
      const { deliveryId: ___, triggerId: ____, ...source } = sourceMetadata ?? {};
      return { ...post, source };
    })
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}
