import type { Database as Sqlite } from 'bun:sqlite';
import contentApi from './migrations/0000_content_api.sql' with { type: 'text' };
import postCounts from './migrations/0001_post_counts.sql' with { type: 'text' };
import webhooks from './migrations/0002_webhooks.sql' with { type: 'text' };
import triggers from './migrations/0003_triggers.sql' with { type: 'text' };
import users from './migrations/0004_users.sql' with { type: 'text' };
import deliveryProblems from './migrations/0005_delivery_problems.sql' with { type: 'text' };
import postSearch from './migrations/0006_post_search.sql' with { type: 'text' };
import deliveryHeaders from './migrations/0007_delivery_headers.sql' with { type: 'text' };
import deliveryDays from './migrations/0008_delivery_days.sql' with { type: 'text' };
import providerHooks from './migrations/0009_provider_hooks.sql' with { type: 'text' };
import hardening from './migrations/0010_hardening.sql' with { type: 'text' };
import providerTypes from './migrations/0011_provider_types.sql' with { type: 'text' };

/**
 * Every migration, oldest first, embedded so that a compiled binary carries them (drizzle's own `migrate()`
 * reads a folder at run time). SQLite's `user_version` counts those that a file has had.
 */
export const migrations: readonly string[] = [
  contentApi,
  postCounts,
  webhooks,
  triggers,
  users,
  deliveryProblems,
  postSearch,
  deliveryHeaders,
  deliveryDays,
  providerHooks,
  hardening,
  providerTypes,
];

/**
 * Applies the migrations that the file has not had: all of them or, when one fails, none.
 * Throws when the file has had more than this version knows.
 */
export function migrate(sqlite: Sqlite): void {
  const applyPending = sqlite.transaction(() => {
    // Read again inside the write lock: two processes may start on one fresh folder.
    const applied = readVersion(sqlite);
    for (const migration of migrations.slice(applied)) {
      for (const statement of migration.split('--> statement-breakpoint')) sqlite.run(statement);
    }
    sqlite.run(`PRAGMA user_version = ${migrations.length}`);
  });

  const version = readVersion(sqlite);
  if (version > migrations.length) {
    throw new Error(
      `The database was written by a newer Tidings (schema ${version}; this one knows ${migrations.length}). Start that version, or a newer one.`,
    );
  }
  if (version === migrations.length) return;
  // Rebuilding a table drops it, which would delete the rows that refer to it. Inside a transaction the switch has no
  // effect.
  sqlite.run('PRAGMA foreign_keys = OFF');
  try {
    applyPending.immediate();
  } finally {
    sqlite.run('PRAGMA foreign_keys = ON');
  }
}

/** How many migrations the file has had. */
export function readVersion(sqlite: Sqlite): number {
  const row = sqlite.query<{ user_version: number }, []>('PRAGMA user_version').get();
  return row?.user_version ?? 0;
}
