import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';
import { imageFixture } from '../support/media.ts';
import { wrongWith } from '../support/page-check.ts';
import { until } from '../support/until.ts';

// Images in the editor of a real browser: chosen, pasted and dropped.

let dashboard: OpenDashboard;
beforeAll(async () => {
  dashboard = await openDashboard();
}, 300_000);
afterAll(() => dashboard?.close(), 300_000);

async function openEditor(): Promise<Page> {
  const page = await dashboard.person.newPage();
  // The preview is beside the text.
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${dashboard.base}/posts/~/new`);
  return page;
}

const textOf = (page: Page) => page.getByLabel('Text, in Markdown');

/** Waits until the text matches. */
async function waitForText(page: Page, pattern: RegExp): Promise<string> {
  await page.waitForFunction(
    (source) => new RegExp(source).test(document.querySelector('textarea')?.value ?? ''),
    pattern.source,
    { timeout: 60_000 },
  );
  return textOf(page).inputValue();
}

/** Hands a file to the text as a paste or a drop does. */
function transfer(page: Page, kind: 'paste' | 'drop', name: string, type: string): Promise<void> {
  const base64 = imageFixture(name).toString('base64');
  return page.evaluate(
    ([event, content, fileName, fileType]) => {
      const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], fileName, { type: fileType }));
      const options = { bubbles: true, cancelable: true };
      const target = document.querySelector('textarea');
      target?.dispatchEvent(
        event === 'paste'
          ? new ClipboardEvent('paste', { ...options, clipboardData: data })
          : new DragEvent('drop', { ...options, dataTransfer: data }),
      );
    },
    [kind, base64, name, type] as const,
  );
}

test('an image is chosen, shows in the preview, and stays in the saved post', async () => {
  const trouble = watch(dashboard.person, dashboard.origin);
  const page = await openEditor();
  await page.getByLabel('Title').fill('With an image');
  await textOf(page).fill('Before');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Insert image' }).click();
  await (await chooser).setFiles({
    name: 'quiet-engine.png',
    mimeType: 'image/png',
    buffer: imageFixture('photo.png'),
  });
  const text = await waitForText(page, /!\[quiet engine\]\(http.*\.png\)/);
  expect(text).toMatch(/^Before\n\n!\[quiet engine\]\(http:\/\/localhost:\d+\/media\/img_\w+\.png\)$/);
  const image = page.locator('#preview img');
  await image.waitFor();
  await page.waitForFunction(
    () => (document.querySelector<HTMLImageElement>('#preview img')?.naturalWidth ?? 0) === 40,
  );
  await page.getByRole('button', { name: /Save draft|Create draft/ }).click();
  await page.waitForURL(/\/posts\/post_/);
  expect(await textOf(page).inputValue()).toBe(text);
  await page.close();
  expect(trouble).toEqual([]);
}, 300_000);

test.each([
  ['paste', 'photo.webp', 'image/webp'],
  ['drop', 'anim.gif', 'image/gif'],
] as const)(
  'a %s uploads an image at the caret',
  async (kind, name, type) => {
    const page = await openEditor();
    await textOf(page).fill('OneTwo');
    await page.evaluate(() => document.querySelector('textarea')?.setSelectionRange(3, 3));
    await transfer(page, kind, name, type);
    const text = await waitForText(page, /\/media\/img_/);
    expect(text).toMatch(/^One\n\n!\[\w+\]\(http\S+\)\n\nTwo$/);
    await page.close();
  },
  300_000,
);

const description = (page: Page) => page.getByLabel('Describe the image');

test('a description is asked for, and goes to the text and the image', async () => {
  const page = await openEditor();
  await textOf(page).focus();
  await transfer(page, 'paste', 'photo.jpg', 'image/jpeg');
  await description(page).waitFor();
  await until(() => description(page).evaluate((field) => field === document.activeElement), Boolean);
  // It replaces the words of the file name, which are selected.
  await page.keyboard.type('A [quiet] engine');
  expect(await wrongWith(page)).toEqual([]);
  await page.keyboard.press('Enter');
  const text = await waitForText(page, /!\[A \\\[quiet\\\] engine\]/);
  await description(page).waitFor({ state: 'detached' });
  expect(await textOf(page).evaluate((area) => area === document.activeElement)).toBe(true);
  await page.locator('#preview img[alt="A [quiet] engine"]').waitFor({ state: 'attached' });
  const [, id] = /media\/(img_\w+)\./.exec(text) ?? [];
  await page.goto(`${dashboard.base}/media/${id}`);
  expect(await page.getByLabel('Description').inputValue()).toBe('A [quiet] engine');
  await page.close();
}, 300_000);

test('Escape skips the description, which never takes the focus from a person who types', async () => {
  const page = await openEditor();
  await textOf(page).focus();
  await page.route('**/media', async (route) => {
    await page.keyboard.type('typed meanwhile');
    await route.continue();
  });
  await transfer(page, 'drop', 'photo.avif', 'image/avif');
  await description(page).waitFor();
  expect(await textOf(page).evaluate((area) => area === document.activeElement)).toBe(true);
  const text = await textOf(page).inputValue();
  await description(page).fill('Discarded');
  await page.keyboard.press('Escape');
  await description(page).waitFor({ state: 'detached' });
  expect(await textOf(page).inputValue()).toBe(text);
  await page.close();
}, 300_000);

test('a file that is no image leaves the text as it was, and says why', async () => {
  const page = await openEditor();
  await textOf(page).fill('Words');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Insert image' }).click();
  await (await chooser).setFiles({ name: 'x.png', mimeType: 'image/png', buffer: Buffer.from('<svg/>') });
  await page.getByText('x.png: The file is not a PNG, JPEG, GIF, WebP or AVIF image.').waitFor();
  expect((await textOf(page).inputValue()).trim()).toBe('Words');
  await page.close();
}, 300_000);
