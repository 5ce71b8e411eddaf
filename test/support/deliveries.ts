import { connectIntegration } from '../../src/integrations/connect.ts';
import { listDeliveries } from '../../src/integrations/deliveries/log-store.ts';
import type { NewDelivery } from '../../src/integrations/deliveries/store.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { valuesOf } from './database.ts';
import { appWithOrganization, PUBLIC_URL, type TestApp, type WithOrganization } from './test-app.ts';

/** A connected GitHub repository of an organization. */
export function connectGithub(
  app: TestApp,
  organizationId: string,
  repository = 'acme/rocket',
): Promise<Connected> {
  return connectIntegration(app.deps, 'github', organizationId, repository);
}

/** The app with an organization and a GitHub repository that is connected to it, `acme/rocket` to `org_a`. */
export async function appWithGithub({
  repository,
  ...options
}: WithOrganization & { repository?: string } = {}): Promise<{ app: TestApp; connected: Connected }> {
  const app = await appWithOrganization(options);
  return { app, connected: await connectGithub(app, 'org_a', repository) };
}

export function connectLinear(app: TestApp, organizationId: string): Promise<Connected> {
  return connectIntegration(app.deps, 'linear', organizationId);
}

interface Sent {
  event?: string;
  delivery?: string;
  secret?: string;
  headers?: Record<string, string | undefined>;
  path?: string;
}

/** A request as GitHub sends it, signed; `headers` set to undefined are left out. */
export function githubRequest(
  connected: Connected,
  payload: unknown,
  options: Sent = {},
): [path: string, init: RequestInit] {
  const body =
    typeof payload === 'string' || payload instanceof Uint8Array ? payload : JSON.stringify(payload);
  const headers = {
    'content-type': 'application/json',
    'x-github-event': options.event ?? 'ping',
    'x-github-delivery': options.delivery ?? crypto.randomUUID(),
    'x-hub-signature-256': `sha256=${hmacSha256(options.secret ?? connected.secret, body)}`,
    ...options.headers,
  };
  return [pathOf(connected, options), { method: 'POST', headers: present(headers), body: body as string }];
}

/** A request as Linear sends it. */
export function linearRequest(
  connected: Connected,
  payload: unknown,
  options: Sent = {},
): [path: string, init: RequestInit] {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'linear-event': options.event ?? 'Issue',
    'linear-delivery': options.delivery ?? crypto.randomUUID(),
    'linear-signature': hmacSha256(options.secret ?? connected.secret, body),
    ...options.headers,
  };
  return [pathOf(connected, options), { method: 'POST', headers: present(headers), body }];
}

/** A processed entry of the log of `org_a`, with what is given. */
export function logEntry(given: Partial<NewDelivery> & Pick<NewDelivery, 'id' | 'createdAt'>): NewDelivery {
  return {
    organizationId: 'org_a',
    integrationId: 'int_x',
    integrationType: 'github',
    repositoryId: null,
    title: '',
    status: 'processed',
    statusCode: 200,
    referenceId: null,
    payload: { event: 'push', action: null, data: null },
    reason: null,
    count: 1,
    bodyHash: null,
    sameBodyAs: null,
    replayOf: null,
    isPolled: false,
    headers: null,
    durationMs: 3,
    retentionDays: 7,
    ...given,
  };
}

/** The whole log of an organization, newest first. */
export function logOf(app: TestApp, organizationId = 'org_a') {
  return app.db.read((tx) => listDeliveries(tx, organizationId, {}, { limit: 1000, page: 1 }));
}

/** How many claims the database holds. */
export async function claimCount(app: TestApp): Promise<number> {
  return Number((await valuesOf(app.db, 'SELECT count(*) FROM delivery_claims'))[0]?.[0]);
}

function pathOf({ webhookUrl }: Connected, { path }: Sent): string {
  return path ?? webhookUrl.slice(PUBLIC_URL.length);
}

function present(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
