import type { Verdict } from '../keys/model.ts';
import { type Count, createRegistry, type Durations, type Registry, type Series } from './metrics.ts';

/** In seconds. Most answers take well under a millisecond, which the first bounds tell apart. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

/** What features count while they work. What is read off when somebody asks is in `gauges.ts` and `process.ts`. */
export interface Metrics {
  readonly registry: Registry;
  /** By route, method and status. */
  readonly requests: Series<Count>;
  /** By route and method. */
  readonly requestDurations: Series<Durations>;
  /** By provider and outcome, which is the status that the log has. */
  readonly deliveries: Series<Count>;
  /** Verified deliveries that failed with the system since the last one that was taken; the time of the last failure. */
  readonly failedDeliveries: { inARow: number; lastAtMs: number };
  /** By the verdict; unavailable: there was none. */
  readonly verifications: Readonly<Record<Verdict['outcome'] | 'unavailable', Count>>;
  readonly verificationDurations: Durations;
  /** Dropped: the client closed the connection before its turn. Refused: too many were waiting. */
  readonly passwordHashes: Readonly<Record<'done' | 'dropped' | 'refused', Count>>;
  /** By name and outcome. */
  readonly jobs: Series<Count>;
}

/** `providers`: their ids, each with its counters from the beginning. */
export function createMetrics(providers: readonly string[] = []): Metrics {
  const registry = createRegistry();
  const requests = registry.counter('tidings_http_requests_total', 'Requests that were answered.', [
    'route',
    'method',
    'status',
  ]);
  const requestDurations = registry.histogram(
    'tidings_http_request_duration_seconds',
    'How long requests took until their answer began.',
    ['route', 'method'],
    BOUNDS,
  );
  const verifications = registry.counter(
    'tidings_key_verifications_total',
    'API keys that were verified, by the verdict; unavailable: the verifier could not say.',
    ['outcome'],
  );
  const deliveries = registry.counter(
    'tidings_deliveries_total',
    'Deliveries that reached a known integration, by what became of them.',
    ['provider', 'outcome'],
  );
  // Start at 0, so that the first failure counts as an increase.
  for (const provider of providers) {
    for (const outcome of ['processed', 'ignored', 'duplicate', 'rejected', 'failed'])
      deliveries(provider, outcome);
  }
  const failedDeliveries = { inARow: 0, lastAtMs: 0 };
  registry.gauge(
    'tidings_deliveries_failed_in_a_row',
    'Verified deliveries that failed, because of the disk or the database, since the last one that was taken.',
    () => failedDeliveries.inARow,
  );
  const passwordHashes = registry.counter(
    'tidings_password_hashes_total',
    'Passwords to hash: hashed, dropped because the client had gone, or refused because too many waited.',
    ['outcome'],
  );
  return {
    registry,
    requests,
    requestDurations,
    deliveries,
    failedDeliveries,
    verifications: {
      valid: verifications('valid'),
      invalid: verifications('invalid'),
      forbidden: verifications('forbidden'),
      limited: verifications('limited'),
      unavailable: verifications('unavailable'),
    },
    verificationDurations: registry.histogram(
      'tidings_key_verification_duration_seconds',
      'How long the verifier of API keys took, its outages included.',
      [],
      BOUNDS,
    )(),
    passwordHashes: {
      done: passwordHashes('done'),
      dropped: passwordHashes('dropped'),
      refused: passwordHashes('refused'),
    },
    jobs: registry.counter('tidings_job_runs_total', 'How often the server did what it does by itself.', [
      'job',
      'outcome',
    ]),
  };
}
