import { Elysia } from 'elysia';
import { AppError } from '../lib/app-error.ts';
import type { Logger } from '../lib/log.ts';
import { pathOf, requestIdOf } from './request.ts';
import { errorJson } from './respond.ts';

/**
 * Turns every failure into a response. An unknown error is logged in full, and the response has only its request id.
 * Must be used first: Elysia calls handlers in the order of their registration.
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

/** The app's routes. A function, because features are added after the error handler. */
type RouteTable = () => readonly { method: string; path: string }[];

/** The methods of a path, for `Allow`; none when no route has the path. `GET` implies `HEAD`. */
function allowedMethods(routes: ReturnType<RouteTable>, pathname: string): string[] {
  const methods = routes
    .filter((route) => new URLPattern({ pathname: route.path }).test({ pathname }))
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...new Set(methods)].sort();
}
