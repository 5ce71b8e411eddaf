import { Elysia } from 'elysia';
import type { Metrics } from '../lib/instruments.ts';
import type { Count, Durations } from '../lib/metrics.ts';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** What no route has, such as an unknown path: one label, so that nobody can make us keep many. */
const NO_ROUTE = 'none';

interface Seen {
  durations: Durations;
  statuses: Map<number, Count>;
}

/** Counts a request that was answered. `route` is its pattern; null for one that no route has. */
export type RecordRequest = (route: string | null, method: string, status: number, seconds: number) => void;

/** Counts requests. What is looked up by a route's text is kept, as this is on the way of every request. */
export function requestRecorder(metrics: Pick<Metrics, 'requests' | 'requestDurations'>): RecordRequest {
  const seen = new Map<string | null, Map<string, Seen>>();

  function look(route: string | null, given: string): Seen {
    const method = METHODS.has(given) ? given : 'other';
    const durations = metrics.requestDurations(routeLabel(route), method);
    const found = { durations, statuses: new Map<number, Count>() };
    const methods = seen.get(route) ?? new Map<string, Seen>();
    seen.set(route, methods.set(method, found));
    return found;
  }

  return (route, method, status, seconds) => {
    const { durations, statuses } = seen.get(route)?.get(method) ?? look(route, method);
    durations.observe(seconds);
    let count = statuses.get(status);
    if (count === undefined) {
      count = metrics.requests(routeLabel(route), METHODS.has(method) ? method : 'other', String(status));
      statuses.set(status, count);
    }
    count.value++;
  };
}

/** As the OpenAPI document writes it: `/v1/{organizationId}/posts`. */
function routeLabel(route: string | null): string {
  return route?.replaceAll(/:(\w+)/g, '{$1}') ?? NO_ROUTE;
}

/** Which route the app has just found. Elysia finds it, and asks this, before `fetch` returns its promise. */
export interface MatchedRoute {
  /** Null until a route is found. */
  current: string | null;
}

/** Tells `matched` each route that is found. Must be used before the routes are. */
export function routeMatching(matched: MatchedRoute) {
  return new Elysia({ name: 'route-matching' }).onBeforeHandle({ as: 'global' }, ({ route }) => {
    matched.current = route;
  });
}
