import { listIntegrations } from '../../src/integrations/store.ts';
import { providerApis, repositoryReaders } from '../../src/providers/index.ts';
import { fixedClock } from './clock.ts';
import { signedIn, type Visit } from './dashboard.ts';
import type { StoredApp } from './github-api/apps.ts';
import { type GithubApi, startGithubApi } from './github-api/server.ts';
import type { StoredRepository } from './github-api/state.ts';
import { hiddenFields } from './provider-app.ts';
import { appWithOrganization, type TestApp } from './test-app.ts';

/** The dashboard of `org_a` and GitHub, which delivers to it, with two repositories. */
export interface AppWorld extends AsyncDisposable {
  app: TestApp;
  github: GithubApi;
  /** An owner. */
  visit: Visit;
  rocket: StoredRepository;
  engine: StoredRepository;
}

export const LIST = '/dashboard/org_a/integrations';
export const NEW_APP = `${LIST}/github-app/new`;

/** Apps sign in by the system's clock, so GitHub has that one. Tidings' own starts there, and a test may move it. */
export async function startAppWorld(): Promise<AppWorld> {
  const github = startGithubApi();
  const providerUrls = { github: github.url };
  const app = await appWithOrganization({
    clock: fixedClock(new Date().toISOString()),
    organizations: ['org_a', 'org_b'],
    providerUrls,
    openProviderApi: providerApis(providerUrls),
    openReader: repositoryReaders(providerUrls),
    publicUrl: () => `http://127.0.0.1:${server.port}`,
  });
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => app.fetch(request) });
  return {
    app,
    github,
    visit: await signedIn(app, { organizationId: 'org_a' }),
    rocket: github.addRepository('acme/rocket'),
    engine: github.addRepository('acme/engine'),
    async [Symbol.asyncDispose]() {
      await github.settled();
      await server.stop(true);
      github[Symbol.dispose]();
      await app.db.close();
    },
  };
}

/** The form for GitHub on a page. */
export function formOf(html: string): { action: string; fields: Record<string, string> } {
  const escaped = /<form method="post" action="(http[^"]+)"/.exec(html)?.[1] ?? '';
  const fields = Object.fromEntries(
    hiddenFields(html, escaped).map(([name, value]) => [name, unescaped(value)]),
  );
  return { action: unescaped(escaped), fields };
}

const unescaped = (text: string) =>
  text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** Opens the form, agrees at GitHub, and returns the path that GitHub sends the browser back to. */
export async function agreeAtGithub(
  visit: Visit,
  path = NEW_APP,
  name = 'Tidings for Acme',
): Promise<string> {
  const { action, fields } = formOf(await (await visit(path)).text());
  const body = new URLSearchParams({ ...fields, name });
  const response = await fetch(action, { method: 'POST', body, redirect: 'manual' });
  const { pathname, search } = new URL(response.headers.get('location') ?? '');
  return pathname + search;
}

/** An App that Ann created, not installed yet. */
export async function createdApp({ app, github, visit }: AppWorld) {
  await visit(await agreeAtGithub(visit));
  const stored = github.apps.at(-1) as StoredApp;
  const [integration] = (await app.db.read((tx) => listIntegrations(tx, 'org_a'))).toReversed();
  if (integration === undefined) throw new Error('the App was not connected');
  return { stored, id: integration.id, path: `${LIST}/${integration.id}` };
}

/** The same, installed on these repositories. */
export async function installedApp(world: AppWorld, ...repositories: StoredRepository[]) {
  const created = await createdApp(world);
  world.github.installApp(created.stored, repositories);
  await world.github.settled();
  return created;
}

/** The integration with this id, as it is stored. */
export async function integrationOf({ app }: AppWorld, id: string) {
  return (await app.db.read((tx) => listIntegrations(tx))).find((each) => each.id === id) ?? null;
}

export const namesOf = (integration: { repositories: readonly { fullName: string }[] } | null) =>
  integration?.repositories.map(({ fullName }) => fullName);
