import { Elysia, ValidationError } from 'elysia';
import { knownFailure } from '../../db/failures.ts';
import { AppError } from '../lib/app-error.ts';
import type { Logger } from '../lib/log.ts';
import { pathOf, requestIdOf } from './request.ts';
import { errorJson } from './respond.ts';

/** Logs a request that failed, and responds with what is known of the failure, or 500. */
function failed(log: Logger, request: Request, error: unknown): Response {
  const known = knownFailure(error);
  const requestId = requestIdOf(request);
  log.error({ requestId, method: request.method, err: error }, 'request failed');
  const headers = { ...known?.headers, 'x-request-id': requestId };
  return errorJson(known?.status ?? 500, known?.message ?? 'Internal server error', headers);
}

interface Failure {
  code: string | number;
  error: unknown;
  request: Request;
}

/** Turns every failure into a response. Must be used first: Elysia calls handlers in the order of registration. */
export function errorHandling(log: Logger, routes: RouteTable) {
  return new Elysia({ name: 'errors' }).onError({ as: 'global' }, ({ code, error, request }: Failure) => {
    if (error instanceof AppError && error.isRefusal)
      return errorJson(error.status, error.message, error.headers);
    if (error instanceof ValidationError && error.type !== 'response')
      return errorJson(400, messageOf(error) ?? 'Invalid request');
    if (code === 'PARSE') return errorJson(400, 'Invalid body');
    if (code === 'NOT_FOUND') {
      const allowed = allowedMethods(routes(), pathOf(request));
      if (allowed.length === 0 || allowed.includes(request.method)) return errorJson(404, 'Not found');
      return errorJson(405, 'Method not allowed', { allow: allowed.join(', ') });
    }
    return failed(log, request, error);
  });
}

function messageOf({ validator }: ValidationError): string | undefined {
  return (validator as { schema?: { error?: string } }).schema?.error;
}

/** A function, because features are added after the error handler. */
type RouteTable = () => readonly { method: string; path: string }[];

/** For `Allow`; none when no route has the path. `GET` implies `HEAD`. */
function allowedMethods(routes: ReturnType<RouteTable>, pathname: string): string[] {
  const methods = routes
    .filter((route) => new URLPattern({ pathname: route.path }).test({ pathname }))
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...new Set(methods)].sort();
}
