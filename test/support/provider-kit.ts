import { connectIntegration } from '../../src/integrations/connect.ts';
import { getIntegration } from '../../src/integrations/store.ts';
import type { IntegrationType } from '../../src/integrations/words.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { providerApis, providers, repositoryReaders, samplePayload } from '../../src/providers/index.ts';
import type { Payload, Provider } from '../../src/providers/provider.ts';
import type { ReadDelivery } from '../../src/providers/reader.ts';
import type { SampleContext } from '../../src/providers/samples.ts';
import type { MovableClock } from './clock.ts';
import { appWithOrganization, PUBLIC_URL, type TestApp } from './test-app.ts';

// Facts about a provider for the conformance suite, from `test/providers/ID/kit.ts`, and the app around it.

export interface ProviderKit {
  /** The full name of a repository; null for a provider without repositories. */
  readonly repository: string | null;
  /** The payload as it would be about another repository. Null for a provider without repositories. */
  readonly about: ((payload: Payload, repository: { id: number; fullName: string }) => Payload) | null;
  /** The test delivery that the provider sends; null where it has none. */
  readonly ping: ((context: SampleContext) => { event: string; payload: Payload }) | null;
  /** The part of a form that the signature covers; null where the provider sends no forms. */
  readonly formSignatureCovers: 'form' | 'payload' | null;
  /** True when the signature or the signed payload says when it was made. */
  readonly signsTime: boolean;
  /** Signed headers that a delivery can do without, in lower case. */
  readonly spareHeaders?: readonly string[];
  /** Stands in for the provider. Null where Tidings asks the provider for nothing. */
  readonly startWorld: ((clock: MovableClock) => ProviderWorld) | null;
}

/** The provider with a place that a token may administer, and read. */
interface ProviderWorld extends Disposable {
  /** For the provider's setting. */
  readonly url: string;
  /** As a person names it. */
  readonly place: string;
  readonly token: string;
  /** The webhooks of the place. */
  hooks(): { url: string; isActive: boolean }[];
  /** Somebody switches the webhooks off at the provider. */
  switchOffHooks(): void;
  /** Somebody deletes them there. */
  deleteHooks(): void;
  /** The webhooks as they are now. Returns a function that sets their secrets to those again. */
  keepSecrets(): () => void;
  /** Something happens that drafts are made of. Returns the responses to its deliveries. */
  ship(number: number): Promise<number[]>;
  /** Resolves when everything that was requested, such as a ping, was sent. */
  settled(): Promise<void>;
  /** For reading; absent without a reader. */
  readonly code?: CodeWorld;
}

/** Something that happens now in a repository. */
export type Shipped =
  | { push: readonly string[] }
  | { merge: number; title: string; body?: string; labels?: readonly string[] }
  | { release: string; name?: string; notes?: string };

export interface CodeWorld {
  /** True when the provider sends entity tags for lists. */
  readonly hasEtags: boolean;
  /** How many commits a push names at most; absent where a test cannot push so many. */
  readonly namedCommits?: number;
  /** Anybody may read the repository from now on. */
  makePublic(): void;
  rename(name: string): void;
  /** Refuses the requests from now on. Returns for how long, in milliseconds. */
  exhaustLimit(): number;
  /** Changes what the API serves, and delivers it to the webhooks. Returns the deliveries. */
  happen(shipped: Shipped): Promise<ReadDelivery[]>;
}

/** A provider and its kit. */
export type Subject = ProviderKit & { readonly provider: Provider<IntegrationType> };

/** Every provider with its kit. */
export async function loadSubjects(): Promise<Subject[]> {
  return Promise.all(
    providers.map(async (provider) => {
      const { kit } = (await import(`../providers/${provider.id}/kit.ts`)) as { kit: ProviderKit };
      return { ...kit, provider };
    }),
  );
}

/** Tidings with an integration that was connected by hand, and the provider's side of its webhook. */
export async function startByHand(subject: Subject, places = [subject.repository].flatMap((it) => it ?? [])) {
  const { provider } = subject;
  const app = await appWithOrganization();
  const connected = await connectIntegration(app.deps, provider.id, 'org_a', places);
  const { integrationId } = connected;
  const sample = (event = provider.exampleEvent): Payload => {
    const options = { repository: subject.repository ?? undefined, now: app.clock.now() };
    const payload = samplePayload(provider.id, event, options);
    if (payload === null) throw new Error(`${provider.name} has no sample of ${event}`);
    return payload;
  };

  /** The headers and the body of a signed delivery, and its path. */
  function requestOf(
    body: string | Uint8Array<ArrayBuffer>,
    {
      event = provider.exampleEvent,
      deliveryId = crypto.randomUUID() as string,
      secret = connected.secret,
      url = connected.webhookUrl,
      signed = body,
    } = {},
  ) {
    const headers = new Headers(
      provider.sign({ event, deliveryId, body: signed, secret, now: app.clock.now() }),
    );
    headers.set('content-type', 'application/json');
    return { path: url.slice(PUBLIC_URL.length), headers, body, method: 'POST' };
  }

  async function post({ path, ...init }: ReturnType<typeof requestOf>) {
    const response = await app.request(path, init);
    return { status: response.status, ...((await response.json()) as { message?: string; error?: string }) };
  }

  // The proxy in front of it takes https.
  const proxied = (request: Request) =>
    app.fetch(new Request(request.url.replace(/^https:/, 'http:'), request));
  return {
    app,
    deps: { ...app.deps, fetch: proxied },
    connected,
    sample,
    requestOf,
    post,
    /** Sends a payload, or a body as it is, signed. */
    send: (
      payload: Payload | string | Uint8Array<ArrayBuffer> = sample(),
      options: Parameters<typeof requestOf>[1] = {},
    ) =>
      post(
        requestOf(
          typeof payload === 'string' || payload instanceof Uint8Array ? payload : JSON.stringify(payload),
          options,
        ),
      ),
    integration: () => app.db.read((tx) => getIntegration(tx, integrationId)),
  };
}

export type ByHand = Awaited<ReturnType<typeof startByHand>>;

/** Tidings on a port, beside the stand-in for the provider, which really delivers to it. */
export async function startBeside(subject: Subject) {
  const { provider, startWorld } = subject;
  if (startWorld === null) throw new Error(`${provider.name} has an API, and its kit has no world`);
  const { id } = provider;
  const urls: Record<string, string> = {};
  const app: TestApp = await appWithOrganization({
    organizations: ['org_a', 'org_b'],
    providerUrls: urls,
    openProviderApi: (type, token, signal) => providerApis(urls)(type, token, signal),
    openReader: (type, token, signal) => repositoryReaders(urls)(type, token, signal),
    publicUrl: () => `http://127.0.0.1:${port}`,
  });
  const world = startWorld(app.clock);
  urls[id] = world.url;
  const serve = (on: number) =>
    Bun.serve({ hostname: '127.0.0.1', port: on, fetch: (request) => app.fetch(request) });
  let server = serve(0);
  const { port = 0 } = server;
  return {
    app,
    world,
    deps: { ...app.deps, fetch: (request: Request) => fetch(request) },
    /** Nobody answers at the webhook's address until `comeBack`. */
    goAway: () => server.stop(true),
    comeBack() {
      server = serve(port);
    },
    async [Symbol.asyncDispose]() {
      await world.settled();
      await server.stop(true);
      world[Symbol.dispose]();
      await app.db.close();
    },
  };
}

export type Beside = Awaited<ReturnType<typeof startBeside>>;

export const MINUTE_MS = 60_000;
export { DAY_MS };
