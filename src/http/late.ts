import { type AnyElysia, Elysia } from 'elysia';
import { lazily } from '../lib/lazy.ts';
import { exactPaths } from './request.ts';

/** Routes that load at the first request for one of `paths`, each of which may end with `/*`. */
export function lateRoutes(paths: readonly string[], load: () => Promise<AnyElysia>): AnyElysia {
  const loaded = lazily(load);
  const forward = async ({ request }: { request: Request }) => (await loaded()).fetch(request);
  const unread = { parse: 'none' } as const;
  const app = new Elysia(exactPaths);
  for (const path of paths) {
    // Otherwise Elysia would measure the body of a response to HEAD again, which has none.
    app.all(path, forward, unread).head(path, forward, unread);
  }
  return app;
}
