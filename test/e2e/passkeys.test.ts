import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type OpenDashboard, openDashboard, owner, signIn, watch } from '../support/dashboard-browser.ts';

// Passkeys in a real browser, by Chromium's virtual authenticator: added, as the second factor, alone, required, removed.

let dashboard: OpenDashboard;
let page: Page;
let trouble: string[];
/** Whether the person proves who they are, and whether the device answers at all. */
let setVerified: (isVerified: boolean) => Promise<unknown>;

beforeAll(async () => {
  dashboard = await openDashboard();
  trouble = watch(dashboard.person, dashboard.origin);
  page = await dashboard.person.newPage();
  const devtools = await dashboard.person.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  setVerified = (isUserVerified) =>
    devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
}, 300_000);

afterAll(() => dashboard.close());

const MORE = 'Use a recovery code';
const at = (path: string) => `${dashboard.origin}/dashboard/~/${path}`;
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

async function signOut(): Promise<void> {
  await dashboard.person.clearCookies();
  await page.goto(at('sign-in'));
}

let code = '';

test('a passkey is added, and its recovery codes are shown', async () => {
  await page.goto(at('account'));
  await page.getByLabel('Name', { exact: true }).fill('Virtual key');
  await press('Add passkey');
  await page.getByRole('heading', { name: 'Passkey added' }).waitFor();
  [code = ''] = /(?:[0-9a-z]{4}-){3}[0-9a-z]{4}/.exec((await page.locator('main').textContent()) ?? '') ?? [];
  expect(code).toHaveLength(19);
  await page.getByRole('link', { name: 'Back to your account' }).click();
  await page.getByText('Virtual key', { exact: true }).first().waitFor();
  // The device refuses to make a second one for the same account, and the page says so.
  await page.getByLabel('Name', { exact: true }).fill('Again');
  await press('Add passkey');
  await page.getByText('This device already has a passkey for your account.').waitFor();
});

test('after the password, it is the second factor', async () => {
  await signOut();
  await page.getByLabel('Email').fill(owner.email);
  await page.getByLabel('Password').fill(owner.password);
  await press('Sign in');
  await page.getByRole('heading', { name: 'Second factor' }).waitFor();
  await setVerified(false);
  await press('Use a passkey');
  await page.getByText('The browser did not use a passkey.').waitFor();
  await setVerified(true);
  await press('Use a passkey');
  await page.waitForURL(/\/posts$/);
});

test('alone, it signs in without a password', async () => {
  await signOut();
  await press('Sign in with a passkey');
  await page.waitForURL(/\/posts$/);
});

test('a recovery code stands in for it, without a script too', async () => {
  const context = await dashboard.browser.newContext({ javaScriptEnabled: false });
  const plain = await context.newPage();
  await plain.goto(at('sign-in'));
  await plain.getByText('Passkeys need JavaScript.').waitFor();
  await signIn(plain);
  await plain.getByText(MORE).click();
  await plain.getByLabel('Recovery code').fill(code);
  await plain.getByRole('button', { name: 'Use code' }).click();
  await plain.waitForURL(/\/posts$/);
  await context.close();
});

test('an organization requires it, and asks for it', async () => {
  await page.goto(`${dashboard.base}/settings`);
  await page.getByText('Require a passkey', { exact: true }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Require a passkey' }).click();
  await page.getByText('A passkey is now required.').waitFor();
});

test('it is removed once no organization requires it, and nothing of it was in the way of the policy', async () => {
  await press('Stop requiring a passkey');
  await page.getByText('A passkey is no longer required.').waitFor();
  await page.goto(at('account'));
  await page.locator('#passkeys').scrollIntoViewIfNeeded();
  await page.getByText('Remove Virtual key').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove passkey' }).click();
  await page.getByText('Passkey removed.').waitFor();
  expect(trouble).toEqual([]);
});
