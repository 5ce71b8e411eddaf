import type { Clock } from '../../../src/lib/clock.ts';
import { hmacSha256 } from '../../../src/providers/signature.ts';
import type { LinearHook, LinearWorkspace } from './workspace.ts';

/** Something that happened in a workspace, as the body of a delivery tells of it. */
export interface LinearEvent {
  /** `Issue`, `ProjectUpdate`. */
  type: string;
  action: 'create' | 'update' | 'remove';
  data: Record<string, unknown>;
  /** Previous values of the changed fields. */
  updatedFrom?: Record<string, unknown>;
  url?: string;
  /** The team; null for objects without one. Default: `data.teamId`. */
  teamId?: string | null;
}

/** The webhook's response. */
export interface Delivered {
  hookId: string;
  deliveryId: string;
  status: number;
  body: string;
}

/** Delivers to each webhook that is switched on and listens to such, one after the other; no attempt is repeated. */
export async function deliver(
  workspace: LinearWorkspace,
  event: LinearEvent,
  clock: Clock,
): Promise<Delivered[]> {
  const listening = workspace.hooks.filter(
    (hook) => hook.enabled && hook.resourceTypes.includes(event.type) && isFor(workspace, hook, event),
  );
  const delivered: Delivered[] = [];
  for (const hook of listening) delivered.push(await send(workspace, hook, event, clock));
  return delivered;
}

function isFor(workspace: LinearWorkspace, hook: LinearHook, { teamId, data }: LinearEvent): boolean {
  const ofTeam = teamId === undefined ? (data.teamId ?? null) : teamId;
  const team = workspace.teams.find(({ id }) => id === ofTeam);
  return hook.allPublicTeams ? !team?.isPrivate : hook.teamId === ofTeam;
}

async function send(
  workspace: LinearWorkspace,
  hook: LinearHook,
  { teamId: _, ...told }: LinearEvent,
  clock: Clock,
): Promise<Delivered> {
  const now = clock.now();
  const body = JSON.stringify({
    ...told,
    createdAt: now.toISOString(),
    organizationId: workspace.id,
    webhookId: hook.id,
    webhookTimestamp: now.getTime(),
  });
  const deliveryId = crypto.randomUUID();
  const response = await fetch(hook.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Linear-Webhook',
      'linear-delivery': deliveryId,
      'linear-event': told.type,
      'linear-timestamp': String(now.getTime()),
      // Linear makes up a secret when it is given none.
      'linear-signature': hmacSha256(hook.secret ?? hook.id, body),
    },
    body,
  });
  return { hookId: hook.id, deliveryId, status: response.status, body: await response.text() };
}
