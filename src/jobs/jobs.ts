import type { Logger } from '../lib/log.ts';

/** Something that the server does by itself, now and then. Each can also be run by hand: `run()`. */
export interface Job {
  name: string;
  everyMs: number;
  run(): Promise<void>;
}

/** Runs each job on its beat until `stop` is called. A job never overlaps itself; a failure is logged, not fatal. */
export function startJobs(jobs: readonly Job[], log: Logger): { stop(): void } {
  const timers = jobs.map((job) => {
    let running = false;
    return setInterval(() => {
      if (running) return;
      running = true;
      job
        .run()
        .catch((error: unknown) => log.error({ job: job.name, err: error }, 'job failed'))
        .finally(() => {
          running = false;
        });
    }, job.everyMs);
  });
  return {
    stop() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
