import { expect, test } from 'bun:test';
import '../../src/dashboard/routes.ts';
import { assets } from '../../src/dashboard/view/assets.ts';
import { signedIn } from '../support/dashboard.ts';
import { appWithOrganization, createTestApp } from '../support/test-app.ts';

test.each(assets)(
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

test('a page, which holds secrets beside text of others, is never compressed', async () => {
  const app = await appWithOrganization();
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const page = await visit('/dashboard/org_a/posts', { headers: { 'accept-encoding': 'gzip' } });
  expect(page.status).toBe(200);
  expect(page.headers.get('content-encoding')).toBeNull();
});
