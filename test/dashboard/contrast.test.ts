import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { contrast } from '../../src/readers/public/model.ts';
import { root } from '../support/server.ts';

// The colors of both themes are readable (WCAG 2.2 AA): 4.5 for text, 3 for the borders of fields and the focus.

const css = await Bun.file(join(root, 'src/http/look/tokens.css')).text();
const tokens = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, { light, dark }],
  ),
);

const grounds = ['paper', 'sheet', 'sunk', 'hover', 'chosen'];
const states = ['ok', 'info', 'mute', 'warn', 'bad'];
const pairs: [text: string, ground: string, least: number][] = [
  ...['ink', 'ink-2', 'ink-3'].flatMap((text) =>
    grounds.map((ground): [string, string, number] => [text, ground, 4.5]),
  ),
  ...states.map((state): [string, string, number] => [state, `${state}-bg`, 4.5]),
  ...['ok', 'bad'].flatMap((text) =>
    ['paper', 'sheet'].map((ground): [string, string, number] => [text, ground, 4.5]),
  ),
  ['accent-ink', 'accent', 4.5],
  ['accent-ink', 'accent-hover', 4.5],
  ...['edge', 'accent'].flatMap((text) =>
    ['paper', 'sheet'].map((ground): [string, string, number] => [text, ground, 3]),
  ),
];

test.each(pairs)('%s on %s has a contrast of %d', (text, ground, least) => {
  for (const theme of ['light', 'dark'] as const) {
    const [front, back] = [tokens.get(text)?.[theme], tokens.get(ground)?.[theme]];
    expect(contrast(front ?? '', back ?? ''), `${theme}: ${front} on ${back}`).toBeGreaterThanOrEqual(least);
  }
});

test('the selected row of a dark list is lighter than the page', () => {
  const dark = (name: string) => contrast(tokens.get(name)?.dark ?? '', '#000000');
  expect(dark('chosen')).toBeGreaterThan(dark('hover'));
  expect(dark('hover')).toBeGreaterThan(dark('sheet'));
  expect(dark('sheet')).toBeGreaterThan(dark('paper'));
});
