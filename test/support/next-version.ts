import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrations } from '../../db/postgres/migrate.ts';
import { newFolder } from './folder.ts';
import { root } from './server.ts';

/**
 * Copies this version into a new folder and adds a migration to it, as the next version would. Returns the folder.
 * `worksWithThis`: the migration says that this version works with it.
 */
export function makeNextVersion(statement: string, { worksWithThis }: { worksWithThis: boolean }): string {
  const folder = newFolder('next');
  for (const name of ['db', 'src', 'package.json', 'tsconfig.json', 'bunfig.toml', 'text-imports.d.ts']) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const declared = worksWithThis ? `-- oldest compatible: ${migrations.length}\n` : '';
  writeFileSync(join(folder, 'db/postgres/migrations/next.sql'), `${declared}${statement};\n`);
  const list = join(folder, 'db/postgres/migrate.ts');
  const before = readFileSync(list, 'utf8');
  const after = before.replace(/(export const migrations\b[^=]*= \[[^\]]*)\]/, '$1, next]');
  if (after === before) throw new Error(`${list} has no list of migrations`);
  writeFileSync(list, `import next from './migrations/next.sql' with { type: 'text' };\n${after}`);
  return folder;
}
