import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/**
 * JSON lines on standard error, so that standard output holds only what a script may read. Synchronous: the
 * last words before a crash are written.
 */
export function createLog(
  level: string,
  destination: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}
