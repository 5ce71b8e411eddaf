import { afterAll, expect, test } from 'bun:test';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

test('organization rename changes the name and nothing else', async () => {
  const made = await cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
  const rename = (id: string, name: string) => ['organization', 'rename', id, '--name', name];
  const renamed = await cliJson(folder.path, rename('acme', ' Beta '));
  expect(renamed).toEqual({ ...made, name: 'Beta' });
  expect((await cli(folder.path, rename('acme', ' '))).stderr).toContain('--name must not be empty');
  expect((await cli(folder.path, rename('nobody', 'X'))).stderr).toContain('Organization nobody not found');
  expect(await cliJson(folder.path, ['organization', 'list'])).toEqual([renamed]);
});
