import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { contrast, readableOn } from '../../src/readers/public/model.ts';
import { appWithPage } from '../support/public-page.ts';
import { root } from '../support/server.ts';

// The bytes that a browser receives, and the contrast of the page.

const LIMIT = 14_000;

/** Text that people wrote: made-up text would compress too well. */
const pages = ['webhooks', 'deliveries', 'events', 'hooks'].map((name) =>
  Bun.file(join(root, `docs/${name}.md`)).text(),
);
const written = (await Promise.all(pages)).join('\n').replaceAll(/^#+ |\|/gm, '');
const POST_LENGTH = 1_600;
const post = (number: number) =>
  `### Added\n\n${written.slice(number * POST_LENGTH, (number + 1) * POST_LENGTH)}\n`;

test('the list and a post weigh 14 KB at most as they are sent, with their style', async () => {
  const { app, change, open } = await appWithPage();
  const links = Array.from({ length: 8 }, (_, at) => ({
    label: `Link ${at}`,
    url: `https://acme.test/${at}`,
  }));
  await change({ isFeedOn: true, description: written.slice(0, 300), links });
  const at = (month: number) => new Date(Date.UTC(2026, -month)).toISOString();
  await app.addPosts(
    'org_acme',
    ...Array.from({ length: 14 }, (_, month) => ({
      id: `post_long_enough_${month}`,
      title: written.slice(month * 100, month * 100 + 80),
      markdown: post(month),
      createdAt: at(month),
    })),
  );
  expect(post(13).length).toBeGreaterThan(POST_LENGTH);
  for (const path of ['', '?page=2', '/post_long_enough_5', '/archive/2025-06', '?q=webhook']) {
    const { response } = await open(path);
    expect(response.status, path).toBe(200);
    const zipped = await app.fetch(
      new Request(`http://localhost/changelog/acme${path}`, { headers: { 'accept-encoding': 'gzip' } }),
    );
    const size = (await zipped.bytes()).byteLength;
    expect(size, path).toBeLessThanOrEqual(LIMIT);
  }
});

const css = await Bun.file(join(root, 'src/readers/public/page.css')).text();
const [paper, ...others] = [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
  ([, name = '', light = '', dark = '']) => ({ name, light, dark }),
);

test('every accent color is readable on both grounds', () => {
  const channel = fc.integer({ min: 0, max: 255 });
  const hex = fc
    .tuple(channel, channel, channel)
    .map((parts) => `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`);
  fc.assert(
    fc.property(hex, fc.constantFrom(paper?.light ?? '', paper?.dark ?? ''), (color, ground) => {
      const shown = readableOn(ground, color);
      expect(contrast(shown, ground)).toBeGreaterThanOrEqual(4.5);
      if (contrast(color, ground) >= 4.6) expect(shown).toBe(color);
    }),
  );
});

test('the colors of the page are readable in both themes', () => {
  const least: Record<string, number> = { ink: 4.5, 'ink-2': 4.5, edge: 3 };
  expect(others.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(least)));
  for (const theme of ['light', 'dark'] as const) {
    const grounds = [paper, others.find(({ name }) => name === 'sunk')].map((each) => each?.[theme] ?? '');
    for (const { name, [theme]: color } of others.filter((each) => each.name in least)) {
      for (const ground of grounds) {
        expect(contrast(color, ground), `${theme} ${name}`).toBeGreaterThanOrEqual(least[name] ?? 0);
      }
    }
  }
});
