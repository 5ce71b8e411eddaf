import { expect, test } from 'bun:test';
import { join } from 'node:path';
import '../../src/dashboard/routes.ts'; // Pages add their scripts to the assets.
import { iconShapes } from '../../src/dashboard/view/icon-shapes.ts';
import { assets } from '../../src/http/look/assets.ts';
import drawableRanges from '../../src/readers/public/card-ranges.json' with { type: 'json' };
import { signedIn } from '../support/dashboard.ts';
import {
  fontFolder,
  makeCardFonts,
  makeFonts,
  readCardRanges,
  readIcons,
} from '../support/embedded-assets.ts';
import { appWithOrganization, createTestApp } from '../support/test-app.ts';

const isFont = ({ type }: { type: string }) => type === 'font/woff2';

test.each(assets.filter((each) => !isFont(each)))(
  '$path is kept for good, and sent in gzip to who takes it',
  async ({ path, type, content }) => {
    const body = new TextDecoder().decode(content.body);
    const app = createTestApp();
    const plain = await app.request(path);
    expect(plain.headers.get('content-type')).toBe(type);
    expect(plain.headers.get('cache-control')).toContain('immutable');
    expect(plain.headers.get('vary')).toBe('accept-encoding');
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(body);

    const zipped = await app.request(path, { headers: { 'accept-encoding': 'br, gzip' } });
    // A small file fits in one packet as it is.
    if (content.body.byteLength < 1_400) return;
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.headers.get('vary')).toBe('accept-encoding');
    const bytes = await zipped.bytes();
    expect(bytes.byteLength).toBeLessThan(body.length / 2);
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(body);
  },
);

test.each(assets.filter(isFont))('$path is kept for good, and sent as it is', async ({ path, content }) => {
  const response = await createTestApp().request(path, { headers: { 'accept-encoding': 'br, gzip' } });
  expect(response.headers.get('content-type')).toBe('font/woff2');
  expect(response.headers.get('cache-control')).toContain('immutable');
  expect(response.headers.get('content-encoding')).toBeNull();
  expect(await response.bytes()).toEqual(new Uint8Array(content.body));
});

const KB = 1_000;

test('all typefaces together weigh 90 KB at most, and are those of the packages', async () => {
  const made = await makeFonts();
  expect(made.reduce((sum, [, bytes]) => sum + bytes.byteLength, 0)).toBeLessThanOrEqual(90 * KB);
  for (const [name, bytes] of made) {
    expect(Bun.hash(bytes), name).toBe(Bun.hash(await Bun.file(join(fontFolder, name)).bytes()));
  }
});

test('the typefaces of social images, and the list of their characters, are those of the packages', async () => {
  for (const [name, bytes] of await makeCardFonts()) {
    expect(Bun.hash(bytes), name).toBe(Bun.hash(await Bun.file(join(fontFolder, name)).bytes()));
  }
  expect(await readCardRanges()).toEqual(drawableRanges as [number, number][]);
});

test('the icons are those of the package', () => {
  expect<Record<string, string>>(iconShapes).toEqual(readIcons());
});

test('a page, which holds secrets beside text of others, is never compressed', async () => {
  const app = await appWithOrganization();
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const page = await visit('/dashboard/org_a/posts', { headers: { 'accept-encoding': 'gzip' } });
  expect(page.status).toBe(200);
  expect(page.headers.get('content-encoding')).toBeNull();
});
