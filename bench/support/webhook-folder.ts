import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { connectIntegration } from '../../src/integrations/connect.ts';
import { createLog } from '../../src/lib/log.ts';
import { randomIds } from '../../src/lib/text.ts';
import { systemClock } from '../../src/lib/time.ts';
import { SERVER } from '../../src/people/audit.ts';
import type { Deps } from '../../src/people/deps.ts';
import { createOrganization } from '../../src/people/organizations.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import type { Body, Load } from './wrk.ts';

/** Deliveries for one connected repository. */
interface SeededRepository {
  organizationId: string;
  secret: string;
  /** A signed push over and over, each time with a delivery id of its own. */
  pushes: Load;
  /** Different signed pushes, of commits that are new at each call. */
  newPushes(count: number): Load;
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
  const sample = JSON.stringify(
    samplePayload('github', 'push', { repository: 'acme/rocket', now: systemClock.now() }),
  );
  const head: string = JSON.parse(sample).after;
  const sign = (text: string) => ({
    text,
    headers: { 'x-hub-signature-256': `sha256=${hmacSha256(secret, text)}` },
  });
  const load = (bodies: Body[]): Load => ({
    paths: [webhookUrl],
    headers: { 'content-type': 'application/json', 'x-github-event': 'push' },
    post: { bodies, countingHeader: 'x-github-delivery' },
  });
  return {
    organizationId,
    secret,
    pushes: load([sign(sample)]),
    newPushes: (count) =>
      load(
        Array.from({ length: count }, () => sign(sample.replaceAll(head, randomBytes(20).toString('hex')))),
      ),
    bodyBytes: Buffer.byteLength(sample),
  };
}
