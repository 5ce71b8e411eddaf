import { expect, test } from 'bun:test';
import { draftsOf, listProjects, pinOf, readProject } from '../support/project-histories.ts';

const projects = await listProjects();

test('ten projects and more, each with its source and a license that allows it', async () => {
  expect(projects.length).toBeGreaterThanOrEqual(10);
  for (const name of projects) {
    expect(await readProject(name)).toMatchObject({ license: 'MIT', source: expect.stringMatching(/\S/) });
  }
});

test.each(projects)('the drafts of %s are those that a person has read', async (name) => {
  // If they are better now, `PIN=1 bun test test/history/projects.test.ts` writes them again.
  if (Bun.env.PIN === '1') await Bun.write(pinOf(name), await draftsOf(name));
  expect(await draftsOf(name)).toBe(await pinOf(name).text());
});
