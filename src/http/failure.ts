import type { AppError } from '../lib/app-error.ts';
import type { Logger } from '../lib/log.ts';
import { requestIdOf } from './request.ts';
import { errorJson } from './respond.ts';

/** Logs a request that failed, and responds with what `known` says, or 500. */
export function failed(log: Logger, request: Request, error: unknown, known: AppError | null): Response {
  const requestId = requestIdOf(request);
  log.error({ requestId, method: request.method, err: error }, 'request failed');
  const headers = { ...known?.headers, 'x-request-id': requestId };
  return errorJson(known?.status ?? 500, known?.message ?? 'Internal server error', headers);
}
