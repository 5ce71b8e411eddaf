import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { openDatabase } from '../../db/sqlite/client.ts';
import { insertRun } from '../../src/integrations/uptime.ts';
import { type GithubApi, startGithubApi } from './github-api/server.ts';
import { type LinearApi, startLinearApi } from './linear-api/server.ts';

// The pages about webhooks that Tidings keeps at GitHub and Linear, one after the other, as a person comes to them.

export interface Providers {
  github: GithubApi;
  token: string;
  linear: LinearApi;
  /** Settings of a Tidings server that uses them. */
  environment: Record<string, string>;
  stop(): void;
}

/** A GitHub with repositories to choose from, and a token for them; and a Linear. */
export function startProviders(): Providers {
  const github = startGithubApi();
  const names = [
    'lander',
    'rocket-engine',
    'guidance',
    'telemetry',
    'docs',
    'website',
    'ground-station',
    'probe',
  ];
  for (const name of names) github.addRepository(`acme/${name}`, { rights: { ann: 'admin' } });
  github.addRepository(`acme/${'endless-'.repeat(12)}x`, { rights: { ann: 'admin' } });
  github.addRepository('partners/shared-parts', { rights: { ann: 'read' } });
  github.addRepository('acme/open', { isPrivate: false, rights: { ann: 'admin' } });
  const linear = startLinearApi();
  return {
    github,
    token: github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } }),
    linear,
    environment: { GITHUB_API_URL: github.url, LINEAR_API_URL: linear.url },
    stop() {
      github[Symbol.dispose]();
      linear[Symbol.dispose]();
    },
  };
}

/** Yields the name of each page once it is open. */
export async function* openProviderPages(
  page: Page,
  { base, dataDir }: { base: string; dataDir: string },
  { github, token, linear }: Providers,
): AsyncGenerator<string> {
  const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click();
  const tokenField = page.getByLabel('GitHub token');
  const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();

  await page.goto(`${base}/integrations`);
  await page.getByText('Webhook (needs a public URL)').first().click();
  await tokenField.fill('github_pat_of_nobody');
  await press('Choose repositories');
  await page.getByText('GitHub rejected the token').first().waitFor();
  yield 'token-refused';

  await tokenField.fill(token);
  await press('Choose repositories');
  await heading('Choose repositories');
  yield 'choose';

  await press('Connect repositories');
  await page.getByText('Choose at least one repository.').waitFor();
  yield 'choose-refused';

  await page.getByLabel('acme/lander').check();
  await page.getByLabel('acme/guidance').check();
  await press('Connect repositories');
  await page.getByText('GitHub can reach Tidings.').waitFor();
  yield 'connected';

  const integration = page.url();
  for (const name of ['check', 'token', 'add', 'missed', 'polling']) {
    await page.goto(`${integration}/${name}`);
    yield name;
  }

  const lander = github.repositories.find(({ name }) => name === 'acme/lander');
  await page.goto(integration);
  await press('Disable integration');
  await page.getByText('Tidings rejects its deliveries until').waitFor();
  for (const action of ['created', 'deleted', 'created']) {
    if (lander !== undefined) await github.emit(lander, 'push', { action, repository: { id: 7 } });
  }
  await page.goto(`${integration}/check`);
  await heading('problem');
  yield 'check-wrong';
  await press('Enable integration');
  await page.getByText('Integration enabled.').waitFor();

  await page.goto(`${integration}/missed`);
  await page.getByText('3 failed').waitFor();
  yield 'missed-some';
  await press('Redeliver all 3');
  await heading('Requested 3 deliveries from GitHub');
  yield 'missed-asked';

  await page.goto(integration);
  github.failNext('answers 500');
  await press('Repair webhooks');
  await page.getByText('GitHub failed with status 500').first().waitFor();
  yield 'repair-refused';

  await page.goto(integration);
  await page.getByText('Disconnect', { exact: true }).click();
  github.failNext('answers 500');
  await page.getByRole('button', { name: /^Disconnect acme/ }).click();
  await page.getByRole('button', { name: 'Disconnect anyway' }).waitFor();
  yield 'disconnect-refused';

  await page.goto(`${base}/integrations`);
  await page.getByLabel('Linear API key').fill(linear.adminKey);
  await press('Choose teams');
  await heading('Choose teams');
  yield 'teams';
  await page.getByLabel('Selected teams').check();
  await page.getByLabel('Engineering (ENG)').check();
  await page.getByLabel('Vault (VLT)').check();
  yield 'teams-some';
  await press('Connect teams');
  await page.getByText('Connected: Engineering (ENG), Vault (VLT).').waitFor();
  yield 'teams-connected';

  await page.goto(`${base}/integrations`);
  await page.getByLabel('Repositories').first().fill('acme/nowhere');
  await press('Poll repositories');
  await page.getByText('no public repository acme/nowhere').first().waitFor();
  yield 'poll-refused';
  await page.getByLabel('Repositories').first().fill('acme/open');
  await press('Poll repositories');
  await page.getByText('Connected by polling: acme/open.').waitFor();
  yield 'polled';
  const polled = page.url();
  await press('Poll now');
  await page.getByText('Nothing new.').waitFor();
  await page.goto(`${polled}/webhook`);
  yield 'use-webhook';
  await press('Set up by hand');
  await heading('Set up the webhook');
  yield 'webhook-by-hand';
  await page.goto(polled);
  await page.getByText('A webhook takes over.').waitFor();
  yield 'taking-over';

  const db = openDatabase(join(dataDir, 'tidings.db'));
  // A run that begins later than all that was looked at: what lies between is the pause.
  const later = { id: 'run_later', publicUrl: new URL(base).origin, process: null };
  await db.write((tx) => insertRun(tx, later, new Date(Date.now() + 600_000)));
  db.$client.close();
  // Of an integration without a token, which brings missed deliveries back by itself.
  await page.goto(`${base}/integrations`);
  await page.getByRole('link', { name: 'acme/rocket', exact: true }).click();
  await page.getByText('Tidings was not running').waitFor();
  yield 'paused';
}
