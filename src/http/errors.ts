import { Elysia } from 'elysia';
import { AppError } from '../lib/app-error.ts';
import type { Logger } from '../lib/log.ts';
import { failed } from './failure.ts';
import { pathOf } from './request.ts';
import { errorJson } from './respond.ts';

/** Turns every failure into a response. Must be used first: Elysia calls handlers in the order of registration. */
export function errorHandling(log: Logger, routes: RouteTable) {
  return new Elysia({ name: 'errors' }).onError({ as: 'global' }, ({ code, error, request }) => {
    const known = error instanceof AppError ? error : null;
    if (known?.isRefusal) return errorJson(known.status, known.message, known.headers);
    if (code === 'PARSE') return errorJson(400, 'Invalid body');
    if (code === 'NOT_FOUND') {
      const allowed = allowedMethods(routes(), pathOf(request));
      if (allowed.length === 0 || allowed.includes(request.method)) return errorJson(404, 'Not found');
      return errorJson(405, 'Method not allowed', { allow: allowed.join(', ') });
    }
    return failed(log, request, error);
  });
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
