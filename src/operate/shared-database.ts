import type { Database, Role } from '../../db/engine.ts';
import { PostgresError } from '../../db/failures.ts';
import { readServerTime } from '../../db/postgres/clock.ts';
import { claimKeyFingerprint } from '../../db/postgres/fingerprint.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../lib/log.ts';
import { keyFingerprint, type SecretBox, secretBox } from '../lib/secret-box.ts';
import { openSharedClock, type SharedClock } from './shared-clock.ts';

/** The open database, whichever engine it is of. */
export interface OpenDatabase {
  db: Database;
  /** The content API reads posts from it: the read replica while it is fresh, or the database. */
  contentDb: Pick<Database, 'read'>;
  secrets: SecretBox;
  /** The clock that all processes follow. Absent where there is only one. */
  sharedClock?: SharedClock;
  /** Whether to look for damage. */
  isSuspect?: boolean;
  /** Resolves with a failure that only another start can end. */
  failed?: Promise<Error>;
  /** Throws `DataFolderError` after such a failure. */
  close(): Promise<void>;
}

/**
 * Opens the PostgreSQL that all processes share, and upgrades its schema. Throws `PostgresError` when it cannot
 * be reached or used, and when its secrets were encrypted with another key.
 */
export async function openSharedDatabase(
  { url, readUrl, pool }: NonNullable<Config['database']>,
  secretKey: string,
  role: Role,
  { log, process }: { log: Logger; process: string },
): Promise<OpenDatabase> {
  // Loaded only where it is used: a process on the embedded file starts faster without.
  const { openPostgres } = await import('../../db/postgres/client.ts');
  const { openReplica } = await import('../../db/postgres/replica.ts');
  const db = await openPostgres(url, role, { poolSize: pool, process, log });
  try {
    const key = Buffer.from(secretKey, 'base64');
    const fingerprint = keyFingerprint(key);
    if ((await claimKeyFingerprint(db, fingerprint)) !== fingerprint) {
      throw new PostgresError(
        'SECRET_KEY is not the key that the secrets of this database were encrypted with. Set SECRET_KEY to the right key on every process. If it is lost, see "A lost key" in docs/postgresql.md',
      );
    }
    const replica =
      role === 'server' && readUrl !== undefined
        ? await openReplica(db, readUrl, { poolSize: pool, log })
        : null;
    const sharedClock = await openSharedClock({ readNow: () => readServerTime(db), log });
    const close = async () => {
      await replica?.close();
      await db.close();
    };
    return { db, contentDb: replica ?? db, secrets: secretBox(key), sharedClock, close };
  } catch (error) {
    await db.close();
    throw error;
  }
}
