import type { Database } from '../../db/engine.ts';
import type { Compose } from '../drafting/store.ts';
import type { TriggerDeps } from '../drafting/triggers/run.ts';
import { BEAT_MS, type Uptime } from '../integrations/uptime.ts';
import { lazily } from '../lib/bounded-map.ts';
import type { Logger } from '../lib/log.ts';
import type { Deps } from '../people/deps.ts';
import { describeJump, type Elapsed } from './elapsed.ts';
import type { Job } from './jobs.ts';

// The jobs of a server. The work of each loads at its first run, after the server listens.

/** Rests of jobs that somebody waits for, and of those that ask a provider, whose own waits are longer. */
const SHORT_REST_MS = 1_000;
const LONG_REST_MS = 5_000;

/** How often to look at the certificate of `PUBLIC_URL`, in milliseconds. */
const CERTIFICATE_MS = 3_600_000;

/** Work that loads at its first run, and keeps something between its runs. */
function late(load: () => Promise<Job['run']>): Job['run'] {
  const work = lazily(load);
  return async (...given) => (await work())(...given);
}

/**
 * Looks at the files of the database, which nobody else does without deliveries and probes. Logs checkpoints that fail,
 * once until one succeeds.
 */
export function watchDatabase({ db, log }: { db: Database; log: Logger }): () => Promise<void> {
  let isFailing = false;
  return async () => {
    await db.health();
    const { inARow = 0, cause = null } = db.checkpointFailures?.() ?? {};
    if (inARow > 0 && !isFailing)
      log.error({ cause }, 'the write-ahead log cannot be copied into the database, and keeps growing');
    if (inARow === 0 && isFailing) log.info('the write-ahead log is copied into the database again');
    isFailing = inARow > 0;
  };
}

/** The jobs of each process. Several may run them at the same time. */
export function processJobs(
  deps: Deps & Pick<TriggerDeps, 'db'>,
  compose: Compose,
  uptime: Pick<Uptime, 'beat'>,
  watches: readonly Job[],
): Job[] {
  return [
    ...watches,
    // Each process collects the uses that it saw.
    {
      name: 'record-key-usage',
      effect: 'The last use of API keys is not recorded. Readers notice nothing.',
      every: 1_000,
      run: () => deps.keys.flush(),
    },
    // One process reads a history at a time, and another takes a run of a trigger.
    {
      name: 'read-histories',
      effect: 'Past releases that somebody imports make no drafts.',
      every: 1_000,
      restMs: LONG_REST_MS,
      run: async (signal) => (await import('../intake/history/read.ts')).readDueHistories(deps, signal),
    },
    {
      name: 'run-triggers',
      effect: 'Changes make no drafts until it works again. None is lost.',
      every: 250,
      restMs: SHORT_REST_MS,
      run: late(async () => (await import('../drafting/triggers/run.ts')).createTriggerWorker(deps, compose)),
    },
    {
      name: 'beat',
      effect: 'Commands say that no server runs. Readers notice nothing.',
      every: BEAT_MS,
      run: () => uptime.beat(),
    },
  ];
}

/** The jobs of the leader. The leader makes the scheduled backups too. */
export function leaderJobs(deps: Deps & { elapsed: Elapsed }, compose: Compose): Job[] {
  const { clock, log, assistant } = deps;
  const runningSince = clock.now();
  let knownJump: string | null = null;
  return [
    {
      name: 'publish-scheduled',
      effect: 'Scheduled posts are not published, so readers do not see them.',
      every: 1_000,
      run: async (signal) =>
        (await import('../posts/schedule.ts')).publishDuePosts(deps, { signal, runningSince }),
    },
    {
      name: 'make-roundups',
      effect: 'Roundups are not drafted at their time.',
      every: 5_000,
      run: late(async () =>
        (await import('../drafting/roundups/make.ts')).createRoundupWorker(deps, compose),
      ),
    },
    {
      name: 'sync-hooks',
      effect: 'Webhooks keep their old settings, and deliveries with an old secret may be rejected.',
      every: 2_000,
      restMs: LONG_REST_MS,
      run: async (signal) => (await import('../integrations/rotate.ts')).syncHooks(deps, signal),
    },
    {
      name: 'recovery',
      effect: 'Missed deliveries make no drafts.',
      every: 10_000,
      restMs: 60_000,
      run: late(async () => {
        const { recoverDue } = await import('../intake/recovery.ts');
        const { certificateOf } = await import('../integrations/heartbeat.ts');
        let isStart = true;
        let certificate: string | null = null;
        let lookedAt = Number.NEGATIVE_INFINITY;
        return async (signal) => {
          if (performance.now() - lookedAt >= CERTIFICATE_MS) {
            lookedAt = performance.now();
            certificate = await certificateOf(deps.publicUrl());
          }
          await recoverDue(deps, { signal, isStart, startedAt: runningSince, certificate });
          isStart = false;
        };
      }),
    },
    {
      name: 'poll',
      effect: 'Changes that are polled make no drafts.',
      every: 1_000,
      restMs: LONG_REST_MS,
      run: async (signal) => (await import('../intake/polling/poll.ts')).pollDue(deps, signal),
    },
    {
      name: 'watch-tokens',
      effect: 'Nobody is told of tokens that expire or are refused.',
      every: 60_000,
      run: async (signal) => (await import('../integrations/token.ts')).watchTokens(deps, signal),
    },
    {
      name: 'watch-silence',
      effect: 'Nobody is told of webhooks that have gone silent.',
      every: 60_000,
      run: async (signal) => (await import('../intake/silence.ts')).watchSilence(deps, signal),
    },
    {
      name: 'image-addresses',
      effect:
        'After a change of PUBLIC_URL, images in posts keep the old address, and readers may not see them.',
      every: 5_000,
      run: late(async () => (await import('./sweep.ts')).addressWork(deps)),
    },
    {
      name: 'copy-images',
      effect: 'Images in new drafts stay at the provider, where readers may not see them.',
      every: 500,
      restMs: SHORT_REST_MS,
      run: async (signal) => (await import('./sweep.ts')).copyDueImages(deps, signal),
    },
    {
      name: 'read-ranges',
      effect: 'Drafts of releases may lack changes.',
      every: 500,
      restMs: SHORT_REST_MS,
      run: async (signal) => (await import('../drafting/triggers/ranges.ts')).readRanges(deps, { signal }),
    },
    {
      name: 'send-hooks',
      effect: 'Sites and channels are not told of posts.',
      every: 100,
      restMs: SHORT_REST_MS,
      run: late(async () => (await import('../readers/hooks/send.ts')).createHookSender(deps)),
    },
    ...(assistant === undefined
      ? []
      : [
          {
            name: 'word-drafts',
            effect: 'The assistant suggests no wording. Drafts are as they are without it.',
            every: 1_000,
            restMs: LONG_REST_MS,
            run: async (signal: AbortSignal) =>
              (await import('../drafting/wording/work.ts')).wordDue(deps, assistant, signal),
          },
        ]),
    {
      name: 'sweep-images',
      effect: 'Images that no post uses take up room. Readers notice nothing.',
      every: '17 * * * *',
      async run(signal) {
        const { sweepFiles } = await import('../posts/media/service.ts');
        // An image may be of a text that a person is writing.
        const { textAsOf } = await deps.db.read((tx) => deps.elapsed.planSweep(tx));
        return sweepFiles(deps, textAsOf, signal);
      },
    },
    {
      name: 'sweep',
      effect: 'Expired entries take up room. Readers notice nothing.',
      every: '*/5 * * * *',
      async run(signal) {
        const swept = await (await import('./sweep.ts')).sweep(deps, { signal });
        const jump = describeJump(deps.elapsed.jumpMs());
        if (jump !== null && jump.problem !== knownJump)
          log.warn({ job: 'sweep' }, `${jump.problem}. ${jump.advice}`);
        knownJump = jump?.problem ?? null;
        if (swept.deliveryIds + swept.logs > 0) log.info({ job: 'sweep', ...swept }, 'removed expired rows');
      },
    },
  ];
}
