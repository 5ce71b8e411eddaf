import type axe from 'axe-core';
import type { Page } from 'playwright-core';
import { rounds } from './rounds.ts';
import { looks } from './screenshots.ts';

// WCAG 2.2: axe's rules, reflow, target size, focus order, visible focus. `docs/accessibility.md` has the rest.

/** A short window, so that parts which stick to its edges could cover much of it. */
const WIDE = { width: 1280, height: 500 };
/** A window of 1280 pixels at 400 % zoom. */
const ZOOMED = { width: 320, height: 256 };

/** Half as long as the package's main file, so it costs half as much to compile for each page. */
const axeSource = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text();

interface Look {
  width: number;
  height: number;
  colorScheme: 'light' | 'dark';
}

/** A wide window in light, and a narrow one in dark; more in the long check. */
const checked: readonly Look[] = [
  { ...WIDE, colorScheme: 'light' },
  { ...ZOOMED, colorScheme: 'dark' },
  ...looks.map((look) => ({ ...look, height: 900 })).slice(0, rounds(0, looks.length)),
];

/**
 * Lists problems of the open page, in several looks: axe violations, touch targets that are too small on a phone,
 * and whether it can be moved sideways, as it is and with all unfolded that can be. Only contrast and sizes depend on the
 * look, so the dark looks check nothing else with axe.
 */
export async function wrongWith(page: Page, { contrast = true } = {}): Promise<string[]> {
  const wrong: string[] = [];
  // The page's own policy would refuse a script element; this is no part of the page.
  await page.evaluate(axeSource);
  for (const { width, height, colorScheme } of checked) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found = await page.evaluate(look, { onlyContrast: colorScheme === 'dark', contrast });
    wrong.push(...found.map((each) => `${width} ${colorScheme}: ${each}`));
  }
  return wrong;
}

/** Runs in the page. */
async function look({
  onlyContrast,
  contrast,
}: Record<'onlyContrast' | 'contrast', boolean>): Promise<string[]> {
  const { axe: checker } = globalThis as unknown as { axe: typeof axe };
  const wrong: string[] = [];
  const every = (selector: string) => Array.from(document.querySelectorAll<HTMLElement>(selector));
  const measure = (when: string) => {
    const { scrollWidth } = document.documentElement;
    if (scrollWidth <= innerWidth) return;
    const wide = every('body *').filter((each) => each.getBoundingClientRect().right > innerWidth);
    const named = wide.map(({ outerHTML }) => outerHTML.slice(0, 60)).join(' ');
    wrong.push(`${when}, it is ${scrollWidth} wide: ${named}`);
  };
  const check = async (options: axe.RunOptions) => {
    const { violations } = await checker.run({ resultTypes: ['violations'], ...options });
    for (const { id, nodes } of violations) wrong.push(`${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  };
  const folded = every('details:not([open])') as HTMLDetailsElement[];
  measure('folded');
  for (const details of folded) details.open = true;
  measure('unfolded');
  if (!onlyContrast) await check({ rules: { 'color-contrast': { enabled: contrast } } });
  else if (contrast) await check({ runOnly: ['color-contrast'] });
  // An open menu covers the targets below it, until it closes.
  for (const details of folded) if (details.matches('.dropdown')) details.open = false;
  await check({ runOnly: ['target-size'] });
  if (innerWidth < 500) {
    const targets = every(
      'button, .button, summary, select, textarea, nav a, label.check, label.toggle, .select label, input',
    );
    for (const target of targets.filter(
      (each) => !each.matches('.check input, .toggle input, .select input, .prose input'),
    )) {
      const { width, height } = target.getBoundingClientRect();
      if (width > 0 && height < 44) wrong.push(`${height} px high: ${target.outerHTML.slice(0, 150)}`);
    }
  }
  for (const details of folded) details.open = false;
  return wrong;
}

/** Lists problems of the focus, which the keyboard moves through the whole open page; in the long check also zoomed, and back. */
export async function wrongWithFocus(page: Page): Promise<string[]> {
  const wrong: string[] = [];
  for (const size of [WIDE, ZOOMED].slice(0, rounds(1, 2))) {
    await page.setViewportSize(size);
    for (const key of ['Tab', 'Shift+Tab'].slice(0, rounds(1, 2))) wrong.push(...(await walk(page, key)));
  }
  return wrong;
}

/** More than a page has. */
const MOST_STOPS = 400;

/** Presses a key until the focus leaves the page. */
async function walk(page: Page, key: string): Promise<string[]> {
  const wrong: string[] = [];
  for (let stops = 0; stops < MOST_STOPS; stops++) {
    await page.keyboard.press(key);
    const found = await page.evaluate(lookAtFocus, key === 'Tab');
    if (found === null) return stops > 0 ? wrong : [...wrong, `${key}: the focus stops ${stops} times`];
    if (found.length > 0) wrong.push(`${key} ${stops}: ${found}`);
  }
  return [...wrong, `${key}: the focus never leaves the page`];
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
