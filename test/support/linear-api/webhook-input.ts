import { refusals } from './refusal.ts';
import type { LinearHook, LinearWorkspace } from './workspace.ts';

const RESOURCE_TYPES = new Set([
  ...['Attachment', 'AuditEntry', 'Comment', 'Customer', 'CustomerNeed', 'Cycle', 'Document', 'Initiative'],
  ...['InitiativeUpdate', 'Issue', 'IssueLabel', 'IssueSLA', 'Project', 'ProjectLabel', 'ProjectUpdate'],
  ...['Reaction', 'Release', 'ReleaseNote', 'User'],
]);

export interface WebhookSettings {
  url?: string | null;
  secret?: string | null;
  label?: string | null;
  resourceTypes?: string[] | null;
  enabled?: boolean | null;
}

export interface NewWebhook extends WebhookSettings {
  url: string;
  resourceTypes: string[];
  teamId?: string | null;
  allPublicTeams?: boolean | null;
}

/** Changes the given settings after Linear's own checks. */
export function setWebhook(
  workspace: LinearWorkspace,
  hook: LinearHook,
  settings: WebhookSettings,
  takesLocalUrls: boolean,
): void {
  const { url, resourceTypes, enabled } = settings;
  if (typeof url === 'string') {
    requireUrl(url, takesLocalUrls);
    requireUnique(workspace, { ...hook, url });
    hook.url = url;
  }
  if (resourceTypes) {
    if (resourceTypes.length === 0 || !resourceTypes.every((type) => RESOURCE_TYPES.has(type))) {
      throw refusals.badArgument('resourceTypes must be types of resources.');
    }
    hook.resourceTypes = [...resourceTypes];
  }
  hook.secret = settings.secret ?? hook.secret;
  hook.label = settings.label ?? hook.label;
  hook.enabled = enabled ?? hook.enabled;
}

/** Creates a webhook either for a team, by its id or key, or for all public teams. */
export function newWebhook(
  workspace: LinearWorkspace,
  input: NewWebhook,
  seen: LinearWorkspace['teams'],
  takesLocalUrls: boolean,
): LinearHook {
  const { teamId, allPublicTeams } = input;
  if ((allPublicTeams ?? false) === (typeof teamId === 'string')) {
    throw refusals.badArgument('Either teamId or allPublicTeams must be given.');
  }
  const team = seen.find(({ id, key }) => id === teamId || key === teamId);
  if (typeof teamId === 'string' && team === undefined) throw refusals.notFound('Team');
  const hook: LinearHook = {
    id: crypto.randomUUID(),
    url: '',
    secret: null,
    label: null,
    resourceTypes: [],
    enabled: true,
    allPublicTeams: allPublicTeams ?? false,
    teamId: team?.id ?? null,
  };
  setWebhook(workspace, hook, input, takesLocalUrls);
  workspace.hooks.push(hook);
  return hook;
}

function requireUrl(text: string, takesLocalUrls: boolean): void {
  const url = URL.parse(text);
  if (url === null) throw refusals.badArgument('url must be a URL address.');
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (isLocal && takesLocalUrls) return;
  if (url.protocol !== 'https:' || isLocal) {
    throw refusals.badArgument('url must be a publicly accessible HTTPS, non-localhost URL.');
  }
}

function requireUnique(workspace: LinearWorkspace, hook: LinearHook): void {
  const isTaken = workspace.hooks.some(
    (other) => other.id !== hook.id && other.url === hook.url && other.teamId === hook.teamId,
  );
  if (isTaken) throw refusals.urlNotUnique();
}
