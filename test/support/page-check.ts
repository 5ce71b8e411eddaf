import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { rounds } from './rounds.ts';
import { looks } from './screenshots.ts';

/** A wide screen in light and a phone in dark; every pair in the long check. */
export const checked = looks.filter(
  ({ width, colorScheme }) => rounds(0, 1) === 1 || width > 500 === (colorScheme === 'light'),
);

/**
 * Lists problems of the open page, in several looks: axe violations, touch targets that are too small on a phone,
 * and whether it can be moved sideways, as it is and with all unfolded that can be. Only contrast depends on the color
 * scheme, so the dark looks check nothing else with axe.
 */
export async function wrongWith(page: Page, inLooks = checked): Promise<string[]> {
  const wrong: string[] = [];
  // The page's own policy would refuse a script element; this is no part of the page.
  await page.evaluate(axe.source);
  for (const { width, colorScheme } of inLooks) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found = await page.evaluate(look, colorScheme === 'dark');
    wrong.push(...found.map((each) => `${width} ${colorScheme}: ${each}`));
  }
  return wrong;
}

/** Runs in the page. */
async function look(onlyContrast: boolean): Promise<string[]> {
  const { axe: checker } = globalThis as unknown as { axe: typeof axe };
  const wrong: string[] = [];
  const every = (selector: string) => Array.from(document.querySelectorAll<HTMLElement>(selector));
  const measure = (when: string) => {
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > innerWidth) wrong.push(`${when}, it is ${scrollWidth} wide`);
  };
  const folded = every('details:not([open])') as HTMLDetailsElement[];
  measure('folded');
  for (const details of folded) details.open = true;
  measure('unfolded');
  const { violations } = await checker.run({
    resultTypes: ['violations'],
    ...(onlyContrast ? { runOnly: ['color-contrast'] } : { rules: { 'target-size': { enabled: true } } }),
  });
  for (const { id, nodes } of violations) wrong.push(`${id}: ${nodes.map(({ html }) => html).join(' ')}`);
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
