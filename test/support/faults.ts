import { type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/engine.ts';
import { execute, sqliteOf } from './database.ts';

// Faults of a database. Each function resolves to one that ends the fault.

/** Errors of PostgreSQL. */
const refusals = {
  'read-only': { code: '25006', message: 'cannot write in a read-only transaction' },
  'disk-full': { code: '53100', message: 'could not extend file: No space left on device' },
};

/** The database refuses every write, as on a disk that is read-only or full. A full disk may have room for a few. */
export async function refuseWrites(db: Database, fault: keyof typeof refusals): Promise<() => Promise<void>> {
  if (db.engine === 'postgres') {
    const { code, message } = refusals[fault];
    await execute(db, faultFunction(message, code));
    await execute(
      db,
      forEachTable('create trigger fault before insert or update or delete on %I execute function fault()'),
    );
    return () => execute(db, forEachTable('drop trigger fault on %I'));
  }
  const { $client } = sqliteOf(db);
  if (fault === 'read-only') {
    $client.run('PRAGMA query_only = ON');
    return async () => void $client.run('PRAGMA query_only = OFF');
  }
  const pages = Number($client.query('PRAGMA page_count').values()[0]?.[0]);
  $client.run(`PRAGMA max_page_count = ${pages}`);
  return async () => void $client.run('PRAGMA max_page_count = 1000000');
}

/** Each insert into a table, or update of it, fails with `message`. */
export async function refuseRows(
  db: Database,
  change: 'insert' | 'update',
  table: string,
  message: string,
): Promise<() => Promise<void>> {
  if (db.engine === 'postgres') {
    await execute(db, faultFunction(message, 'P0001'));
    await execute(
      db,
      `create trigger fault before ${change} on ${table} for each row execute function fault()`,
    );
    return () => execute(db, `drop trigger fault on ${table}`);
  }
  await execute(
    db,
    `create trigger fault before ${change} on ${table} begin select raise(abort, '${message}'); end`,
  );
  return () => execute(db, 'drop trigger fault');
}

function faultFunction(message: string, code: string): SQL {
  return sql.raw(`create or replace function fault() returns trigger language plpgsql as
    $$ begin raise exception '${message}' using errcode = '${code}'; end $$`);
}

function forEachTable(statement: string): SQL {
  return sql.raw(`do $$ declare name text; begin
    for name in select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
    loop execute format('${statement}', name); end loop; end $$`);
}
