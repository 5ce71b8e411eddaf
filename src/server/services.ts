import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Role } from '../../db/engine.ts';
import { isSystemFailure, StorageLost } from '../../db/failures.ts';
import { copyName } from '../../db/sqlite/migrate.ts';
import { findPublicUrl, newProcessName } from '../integrations/uptime.ts';
import { openFileStore } from '../lib/file-store.ts';
import { type Logger, openLog } from '../lib/log.ts';
import { createMetrics } from '../lib/metrics.ts';
import { fetchWithoutRedirects } from '../lib/public-fetch.ts';
import { randomIds } from '../lib/text.ts';
import { systemClock } from '../lib/time.ts';
import { type Actor, SERVER } from '../people/audit.ts';
import type { Deps, MediaPlace } from '../people/deps.ts';
import { embeddedKeys } from '../people/keys/store.ts';
import { identityProvider } from '../people/oidc/provider.ts';
import { providerIds } from '../providers/ids.ts';
import type { Config } from './config.ts';
import { type DataFolderOptions, databaseFile, openDataFolder } from './data-folder.ts';
import { createElapsed } from './elapsed.ts';
import type { OpenDatabase } from './move.ts';

/** How long each of the last two writes may wait for another process, so that the exit stays within 10 s. */
export const LAST_WRITE_MS = 500;

/** Services of the server and of every command. `close` writes pending key usage and closes the database. */
export type Services = Awaited<ReturnType<typeof openServices>>;

/**
 * Opens the database, which is PostgreSQL or in the data folder, and puts the services on it. Throws `DataFolderError`
 * or `PostgresError`.
 */
export async function openServices(
  config: Config,
  role: Role = 'command',
  { newDatabase }: Pick<DataFolderOptions, 'newDatabase'> = {},
) {
  const process = newProcessName();
  // Only where several processes may write to one log.
  const log = await openLog(config, {
    base: config.database === undefined ? {} : { process },
    isOutage: isSystemFailure,
  });
  const {
    close,
    sharedClock = null,
    ...opened
  } = await openStorage(config, role, { log, process, newDatabase });
  const clock = sharedClock?.clock ?? systemClock;
  const base = {
    ...opened,
    process,
    clock,
    sharedClock,
    elapsed: createElapsed({ clock }),
    ids: randomIds,
    log,
    metrics: createMetrics(providerIds),
    actor: actorOf(role),
  };
  const { unkey } = config;
  // Unkey's SDK loads as slowly as everything else together.
  const keys =
    unkey === undefined
      ? embeddedKeys(base)
      : (await import('../people/keys/unkey.ts')).unkeyKeys(base, unkey);
  const publicUrl = (await findPublicUrl(base, config)) ?? publicUrlOf(config, config.port);
  return {
    ...base,
    keys,
    fetch: (request) => fetchWithoutRedirects(request),
    providerUrls: config.providerApis,
    plainHosts: config.plainHosts,
    hookPrivateHosts: config.hookPrivateHosts,
    identityProvider: config.oidc && identityProvider(config.oidc, { ...config, clock }),
    assistant: config.assistant,
    openProviderApi: async (...asked) => {
      const { providerApis } = await import('../providers/index.ts');
      return providerApis(config.providerApis)(...asked);
    },
    openReader: async (...asked) => {
      const { repositoryReaders } = await import('../providers/index.ts');
      return repositoryReaders(config.providerApis)(...asked);
    },
    publicUrl: () => publicUrl,
    media: mediaPlaceOf(config),
    async close() {
      try {
        await keys.flush({ all: true, giveUpMs: LAST_WRITE_MS });
      } catch (error) {
        if (!(error instanceof StorageLost))
          base.log.error({ err: error }, 'the last uses of keys could not be stored');
      } finally {
        await close();
      }
    },
  } satisfies Deps & { close(): Promise<void> };
}

/** Processes that share a database need a place that all of them reach. */
function mediaPlaceOf({ media, dataDir, database }: Config): MediaPlace {
  const { dir = join(resolve(dataDir), 'media'), s3, quotaMb } = media;
  const isOff = database !== undefined && !dir.startsWith('s3://');
  return {
    files: isOff ? null : openFileStore(dir.startsWith('s3://') ? dir : resolve(dir), s3),
    whyOff: isOff
      ? 'With PostgreSQL, images need a bucket that all processes share. Set MEDIA_DIR to s3://bucket/prefix'
      : null,
    quotaBytes: quotaMb * 1024 * 1024,
  };
}

/** `close` closes the database. */
async function openStorage(
  config: Config,
  role: Role,
  { log, process, newDatabase }: { log: Logger; process: string; newDatabase: boolean | undefined },
): Promise<OpenDatabase> {
  const { dataDir, secretKey, allowNetwork } = config;
  if (config.database !== undefined) {
    const { openSharedDatabase } = await import('./move.ts');
    return openSharedDatabase(config.database, secretKey ?? '', role, { log, process });
  }
  const backupDir = config.backups?.dir;
  const options = { secretKey, backupDir, newDatabase, allowNetwork, role };
  const { upgradedFrom, close, ...folder } = openDataFolder(dataDir, options);
  if (upgradedFrom !== null) {
    const keptAs = copyName(databaseFile(dataDir), upgradedFrom);
    log.info({ upgradedFrom, keptAs }, 'upgraded the database');
  }
  return {
    ...folder,
    contentDb: folder.db,
    failed: folder.db.failed,
    async close() {
      await folder.db.settle();
      close();
    },
  };
}

/** The server itself, or the person who runs a command. */
export function actorOf(role: Role): Actor {
  if (role === 'server') return SERVER;
  return { type: 'command_line', id: null, name: systemUser(), address: null };
}

/** By the user id, which cannot be faked: `os.userInfo` in Bun believes $USER. A container's id may have no name. */
function systemUser(): string | null {
  const uid = process.getuid?.();
  if (uid === undefined) return null;
  try {
    const line = new RegExp(`^([^:\n]+):[^:\n]*:${uid}:`, 'm').exec(readFileSync('/etc/passwd', 'utf8'));
    return line?.[1] ?? `uid ${uid}`;
  } catch {
    return `uid ${uid}`;
  }
}

export function publicUrlOf(config: Config, port: number | undefined): string {
  return config.publicUrl ?? `http://localhost:${port}`;
}
