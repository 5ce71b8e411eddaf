import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Role } from '../db/engine.ts';
import { isSystemFailure, StorageLost } from '../db/failures.ts';
import { copyName } from '../db/sqlite/migrate.ts';
import { createApp } from './app.ts';
import { type Actor, SERVER } from './audit/model.ts';
import type { Config } from './config.ts';
import type { Deps, MediaPlace } from './deps.ts';
import { threadedComposer } from './drafts/thread.ts';
import { withHsts } from './http/hsts.ts';
import { type Fetch, pathOf } from './http/request.ts';
import { errorJson } from './http/respond.ts';
import { embeddedKeys } from './keys/embedded.ts';
import { tidings } from './lib/build.ts';
import { freeBytes } from './lib/disk.ts';
import { openFileStore } from './lib/file-store.ts';
import { type Logger, openLog } from './lib/log.ts';
import { createMetrics } from './lib/metrics.ts';
import { fetchWithoutRedirects } from './lib/network.ts';
import { randomIds } from './lib/text.ts';
import { systemClock } from './lib/time.ts';
import { type DataFolderOptions, databaseFile, openDataFolder } from './operate/data-folder.ts';
import { guardDescriptors } from './operate/descriptors.ts';
import { createElapsed, describeJump } from './operate/elapsed.ts';
import { type RunningJobs, startJobs } from './operate/jobs.ts';
import { type Leadership, startLeader } from './operate/leader.ts';
import { addProcessMetrics } from './operate/process-metrics.ts';
import { createReadiness, STOPPING } from './operate/readiness.ts';
import { LOOK_MS } from './operate/shared-clock.ts';
import type { OpenDatabase } from './operate/shared-database.ts';
import { findPublicUrl, newProcessName, trackUptime, type Uptime } from './operate/uptime.ts';
import { leaderJobs, processJobs, watchDatabase } from './operate/work.ts';
import { providerIds } from './providers/ids.ts';
import { threadedPainter } from './public/card-queue.ts';

/** How long requests in flight may take to finish after a signal; exit follows within 10 s of it. */
const DRAIN_MS = 8_000;

/**
 * How long a process that shares its database serves on after a signal, in milliseconds, while `/ready` says that it
 * stops: a load balancer needs that long to notice, and sends the next requests to the other processes.
 */
const LINGER_MS = 2_000;

/** How long each of the last two writes may wait for another process, so that the exit stays within 10 s. */
const LAST_WRITE_MS = 500;

/** How long a page may take that asks a provider for many things, such as the hooks of many repositories, in seconds. */
const PROVIDER_TIMEOUT_S = 240;

/** Paths that still get responses while the server stops. */
const PROBES: ReadonlySet<string> = new Set(['/ping', '/ready']);

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
    unkey === undefined ? embeddedKeys(base) : (await import('./keys/unkey.ts')).unkeyKeys(base, unkey);
  const publicUrl = (await findPublicUrl(base, config)) ?? publicUrlOf(config, config.port);
  return {
    ...base,
    keys,
    fetch: (request) => fetchWithoutRedirects(request),
    providerUrls: config.providerApis,
    plainHosts: config.plainHosts,
    hookPrivateHosts: config.hookPrivateHosts,
    openProviderApi: async (...asked) => {
      const { providerApis } = await import('./providers/index.ts');
      return providerApis(config.providerApis)(...asked);
    },
    openReader: async (...asked) => {
      const { repositoryReaders } = await import('./providers/index.ts');
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
function mediaPlaceOf({
  media,
  dataDir,
  database,
}: Pick<Config, 'media' | 'dataDir' | 'database'>): MediaPlace {
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
    const { openSharedDatabase } = await import('./operate/shared-database.ts');
    return openSharedDatabase(config.database, secretKey ?? '', role, { log, process });
  }
  const backupDir = config.backups?.dir;
  const { upgradedFrom, close, ...folder } = openDataFolder(dataDir, {
    secretKey,
    backupDir,
    newDatabase,
    allowNetwork,
    role,
  });
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

function publicUrlOf(config: Config, port: number | undefined): string {
  return config.publicUrl ?? `http://localhost:${port}`;
}

/**
 * Listens and starts the jobs. All or nothing: throws when the port is taken or the database cannot be written, and then
 * nothing listens.
 */
export async function startServer(services: Services, config: Config) {
  const publicUrl = () => publicUrlOf(config, server.port);
  let jobs: RunningJobs | undefined;
  let leadership: Leadership | undefined;
  let integrity: { isDamaged(): boolean; stop(): void } | undefined;
  // Rehearsals have a thread of their own, so that no draft has to wait for them.
  const rehearsals = threadedComposer();
  const painter = threadedPainter();
  let isStopping = false;
  let isRefusing = false;
  const whyNotReady = createReadiness({
    db: services.db,
    isStopping: () => isStopping,
    silentMs: () => jobs?.silentMs('run-triggers') ?? 0,
    freeBytes: () => (services.db.engine === 'sqlite' ? freeBytes(config.dataDir) : null),
    failedDeliveries: services.metrics.failedDeliveries,
    isDamaged: () => integrity?.isDamaged() ?? false,
  });
  const refuse = (reason: string) => errorJson(503, reason, { connection: 'close', 'retry-after': '1' });
  const app = createApp({
    ...services,
    publicUrl,
    compose: rehearsals.compose,
    readChangelog: rehearsals.readChangelog,
    async check(...asked) {
      const { checkWith } = await import('./drafts/check.ts');
      return checkWith(rehearsals)(...asked);
    },
    drawCard: painter.draw,
    whyNotReady,
    readyWarnings() {
      // Only the leader keeps the shared observation up to date.
      const jump = leadership?.isLeader() ? describeJump(services.elapsed.jumpMs()) : null;
      return jump === null ? [] : [`${jump.problem}. ${jump.advice}`];
    },
    extendTimeout: (request) => server.timeout(request, PROVIDER_TIMEOUT_S),
    peerAddress: (request) => server.requestIP(request)?.address ?? null,
    metricsToken: config.metricsToken,
    clientIpHeader: config.clientIpHeader,
    organizationCreation: config.organizationCreation,
  });
  if (config.publicUrl?.startsWith('https:') && config.clientIpHeader === undefined) {
    services.log.warn(
      "CLIENT_IP_HEADER is not set, so limits on sign-ins treat all clients behind the proxy as one. Set it to the header in which your proxy sends the client's address",
    );
  }
  const stopWatching = addProcessMetrics(services);
  const answer: Fetch = (request) => {
    if (isRefusing && !PROBES.has(pathOf(request))) return refuse(STOPPING);
    if (descriptors.isFull && !isRefusing) return refuse('Too many open connections');
    return app.fetch(request);
  };
  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    fetch: withHsts(answer, config.publicUrl, config.hsts),
    // Bun's own refusal of a large body has no body; ours does, and Bun buffers nothing that is not read.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // Longer than the pools of common proxies (Caddy: 120 s), so that their next request meets no reset.
    idleTimeout: 150,
    // Two servers on one port would share the requests between them, silently.
    reusePort: false,
    development: false,
  });
  const descriptors = guardDescriptors(services, () => server.closeIdleConnections());
  // Kept from the start: out of descriptors, a thread that has to be started takes the process with it.
  const composer = threadedComposer({ idleMs: null });
  const uptime = trackUptime({ ...services, publicUrl });
  const stopJobs = () => Promise.all([jobs?.stop(), leadership?.stop()]);
  /** Ends everything that was started, the listening socket first. */
  const stopAll = async () => {
    await server.stop(true);
    integrity?.stop();
    descriptors.stop();
    stopWatching();
    await stopJobs();
    composer.close();
    rehearsals.close();
    painter.close();
  };
  try {
    // The first write: a server that cannot write must not say that it listens.
    await services.db.read((tx) => services.elapsed.load(tx));
    await beginRun(services, uptime);
    const { sharedClock } = services;
    const watch =
      sharedClock === null
        ? { name: 'watch-database', every: 1_000, run: watchDatabase(services) }
        : { name: 'follow-clock', every: LOOK_MS, run: sharedClock.follow };
    jobs = startJobs(processJobs({ ...services, publicUrl }, composer.compose, uptime, watch), services);
    const backups = config.backups && (await import('./operate/backup/job.ts')).backupJobs(config, services);
    leadership = startLeader(services, (db) => [
      ...leaderJobs({ ...services, publicUrl, db }),
      ...(backups ?? []),
    ]);
    if (services.isSuspect)
      integrity = (await import('./operate/integrity.ts')).checkIntegrity(services, config.dataDir);
  } catch (error) {
    await stopAll();
    throw error;
  }
  // What runs from now on runs again.
  Bun.unsafe.setJITPolicy(1);
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;

  return {
    /** The listening address, such as `http://127.0.0.1:3000`. */
    url: `http://${host}:${server.port}`,
    /** The prefix of links. */
    publicUrl: publicUrl(),
    /** Stops the jobs, refuses further requests with 503, and waits for those in flight. */
    async stop() {
      isStopping = true;
      const deadline = Date.now() + DRAIN_MS;
      const jobsStopped = stopJobs();
      if (services.db.engine === 'postgres') await Bun.sleep(LINGER_MS);
      isRefusing = true;
      // Keep listening meanwhile for `/ready`. Closing waits for idle connections too, so count the requests.
      while (server.pendingRequests > 0 && Date.now() < deadline) await Bun.sleep(10);
      await stopAll();
      await jobsStopped;
      await uptime.beat(LAST_WRITE_MS).catch((error: unknown) => {
        // It is the reason for the stop.
        if (error instanceof StorageLost) return;
        services.log.warn({ err: error }, 'could not record when the server stopped');
      });
    },
  };
}

/** Records the start. Warns when the server was away for so long that deliveries may have been missed. */
async function beginRun({ db, log }: Services, uptime: Uptime): Promise<void> {
  const pause = await uptime.begin();
  if (pause === null) return;
  const [{ listIntegrations }, { providerOf }] = await Promise.all([
    import('./integrations/store.ts'),
    import('./providers/index.ts'),
  ]);
  const integrations = await db.read((tx) => listIntegrations(tx));
  const asked = integrations.filter(
    ({ type, isManaged, isPolled }) =>
      isManaged && !isPolled && providerOf(type).api?.listsDeliveries === true,
  );
  if (asked.length === 0) return;
  log.warn(
    { pause, integrations: asked.map(({ id }) => id) },
    `deliveries may be missing from the time when the server was down. To list them, run: ${tidings} integration missed ID`,
  );
}
