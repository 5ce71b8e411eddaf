import { Database as Sqlite } from 'bun:sqlite';
import { expect, spyOn, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase, openForInspection } from '../../db/sqlite/client.ts';
import { temporaryFolder } from '../support/cli.ts';

test.each([openDatabase, openForInspection])('a file that is no database is closed again: %p', (open) => {
  const { path, remove } = temporaryFolder();
  const file = join(path, 'tidings.db');
  writeFileSync(file, 'no database '.repeat(1_000));
  using close = spyOn(Sqlite.prototype, 'close');
  expect(() => open(file)).toThrow('file is not a database');
  expect(close).toHaveBeenCalledTimes(1);
  remove();
});
