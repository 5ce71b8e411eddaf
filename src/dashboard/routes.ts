import { Elysia } from 'elysia';
import { asset as assetResponse } from '../http/respond.ts';
import { assets } from '../look/assets.ts';
import { createGuard } from '../users/guard.ts';
import { createHandler } from './handle.ts';
import type { DashboardDeps, Page } from './page.ts';
import { accountPages } from './pages/account.tsx';
import { deliveryLogPages } from './pages/deliveries/list.tsx';
import { deliveryPages } from './pages/deliveries/one.tsx';
import { explorerPages } from './pages/explorer/page.tsx';
import { historyPages } from './pages/history/one.tsx';
import { historyStartPages } from './pages/history/start.tsx';
import { appPages } from './pages/integrations/app.tsx';
import { newAppPages } from './pages/integrations/app-new.tsx';
import { changePages } from './pages/integrations/changes.tsx';
import { checkPages } from './pages/integrations/check.tsx';
import { connectPages } from './pages/integrations/connect.tsx';
import { integrationListPages } from './pages/integrations/list.tsx';
import { missedPages } from './pages/integrations/missed.tsx';
import { integrationPages } from './pages/integrations/one.tsx';
import { placePages } from './pages/integrations/places.tsx';
import { pollingPages } from './pages/integrations/polling.tsx';
import { tokenPages } from './pages/integrations/token.tsx';
import { jumpPages } from './pages/jump.tsx';
import { linkPages } from './pages/links.tsx';
import { imageListPages } from './pages/media/list.tsx';
import { imagePages } from './pages/media/one.tsx';
import { autosavePages } from './pages/posts/autosave.tsx';
import { editorPages } from './pages/posts/editor.tsx';
import { exportPages } from './pages/posts/export.tsx';
import { importPages } from './pages/posts/import.tsx';
import { listPages } from './pages/posts/list.tsx';
import { selectionPages } from './pages/posts/selection.tsx';
import { suggestionPages } from './pages/posts/suggestion.tsx';
import { suggestedChangePages } from './pages/posts/suggestion-list.tsx';
import { trashPages } from './pages/posts/trash.tsx';
import { versionPages } from './pages/posts/versions.tsx';
import { agentPages } from './pages/publishing/agents.tsx';
import { hookPages } from './pages/publishing/hooks.tsx';
import { publicPagePages } from './pages/publishing/page.tsx';
import { auditPages } from './pages/settings/audit.tsx';
import { keyPages } from './pages/settings/keys.tsx';
import { memberPages } from './pages/settings/members.tsx';
import { organizationPages } from './pages/settings/organization.tsx';
import { signInPages } from './pages/sign-in.tsx';
import { startPages } from './pages/start.tsx';
import { triggers } from './pages/triggers/create.tsx';

export const pages: readonly Page[] = [
  ...signInPages,
  ...linkPages,
  ...accountPages,
  ...jumpPages,
  ...startPages,
  ...listPages,
  ...selectionPages,
  ...importPages,
  ...exportPages,
  ...editorPages,
  ...autosavePages,
  ...suggestionPages,
  ...suggestedChangePages,
  ...imageListPages,
  ...imagePages,
  ...trashPages,
  ...versionPages,
  ...deliveryLogPages,
  ...deliveryPages,
  ...integrationListPages,
  ...historyStartPages,
  ...historyPages,
  ...connectPages,
  ...newAppPages,
  ...integrationPages,
  ...changePages,
  ...tokenPages,
  ...appPages,
  ...pollingPages,
  ...placePages,
  ...checkPages,
  ...missedPages,
  ...triggers,
  ...explorerPages,
  ...agentPages,
  ...hookPages,
  ...publicPagePages,
  ...organizationPages,
  ...keyPages,
  ...memberPages,
  ...auditPages,
];

export function dashboard(deps: DashboardDeps) {
  const handler = createHandler(deps, createGuard(deps));
  const app = new Elysia({ name: 'dashboard' });
  for (const { path, content, type } of assets)
    app.get(path, ({ request }) => assetResponse(request, content, type));
  for (const page of pages) app.route(page.method, page.path, handler(page), { parse: 'none' });
  return app;
}
