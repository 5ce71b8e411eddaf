import type { Page } from 'playwright-core';
import type { GithubApi } from './github-api/server.ts';

// The pages of a GitHub App, in the order in which a person comes to them, at Tidings and at GitHub.

/** Yields the name of each page of Tidings once it is open. */
export async function* openAppPages(
  page: Page,
  { base, name }: { base: string; name: string },
  github: GithubApi,
): AsyncGenerator<string> {
  const press = (label: string) => page.getByRole('button', { name: label, exact: true }).click();
  const follow = (label: string) => page.getByRole('link', { name: label, exact: true }).click();
  const heading = (text: string) => page.getByRole('heading', { name: text, level: 1 }).waitFor();

  await page.goto(`${base}/integrations`);
  await page.getByText('Webhook (needs a public URL)').first().click();
  await follow('Create GitHub App');
  await heading('Create a GitHub App');
  yield 'new';

  await page.getByText('Create it in an organization').click();
  await page.getByLabel('Organization', { exact: true }).fill('not a login');
  await press('Use organization');
  await page.getByRole('alert').waitFor();
  yield 'wrong-owner';

  await page.getByLabel('Organization', { exact: true }).fill('acme');
  await press('Use organization');
  await page.getByText('which acme will own').waitFor();
  yield 'organization';

  await press('Continue to GitHub');
  await heading('Create GitHub App from manifest');
  await page.getByLabel('GitHub App name').fill(name);
  await press('Create GitHub App');
  await page.getByText('The App is not installed, so it sends no events').waitFor();
  yield 'created';

  await follow('Install App');
  await heading(`Install ${name}`);
  await page.getByLabel('acme/lander', { exact: true }).check();
  await page.getByLabel('acme/probe', { exact: true }).check();
  await press('Install');
  await page.getByRole('cell', { name: 'acme/lander' }).waitFor();
  await github.settled();
  yield 'installed';

  await follow('Check integration');
  await page.getByText('The App is installed at GitHub').waitFor();
  yield 'check';
  await page.goBack();

  await follow('Replace key');
  await page.getByLabel('Private key').fill('not a key');
  await press('Replace key');
  await page.getByRole('alert').waitFor();
  yield 'wrong-key';
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').last().click();

  const app = github.apps.at(-1);
  if (app === undefined) throw new Error('GitHub has no App');
  github.suspendApp(app);
  await github.settled();
  await page.reload();
  await page.getByText('Somebody suspended the App at GitHub').waitFor();
  yield 'suspended';

  await page.locator('summary', { hasText: 'Disconnect' }).click();
  yield 'disconnect';
  await press(`Disconnect ${app.slug}`);
  await page.getByText(`${app.slug} is disconnected. Delete the App at`).waitFor();
  yield 'disconnected';
}
