import { Elysia } from 'elysia';
import { AppError } from '../lib/app-error.ts';
import type { Logger } from '../lib/log.ts';
import { allowedMethods, type RouteTable } from './methods.ts';
import { pathOf, requestIdOf } from './request-log.ts';
import { errorJson } from './respond.ts';

/**
 * The one place where a failure becomes an answer. What is not an `AppError` is our fault or Elysia's refusal;
 * the former is logged whole and told as `Internal server error`, with the id under which the log holds it.
 * Must be the first to be used: Elysia asks handlers in the order in which they came.
 */
export function errorHandling(log: Logger, routes: RouteTable) {
  return new Elysia({ name: 'errors' }).onError({ as: 'global' }, ({ code, error, request }) => {
    if (error instanceof AppError) {
      if (error.isRefusal) return errorJson(error.status, error.message, error.headers);
      logFailure(log, request, error);
      return errorJson(error.status, error.message, {
        ...error.headers,
        'x-request-id': requestIdOf(request),
      });
    }
    switch (code) {
      case 'NOT_FOUND': {
        const allowed = allowedMethods(routes(), pathOf(request));
        if (allowed.length === 0 || allowed.includes(request.method)) return errorJson(404, 'Not found');
        return errorJson(405, 'Method not allowed', { allow: allowed.join(', ') });
      }
      case 'PARSE':
        return errorJson(400, 'Invalid body');
      default: {
        logFailure(log, request, error);
        return errorJson(500, 'Internal server error', { 'x-request-id': requestIdOf(request) });
      }
    }
  });
}

function logFailure(log: Logger, request: Request, error: unknown): void {
  log.error({ requestId: requestIdOf(request), method: request.method, err: error }, 'request failed');
}
