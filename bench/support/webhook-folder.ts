import { join } from 'node:path';
import { SERVER } from '../../src/audit/model.ts';
import type { Deps } from '../../src/deps.ts';
import { connectIntegration } from '../../src/integrations/connect.ts';
import { createLog } from '../../src/lib/log.ts';
import { randomIds } from '../../src/lib/text.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openDataFolder } from '../../src/operate/data-folder.ts';
import { createOrganization } from '../../src/organizations/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import type { Load } from './wrk.ts';

/** Deliveries for one connected repository. */
interface SeededRepository {
  organizationId: string;
  secret: string;
  /** Signed pushes, each with a delivery id of its own. */
  pushes: Load;
  /** How large one is, in bytes. */
  bodyBytes: number;
}

export interface WebhookFolder extends SeededRepository {
  path: string;
  databaseFile: string;
}

/** Fills a new data folder inside `parent`. */
export async function makeWebhookFolder(parent: string, name: string): Promise<WebhookFolder> {
  const path = join(parent, name);
  const { db, secrets, close } = openDataFolder(path);
  try {
    return { path, databaseFile: join(path, 'tidings.db'), ...(await seedRepository({ db, secrets })) };
  } finally {
    close();
  }
}

/** A repository, connected by the service's own code, in an organization of its own. */
export async function seedRepository(
  storage: Pick<Deps, 'db' | 'secrets'>,
  organizationId = 'org_bench',
): Promise<SeededRepository> {
  const deps = {
    ...storage,
    clock: systemClock,
    ids: randomIds,
    actor: SERVER,
    log: createLog('silent', { write: () => undefined }),
    publicUrl: () => '',
  };
  await createOrganization(deps, { id: organizationId, name: 'Benchmark', plan: 'free' });
  const { webhookUrl, secret } = await connectIntegration(deps, 'github', organizationId, 'acme/rocket');
  const body = JSON.stringify(
    samplePayload('github', 'push', { repository: 'acme/rocket', now: systemClock.now() }),
  );
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-hub-signature-256': `sha256=${hmacSha256(secret, body)}`,
  };
  const pushes = { paths: [webhookUrl], headers, post: { body, countingHeader: 'x-github-delivery' } };
  return { organizationId, secret, pushes, bodyBytes: Buffer.byteLength(body) };
}
