import { readdirSync, readFileSync } from 'node:fs';
import { StorageLost } from '../../db/failures.ts';
import { checkWith } from '../drafting/check.ts';
import { threadedComposer } from '../drafting/thread.ts';
import { type Fetch, pathOf, withHsts } from '../http/request.ts';
import { errorJson } from '../http/respond.ts';
import { listIntegrations } from '../integrations/store.ts';
import { trackUptime, type Uptime } from '../integrations/uptime.ts';
import { tidings } from '../lib/build.ts';
import { freeBytes } from '../lib/disk.ts';
import type { Logger } from '../lib/log.ts';
import { endOtherSessions } from '../people/oidc/sign-in.ts';
import { providerOf } from '../providers/index.ts';
import { threadedPainter } from '../readers/public/cards.ts';
import { createApp } from './app.ts';
import { attentionJob } from './attention.ts';
import { leaderWatch } from './attention-machine.ts';
import type { Config } from './config.ts';
import { describeJump, LOOK_MS } from './elapsed.ts';
import { type Leadership, type RunningJobs, startJobs, startLeader } from './jobs.ts';
import { addProcessMetrics } from './metrics.ts';
import { createReadiness, STOPPING } from './readiness.ts';
import { LAST_WRITE_MS, publicUrlOf, type Services } from './services.ts';
import { leaderJobs, processJobs, watchDatabase } from './work.ts';

/** How long requests in flight may take to finish after a signal; exit follows within 10 s of it. */
const DRAIN_MS = 8_000;

/**
 * How long a process that shares its database serves on after a signal, in milliseconds, while `/ready` says that it
 * stops: a load balancer needs that long to notice, and sends the next requests to the other processes.
 */
const LINGER_MS = 2_000;

/** How long a page may take that asks a provider for many things, such as the hooks of many repositories, in seconds. */
const PROVIDER_TIMEOUT_S = 240;

/** Paths that still get responses while the server stops. */
const PROBES: ReadonlySet<string> = new Set(['/ping', '/ready']);

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
    check: checkWith(rehearsals),
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
    await endOtherSessions(services);
    const { sharedClock } = services;
    const watch =
      sharedClock === null
        ? {
            name: 'watch-database',
            effect: 'Nobody is told when the log of the database keeps growing. Readers notice nothing.',
            every: 1_000,
            run: watchDatabase(services),
          }
        : {
            name: 'follow-clock',
            effect: 'Scheduled posts may be published early or late.',
            every: LOOK_MS,
            run: sharedClock.follow,
          };
    const own = { ...services, publicUrl };
    jobs = startJobs(processJobs(own, composer.compose, uptime, [watch, leaderWatch(own)]), services);
    const backups = config.backups && (await import('./backup/job.ts')).backupJobs(config, services);
    leadership = startLeader(services, (db) => [
      ...leaderJobs({ ...services, publicUrl, db }, composer.compose),
      ...(backups ?? []),
      attentionJob(
        { ...services, publicUrl, db, checkpointFailures: services.db.checkpointFailures },
        config,
      ),
    ]);
    if (services.isSuspect)
      integrity = (await import('./readiness.ts')).checkIntegrity(services, config.dataDir);
  } catch (error) {
    await stopAll();
    throw error;
  }
  // Code that runs from now on runs again.
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

/** Records the start. Warns of deliveries that nobody requests again when the server was away for long. */
async function beginRun({ db, log }: Services, uptime: Uptime): Promise<void> {
  const pause = await uptime.begin();
  if (pause === null) return;
  const integrations = await db.read((tx) => listIntegrations(tx));
  const manual = integrations.filter(
    ({ type, isManaged, isPolled }) => !isManaged && !isPolled && providerOf(type).api !== null,
  );
  if (manual.length === 0) return;
  log.warn(
    { pause, integrations: manual.map(({ id }) => id) },
    `deliveries may be missing from the time when the server was down. So that Tidings requests them again, run: ${tidings} integration set-token ID`,
  );
}

/** Descriptors that connections may not take: for the database, its log, threads, DNS and providers. */
const RESERVED = 64;

/** How often to look, in milliseconds. */
const EVERY_MS = 500;

/** The limit on open file descriptors; null where the system does not report it, which only Linux does. */
export function readDescriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Open descriptors. With none left, even counting fails. */
function countDescriptors(limit: number): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return limit;
  }
}

/**
 * Keeps connections from using every file descriptor. Above the limit it closes idle connections and reports that it is
 * full. Tests replace `limit` and `count`.
 */
export function guardDescriptors(
  { log }: { log: Logger },
  closeIdle: () => number,
  limit = readDescriptorLimit(),
  count = countDescriptors,
) {
  // A very low limit still leaves half to connections.
  const allowed = limit === null ? null : Math.max(limit - RESERVED, Math.floor(limit / 2));
  const guard = {
    /** New requests should be refused, because their connections use up the descriptors. */
    isFull: false,
    /** Counts now; otherwise twice a second. */
    look,
    stop: () => clearInterval(timer),
  };
  function look(): void {
    if (limit === null || allowed === null) return;
    const wasFull = guard.isFull;
    guard.isFull = count(limit) > allowed;
    if (!guard.isFull) return;
    const closed = closeIdle();
    if (wasFull) return;
    log.warn(
      { limit, allowed, closed },
      'too many open connections; raise the limit of open files (ulimit -n) or put a proxy in front',
    );
  }
  const timer = setInterval(look, EVERY_MS);
  return guard;
}
