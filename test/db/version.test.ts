import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openDatabase } from '../../db/sqlite/client.ts';
import { temporaryFolder } from '../support/cli.ts';

// The version of the database, which tells whether a response can be given again.

test('a commit of another process changes the version at once, also within a turn of the event loop', async () => {
  const folder = temporaryFolder();
  const file = join(folder.path, 'tidings.db');
  const db = openDatabase(file, 'server');
  const other = openDatabase(file);
  try {
    const before = db.version();
    expect(before).toBeNumber();
    expect(db.version()).toBe(before);
    other.$client.run("INSERT INTO form_marks (mark, expires_at) VALUES ('a', 1)");
    // No turn ends in between: a connection that is opened after the commit may be served in the turn that was under way.
    expect(db.version()).not.toBe(before);
  } finally {
    await other.close();
    await db.close();
    folder.remove();
  }
});

test('a database that fails has no version', async () => {
  const folder = temporaryFolder();
  const db = openDatabase(join(folder.path, 'tidings.db'));
  await db.close();
  expect(db.version()).toBeNull();
  folder.remove();
});
