import type { Clock } from '../../../src/lib/time.ts';
import { hmacSha256 } from '../../../src/providers/provider.ts';
import type { LinearHook, LinearWorkspace } from './workspace.ts';

/** An event in a workspace, as a delivery's body has it. */
export interface LinearEvent {
  /** `Issue`, `ProjectUpdate`. */
  type: string;
  action: 'create' | 'update' | 'remove';
  data: Record<string, unknown>;
  /** The former values of the changed fields. */
  updatedFrom?: Record<string, unknown>;
  url?: string;
  actor?: { name: string };
  /** The team; null for none. `data.teamId` by default. */
  teamId?: string | null;
}

/** The response of the webhook's URL. */
export interface Delivered {
  hookId: string;
  deliveryId: string;
  status: number;
  body: string;
}

/** Delivers to each active webhook that listens to the event, one after the other, without retries. */
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
  { teamId: _, ...content }: LinearEvent,
  clock: Clock,
): Promise<Delivered> {
  const now = clock.now();
  const body = JSON.stringify({
    ...content,
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
      'linear-event': content.type,
      'linear-timestamp': String(now.getTime()),
      // Linear creates a secret for a webhook without one.
      'linear-signature': hmacSha256(hook.secret ?? hook.id, body),
    },
    body,
  });
  return { hookId: hook.id, deliveryId, status: response.status, body: await response.text() };
}
