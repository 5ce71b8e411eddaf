import { join } from 'node:path';
import { openForInspection } from '../../db/sqlite/client.ts';
import { cliJson } from './cli.ts';
import { allRows, type Rows } from './rows.ts';

/** A data folder with a little of what people have, and a secret. */
export async function fillFolder(
  dataDir: string,
): Promise<{ integrationId: string; secret: string; webhookUrl: string }> {
  const json = (...words: string[]) => cliJson(dataDir, words);
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  await json('key', 'create', '--organization', 'acme', '--name', 'Site');
  const file = join(dataDir, 'posts.json');
  const posts = Array.from({ length: 20 }, (_, n) => ({
    id: `post_${n}`,
    title: `Post ${n}`,
    markdown: `Words ${n}`,
  }));
  await Bun.write(file, JSON.stringify(posts));
  await json('post', 'import', '--organization', 'acme', file);
  return json('integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b');
}

/** Leaves out the pages of the search index, which differ after a rebuild. */
export const withoutIndex = (rows: Rows): Rows =>
  Object.fromEntries(Object.entries(rows).filter(([name]) => !name.startsWith('post_search')));

/** Every row of the database of a folder that nobody has open. */
export async function rowsIn(dataDir: string): Promise<Rows> {
  const db = openForInspection(join(dataDir, 'tidings.db'));
  try {
    return await allRows(db);
  } finally {
    await db.close();
  }
}
