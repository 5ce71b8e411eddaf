import { Elysia } from 'elysia';
import { asset as assetResponse } from '../http/respond.ts';
import { letOthersIn } from '../lib/time.ts';
import { assets } from '../look/assets.ts';
import { createGuard } from '../users/guard.ts';
import { createHandler } from './handle.ts';
import type { DashboardDeps, Page } from './page.ts';

/** Each has `routes`. */
const pageModules = [
  () => import('./pages/sign-in.tsx'),
  () => import('./pages/links.tsx'),
  () => import('./pages/account.tsx'),
  () => import('./pages/jump.tsx'),
  () => import('./pages/start.tsx'),
  () => import('./pages/posts/list.tsx'),
  () => import('./pages/posts/selection.tsx'),
  () => import('./pages/posts/import.tsx'),
  () => import('./pages/posts/export.tsx'),
  () => import('./pages/posts/editor.tsx'),
  () => import('./pages/posts/autosave.tsx'),
  () => import('./pages/posts/suggestion.tsx'),
  () => import('./pages/posts/suggestion-list.tsx'),
  () => import('./pages/media/list.tsx'),
  () => import('./pages/media/one.tsx'),
  () => import('./pages/posts/trash.tsx'),
  () => import('./pages/posts/versions.tsx'),
  () => import('./pages/deliveries/list.tsx'),
  () => import('./pages/deliveries/one.tsx'),
  () => import('./pages/integrations/list.tsx'),
  () => import('./pages/history/start.tsx'),
  () => import('./pages/history/one.tsx'),
  () => import('./pages/integrations/connect.tsx'),
  () => import('./pages/integrations/app-new.tsx'),
  () => import('./pages/integrations/one.tsx'),
  () => import('./pages/integrations/changes.tsx'),
  () => import('./pages/integrations/token.tsx'),
  () => import('./pages/integrations/app.tsx'),
  () => import('./pages/integrations/polling.tsx'),
  () => import('./pages/integrations/places.tsx'),
  () => import('./pages/integrations/check.tsx'),
  () => import('./pages/integrations/missed.tsx'),
  () => import('./pages/triggers/create.tsx'),
  () => import('./pages/explorer/page.tsx'),
  () => import('./pages/publishing/agents.tsx'),
  () => import('./pages/publishing/hooks.tsx'),
  () => import('./pages/publishing/page.tsx'),
  () => import('./pages/settings/organization.tsx'),
  () => import('./pages/settings/keys.tsx'),
  () => import('./pages/settings/members.tsx'),
  () => import('./pages/settings/audit.tsx'),
];

/**
 * Loads all pages, one module after another: together they would hold the event loop for 60 to 110 ms, and the largest takes
 * 10 alone.
 */
export async function loadPages(): Promise<readonly Page[]> {
  const pages: Page[] = [];
  for (const load of pageModules) {
    pages.push(...(await load()).routes);
    await letOthersIn();
  }
  return pages;
}

export async function dashboard(deps: DashboardDeps) {
  // Also adds their scripts to the assets.
  const pages = await loadPages();
  const handler = createHandler(deps, createGuard(deps));
  const app = new Elysia({ name: 'dashboard' });
  for (const { path, content, type } of assets)
    app.get(path, ({ request }) => assetResponse(request, content, type));
  for (const page of pages) app.route(page.method, page.path, handler(page), { parse: 'none' });
  return app;
}
