import type { Database } from '../../db/engine.ts';
import { composeDraft } from '../../src/drafting/compose.ts';
import type { Compose } from '../../src/drafting/store.ts';
import { createLog } from '../../src/lib/log.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { secretBox } from '../../src/lib/secret-box.ts';
import type { Ids } from '../../src/lib/text.ts';
import { SERVER } from '../../src/people/audit.ts';
import type { Deps, MediaPlace } from '../../src/people/deps.ts';
import { type CreatedKey, embeddedKeys, type KeyService } from '../../src/people/keys/store.ts';
import type { IdentityProvider } from '../../src/people/oidc/provider.ts';
import {
  createOrganization,
  type Organization,
  type OrganizationCreation,
} from '../../src/people/organizations.ts';
import type { Post } from '../../src/posts/model.ts';
import { savePosts } from '../../src/posts/service.ts';
import { type OpenProviderApi, ProviderProblem } from '../../src/providers/api.ts';
import { providers } from '../../src/providers/index.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { OpenReader } from '../../src/providers/reader.ts';
import type { CardPainter } from '../../src/readers/public/cards.ts';
import { createApp } from '../../src/server/app.ts';
import { createElapsed, type Elapsed } from '../../src/server/elapsed.ts';
import { fixedClock, type MovableClock } from './clock.ts';
import { conformance } from './conformance.ts';
import { openTestDatabase } from './database.ts';
import { countingIds } from './ids.ts';

export const PUBLIC_URL = 'https://tidings.test';

// Elysia collects the garbage of the whole heap for each app that it composes: more than half of what the app of a test takes.
Object.assign(Bun, { gc: () => 0 });

export interface TestApp {
  /** With the whole database, so that tests can look at its rows. */
  readonly deps: Deps & { readonly db: Database; readonly elapsed: Elapsed };
  readonly db: Database;
  readonly clock: MovableClock;
  /** Each line that was logged, parsed. */
  readonly logged: Record<string, unknown>[];
  /** Sends a request to the app. */
  fetch(request: Request): Response | Promise<Response>;
  /** Sends a request to the app, and fails the test when the answer is not what the OpenAPI document says. */
  request(path: string, init?: RequestInit): Promise<Response>;
  addOrganization(id: string): Promise<Organization>;
  addKey(organizationId: string, permissions?: string[]): Promise<CreatedKey>;
  addPosts(organizationId: string, ...posts: Partial<Post>[]): Promise<(Post & { organizationId: string })[]>;
}

interface Overrides {
  /** Default: a fresh one. */
  db?: Database;
  ids?: Ids;
  keys?: (base: Omit<Deps, 'keys'>) => KeyService;
  providers?: readonly Provider[];
  clock?: MovableClock;
  openProviderApi?: OpenProviderApi;
  openReader?: OpenReader;
  publicUrl?: () => string;
  media?: MediaPlace;
  providerUrls?: Record<string, string>;
  hookPrivateHosts?: ReadonlySet<string>;
  identityProvider?: IdentityProvider | undefined;
  assistant?: Deps['assistant'];
  clientIpHeader?: string;
  organizationCreation?: OrganizationCreation;
  compose?: Compose;
  drawCard?: CardPainter['draw'];
}

/** Organizations of the app, `org_a` unless others are named, and what it has of its own. */
export type WithOrganization = Overrides & { organizations?: readonly string[] | undefined };

/** The app with an organization: `org_a`, unless others are named. */
export async function appWithOrganization({
  organizations = ['org_a'],
  ...overrides
}: WithOrganization = {}): Promise<TestApp> {
  const app = createTestApp(overrides);
  for (const id of organizations) await app.addOrganization(id);
  return app;
}

/** The whole app on a fresh in-memory database with the real migrations, and a clock that stands still. */
export function createTestApp(overrides: Overrides = {}): TestApp {
  const db = overrides.db ?? openTestDatabase();
  const clock = overrides.clock ?? fixedClock();
  const logged: Record<string, unknown>[] = [];
  const log = createLog('debug', { write: (line) => void logged.push(JSON.parse(line)) });
  const secrets = secretBox(new Uint8Array(32).fill(7));
  const base = {
    db,
    clock,
    elapsed: createElapsed({ clock }, { id: 'test', ms: clock.elapsedMs }),
    ids: overrides.ids ?? countingIds(),
    log,
    metrics: createMetrics(providers.map(({ id }) => id)),
    actor: SERVER,
    secrets,
    fetch: (request: Request) => fetchFromApp(request),
    openProviderApi:
      overrides.openProviderApi ??
      (() => Promise.reject(new Error('this test has no stand-in for a provider'))),
    openReader:
      overrides.openReader ??
      (() => Promise.reject(new ProviderProblem('place-not-found', 'This test has no stand-in'))),
    publicUrl: overrides.publicUrl ?? (() => PUBLIC_URL),
    ...(overrides.providerUrls === undefined ? {} : { providerUrls: overrides.providerUrls }),
    ...(overrides.hookPrivateHosts === undefined ? {} : { hookPrivateHosts: overrides.hookPrivateHosts }),
    identityProvider: overrides.identityProvider,
    ...(overrides.assistant === undefined ? {} : { assistant: overrides.assistant }),
    media: overrides.media ?? { files: null, whyOff: 'This test has no place for images', quotaBytes: 0 },
  };
  const deps = { ...base, keys: (overrides.keys ?? embeddedKeys)(base) };
  // Made at the first request: tests of stores and services send none.
  let app: ReturnType<typeof createApp> | null = null;
  const fetchFromApp = (request: Request) => {
    app ??= createApp(
      {
        ...deps,
        compose: overrides.compose ?? (async (recipe, material) => composeDraft(recipe, material)),
        ...(overrides.drawCard === undefined ? {} : { drawCard: overrides.drawCard }),
        clientIpHeader: overrides.clientIpHeader,
        organizationCreation: overrides.organizationCreation ?? 'owners',
      },
      overrides.providers,
    );
    return app.fetch(request);
  };
  let postCount = 0;

  return {
    deps,
    db,
    clock,
    logged,
    fetch: fetchFromApp,
    async request(path, init) {
      const response = await fetchFromApp(new Request(`http://localhost${path}`, init));
      await documented(overrides.providers).check(init?.method ?? 'GET', path, response.clone());
      return response;
    },
    addOrganization: (id) => createOrganization(deps, { id, name: `Organization ${id}`, plan: 'free' }),
    addKey: (organizationId, permissions = ['api.read']) =>
      deps.keys.createKey({ organizationId, name: 'Test', permissions, expiresAt: null }),
    async addPosts(organizationId, ...given) {
      const posts = given.map((fields) => ({ ...examplePost(++postCount), ...fields, organizationId }));
      await savePosts(db, posts);
      return posts;
    },
  };
}

const documents = new Map<readonly Provider[], ReturnType<typeof conformance>>();

/** Checks answers against the OpenAPI document: the same for all apps with these providers, and slow to compile. */
export function documented(described: readonly Provider[] = providers) {
  const known = documents.get(described) ?? conformance(() => createTestApp({ providers: described }).fetch);
  documents.set(described, known);
  return known;
}

/** `Authorization` for a key, or for the value of one. */
export function bearer(key: CreatedKey | string): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${typeof key === 'string' ? key : key.key}` } };
}

/** A published changelog post; a higher number is a minute newer. */
export function examplePost(number: number): Post {
  const at = new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString();
  return {
    id: `post_${number}`,
    title: `Post ${number}`,
    content: `Text ${number}`,
    markdown: `**Text** ${number}`,
    contentType: 'changelog',
    sourceMetadata: null,
    status: 'published',
    createdAt: at,
    updatedAt: at,
  };
}
