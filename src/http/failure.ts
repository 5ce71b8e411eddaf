import { knownFailure } from '../../db/failures.ts';
import type { Logger } from '../lib/log.ts';
import { requestIdOf } from './request.ts';
import { errorJson } from './respond.ts';

/** Logs a request that failed, and responds with what is known of the failure, or 500. */
export function failed(log: Logger, request: Request, error: unknown): Response {
  const known = knownFailure(error);
  const requestId = requestIdOf(request);
  log.error({ requestId, method: request.method, err: error }, 'request failed');
  const headers = { ...known?.headers, 'x-request-id': requestId };
  return errorJson(known?.status ?? 500, known?.message ?? 'Internal server error', headers);
}
