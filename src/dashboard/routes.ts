import { Elysia } from 'elysia';
import { asset } from '../http/respond.ts';
import { createGuard } from '../users/guard.ts';
import { clientScript, styleSheet } from './assets.ts';
import { createHandler } from './handle.ts';
import type { DashboardDeps } from './page.ts';
import { pages } from './pages/index.ts';

/** The dashboard: server-rendered pages and forms, each listed in `pages/`. */
export function dashboard(deps: DashboardDeps) {
  const handle = createHandler(deps, createGuard(deps));
  const app = new Elysia({ name: 'dashboard' });
  for (const each of [styleSheet, clientScript]) app.get(each.path, ({ request }) => asset(request, each));
  for (const page of pages) {
    app.route(page.method, page.path, ({ request, params }) => handle(page, request, params), {
      parse: 'none',
    });
  }
  return app;
}
