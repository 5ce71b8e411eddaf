import { Elysia } from 'elysia';
import { assets } from '../http/look/assets.ts';
import { asset as assetResponse } from '../http/respond.ts';
import { createGuard } from '../people/guard.ts';
import { createHandler } from './handle.ts';
import type { DashboardDeps, Page } from './page.ts';
import { routes as account } from './pages/account.tsx';
import { routes as attention } from './pages/attention.tsx';
import { routes as deliveriesList } from './pages/deliveries/list.tsx';
import { routes as deliveriesOne } from './pages/deliveries/one.tsx';
import { routes as explorer } from './pages/explorer.tsx';
import { routes as history } from './pages/history.tsx';
import { routes as integrationsApp } from './pages/integrations/app.tsx';
import { routes as integrationsChanges } from './pages/integrations/check.tsx';
import { routes as integrationsConnect } from './pages/integrations/connect.tsx';
import { routes as integrationsList } from './pages/integrations/list.tsx';
import { routes as integrationsMissed } from './pages/integrations/missed.tsx';
import { routes as integrationsOne } from './pages/integrations/one.tsx';
import { routes as integrationsPlaces } from './pages/integrations/places.tsx';
import { routes as integrationsPolling } from './pages/integrations/polling.tsx';
import { routes as jump } from './pages/jump.tsx';
import { routes as mediaList } from './pages/media/list.tsx';
import { routes as passkeys } from './pages/passkeys.tsx';
import { routes as postsApproval } from './pages/posts/approval.tsx';
import { routes as postsAutosave } from './pages/posts/autosave.tsx';
import { routes as postsCompare } from './pages/posts/compare.tsx';
import { routes as postsEditor } from './pages/posts/editor.tsx';
import { routes as postsExport } from './pages/posts/export.tsx';
import { routes as postsImport } from './pages/posts/import.tsx';
import { routes as postsList } from './pages/posts/list.tsx';
import { routes as postsSuggestion } from './pages/posts/suggestion.tsx';
import { routes as postsTrash } from './pages/posts/trash.tsx';
import { routes as postsVersions } from './pages/posts/versions.tsx';
import { routes as postsWording } from './pages/posts/wording.tsx';
import { routes as provider } from './pages/provider.tsx';
import { routes as publishingAgents } from './pages/publishing/agents.tsx';
import { routes as publishingHook } from './pages/publishing/hook.tsx';
import { routes as publishingHooks } from './pages/publishing/hooks.tsx';
import { routes as publishingPage } from './pages/publishing/page.tsx';
import { routes as settingsAssistant } from './pages/settings/assistant.tsx';
import { routes as settingsAudit } from './pages/settings/audit.tsx';
import { routes as settingsKeys } from './pages/settings/keys.tsx';
import { routes as settingsMembers } from './pages/settings/members.tsx';
import { routes as settingsOrganization } from './pages/settings/organization.tsx';
import { routes as signIn } from './pages/sign-in.tsx';
import { routes as start } from './pages/start.tsx';
import { routes as triggersAll } from './pages/triggers/all.tsx';
import { routes as triggersCreate } from './pages/triggers/create.tsx';
import { routes as triggersRequest } from './pages/triggers/request.tsx';
import { routes as triggersRoundups } from './pages/triggers/roundups.tsx';

export const pages: readonly Page[] = [
  ...signIn,
  ...provider,
  ...passkeys,
  ...start,
  ...account,
  ...jump,
  ...attention,
  ...postsList,
  ...postsImport,
  ...postsExport,
  ...postsCompare,
  ...postsEditor,
  ...postsAutosave,
  ...postsSuggestion,
  ...postsWording,
  ...postsApproval,
  ...mediaList,
  ...postsTrash,
  ...postsVersions,
  ...deliveriesList,
  ...deliveriesOne,
  ...integrationsList,
  ...history,
  ...integrationsConnect,
  ...integrationsOne,
  ...integrationsChanges,
  ...integrationsApp,
  ...integrationsPolling,
  ...integrationsPlaces,
  ...integrationsMissed,
  ...triggersAll,
  ...triggersCreate,
  ...triggersRequest,
  ...triggersRoundups,
  ...explorer,
  ...publishingAgents,
  ...publishingHooks,
  ...publishingHook,
  ...publishingPage,
  ...settingsOrganization,
  ...settingsAssistant,
  ...settingsKeys,
  ...settingsMembers,
  ...settingsAudit,
];

export function dashboard(deps: DashboardDeps) {
  const handler = createHandler(deps, createGuard(deps));
  const app = new Elysia({ name: 'dashboard' });
  for (const { path, content, type } of assets)
    app.get(path, ({ request }) => assetResponse(request, content, type));
  for (const page of pages) app.route(page.method, page.path, handler(page), { parse: 'none' });
  return app;
}
