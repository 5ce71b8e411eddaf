import { connectWithToken } from '../../src/integrations/connect.ts';
import { githubApi } from '../../src/providers/github/api/index.ts';
import { githubReader } from '../../src/providers/github/api/reader.ts';
import { providerApis, repositoryReaders } from '../../src/providers/index.ts';
import { type GithubApi, startGithubApi } from './github-api/server.ts';
import { type LinearApi, startLinearApi } from './linear-api/server.ts';
import { appWithOrganization, type TestApp } from './test-app.ts';

/** The app with GitHub and Linear stood in for, which really deliver: the app listens, and its public URL is where. */
export interface ProviderApp extends AsyncDisposable {
  app: TestApp;
  github: GithubApi;
  linear: LinearApi;
  /** The address that webhook URLs begin with; a test may send deliveries elsewhere. */
  publicUrl: string;
  /** Nobody answers at the app's address from now on. */
  goAway(): void;
  comeBack(): void;
}

export async function startProviderApp(
  options: { providerUrls?: Record<string, string> } = {},
): Promise<ProviderApp> {
  const app = await appWithOrganization({
    ...options,
    organizations: ['org_a', 'org_b'],
    // With the clock of the test, by which the stand-in limits requests.
    openProviderApi: async (type, token, signal) =>
      type === 'github' && typeof token === 'string'
        ? githubApi(github.url, token, { clock: app.clock, signal })
        : providerApis({ github: github.url, linear: linear.url })(type, token, signal),
    openReader: async (type, token, signal) =>
      type === 'github' && (token === null || typeof token === 'string')
        ? githubReader(github.url, token, { clock: app.clock, signal })
        : repositoryReaders({ github: github.url })(type, token, signal),
    publicUrl: () => started.publicUrl,
  });
  const github = startGithubApi({ clock: app.clock });
  const linear = startLinearApi({ clock: app.clock });
  const serve = (port: number | undefined) =>
    Bun.serve({ hostname: '127.0.0.1', port: port ?? 0, fetch: (request) => app.fetch(request) });
  let server = serve(0);
  const { port } = server;
  const started: ProviderApp = {
    app,
    github,
    linear,
    publicUrl: `http://127.0.0.1:${port}`,
    goAway: () => void server.stop(true),
    comeBack() {
      server = serve(port);
    },
    async [Symbol.asyncDispose]() {
      await github.settled();
      await server.stop(true);
      linear[Symbol.dispose]();
      github[Symbol.dispose]();
      await app.db.close();
    },
  };
  return started;
}

/** A repository that Ann administers, and a token of hers that may keep its webhooks. */
export function addRocket(github: GithubApi) {
  const repository = github.addRepository('acme/rocket', { rights: { ann: 'admin' } });
  const token = github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
  return { repository, token };
}

/** `addRocket`, connected to `org_a` with the token. */
export async function connectRocket({ app, github }: ProviderApp) {
  const rocket = addRocket(github);
  const request = { type: 'github', organizationId: 'org_a', places: ['acme/rocket'] } as const;
  const { integrationId } = await connectWithToken(app.deps, { ...request, token: rocket.token });
  await github.settled();
  return { ...rocket, integrationId };
}

/** The hidden fields of the form that goes to `action`. Fails when the page has no such form. */
export function hiddenFields(html: string, action: string): [name: string, value: string][] {
  const start = html.indexOf(`action="${action}"`);
  if (start === -1) throw new Error(`no form goes to ${action}`);
  const form = html.slice(start, html.indexOf('</form>', start));
  return Array.from(
    form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g),
    ([, name = '', value = '']) => [name, value],
  );
}
