import { afterAll, beforeAll, expect, test } from 'bun:test';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { type OpenDashboard, openDashboard } from '../support/dashboard-browser.ts';
import { fillDashboard } from '../support/full-dashboard.ts';
import { rounds } from '../support/rounds.ts';
import { followFirst, pages } from '../support/screenshots.ts';

// WCAG 2.2 beyond axe's default rules: reflow, target size, focus order, visible focus, titles. `docs/accessibility.md` has the rest.

/** A short window, so that parts which stick to its edges could cover much of it. */
const WIDE = { width: 1280, height: 500 };
/** A window of 1280 pixels at 400 % zoom. */
const ZOOMED = { width: 320, height: 256 };

let dashboard: OpenDashboard;
let page: Page;

beforeAll(async () => {
  dashboard = await openDashboard(['--demo']);
  page = await dashboard.person.newPage();
  await fillDashboard(dashboard);
}, 300_000);

afterAll(() => dashboard.close());

/** A path, and after `>` the links to follow from there. */
const cases = [
  ...pages.map(({ path }) => path),
  ...pages.flatMap(({ path, follow }) => (follow === undefined ? [] : [`${path} > ${follow}`])),
  'deliveries?status=rejected > deliveries/dlv_',
  'integrations > integrations/int_ > triggers/trg_',
  'media',
  'posts/wide',
  'posts/wide/versions',
  '/dashboard/~/account',
  '/docs',
];

async function open(steps: string): Promise<void> {
  const [path = '', ...links] = steps.split(' > ');
  await page.goto(path.startsWith('/') ? `${dashboard.origin}${path}` : `${dashboard.base}/${path}`);
  for (const link of links) expect(await followFirst(page, link)).toBe(true);
}

test.each(cases)(
  '%s can be read at 400 %% zoom, and its targets are large enough',
  async (steps) => {
    await page.setViewportSize(ZOOMED);
    await open(steps);
    await page.evaluate(axe.source);
    expect(await page.evaluate(sidewaysAndSmall)).toEqual([]);
    await page.setViewportSize(WIDE);
    expect(await page.evaluate(sidewaysAndSmall)).toEqual([]);
  },
  60_000,
);

/** Runs in the page. Lists what makes it scroll sideways, folded and unfolded, and targets below 24 px (2.5.8). */
async function sidewaysAndSmall(): Promise<string[]> {
  const { axe: checker } = globalThis as unknown as { axe: typeof axe };
  const wrong: string[] = [];
  const folded = Array.from(document.querySelectorAll<HTMLDetailsElement>('details:not([open])'));
  for (const isOpen of [false, true]) {
    for (const details of folded) details.open = isOpen;
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > innerWidth) {
      const wide = Array.from(document.querySelectorAll('body *')).filter(
        (each) => each.getBoundingClientRect().right > innerWidth,
      );
      wrong.push(`${scrollWidth} px wide: ${wide.map(({ outerHTML }) => outerHTML.slice(0, 60)).join(' ')}`);
    }
    // An open menu covers the targets below it, until it closes.
    for (const details of folded) if (details.matches('.dropdown')) details.open = false;
    const { violations } = await checker.run({ runOnly: { type: 'rule', values: ['target-size'] } });
    for (const { nodes } of violations) wrong.push(...nodes.map(({ html }) => `too small: ${html}`));
  }
  for (const details of folded) details.open = false;
  return wrong;
}

test.each(cases)(
  'on %s the focus follows the reading order, and is always visible',
  async (steps) => {
    // The hundreds of stops of `/docs` have one order in all windows.
    const isLong = steps !== '/docs' && rounds(0, 1) === 1;
    for (const size of isLong ? [WIDE, ZOOMED] : [WIDE]) {
      await page.setViewportSize(size);
      await open(steps);
      const forward = await walk('Tab');
      const back = await walk('Shift+Tab');
      expect([...forward.wrong, ...back.wrong]).toEqual([]);
      expect(forward.stops).toBeGreaterThan(3);
    }
  },
  60_000,
);

test('the bar of selected rows covers no row that has the focus', async () => {
  await page.setViewportSize(WIDE);
  for (const path of ['posts', 'deliveries']) {
    await page.goto(`${dashboard.base}/${path}`);
    await page.getByRole('checkbox', { name: 'Select all rows' }).check();
    expect((await walk('Tab')).wrong).toEqual([]);
    expect((await walk('Shift+Tab')).wrong).toEqual([]);
  }
}, 60_000);

test('each page has a title of its own', async () => {
  const titles = new Map<string, string>();
  for (const { path } of pages.filter((each) => !each.path.startsWith('explorer'))) {
    await page.goto(`${dashboard.base}/${path}`);
    const title = await page.title();
    expect(titles.get(title)).toBeUndefined();
    expect(title).toEndWith(' · Tidings');
    titles.set(title, path);
  }
}, 60_000);

/** Presses a key until the focus leaves the page. */
async function walk(key: 'Tab' | 'Shift+Tab'): Promise<{ stops: number; wrong: string[] }> {
  const wrong: string[] = [];
  for (let stops = 0; stops < 400; stops++) {
    await page.keyboard.press(key);
    const found = await page.evaluate(lookAtFocus, key === 'Tab');
    if (found === null) return { stops, wrong };
    if (found.length > 0) wrong.push(`${key} ${stops}: ${found}`);
  }
  return { stops: 400, wrong: [...wrong, 'the focus never leaves the page'] };
}

/** Runs in the page. Describes what is wrong with the focus; null: the focus has left the page. */
function lookAtFocus(isForward: boolean): string | null {
  const here = globalThis as unknown as { previous?: Element | null };
  const element = document.activeElement as HTMLInputElement | null;
  const { previous } = here;
  here.previous = element;
  if (element === null || element === document.body) {
    here.previous = null;
    return null;
  }
  const wrong: string[] = [];
  if (element.tabIndex > 0) wrong.push('positive tabindex');
  const order = previous?.compareDocumentPosition(element) ?? 0;
  const wanted = isForward ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
  // The buttons of the payload's tree move to the row that has the focus.
  if (previous?.isConnected && (order & wanted) === 0 && element.closest('.tree') === null)
    wrong.push('out of order');

  // A hidden radio button shows the focus on its label.
  const shown = getComputedStyle(element).opacity === '0' ? (element.labels?.[0] ?? element) : element;
  const { outlineStyle, outlineWidth } = getComputedStyle(shown);
  if (outlineStyle === 'none' || outlineWidth === '0px') wrong.push('no outline');
  const box = shown.getBoundingClientRect();
  const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  const points = [0.1, 0.5, 0.9].flatMap((x) => [0.2, 0.5, 0.8].map((y) => [x, y] as const));
  const isSeen = points.some(([x, y]) => {
    const hit = document.elementFromPoint(left + (right - left) * x, top + (bottom - top) * y);
    return hit !== null && (shown.contains(hit) || hit.contains(shown));
  });
  if (!isSeen) wrong.push('covered or outside the window');
  return wrong.length === 0 ? '' : `${wrong.join(', ')}: ${element.outerHTML.slice(0, 120)}`;
}
