import { expect, test } from 'bun:test';
import { readPreferences, writePreferences } from '../../src/dashboard/page.ts';
import { knownZone } from '../../src/lib/time.ts';
import { cookieOf, form, hostile, signedIn, visitor } from '../support/dashboard.ts';
import { appWithOrganization } from '../support/test-app.ts';

const ACCOUNT = '/dashboard/~/account';

async function setUp() {
  const app = await appWithOrganization();
  const visit = await signedIn(app, { organizationId: 'org_a' });
  return { app, visit, withLook: (look: string) => visitor(app, `${visit.cookie}; ${look}`) };
}

test('theme, density, time zone and shortcuts are kept in a cookie, and every page follows them', async () => {
  const { visit, withLook } = await setUp();
  const saved = await visit(
    `${ACCOUNT}/appearance`,
    form({ theme: 'dark', density: 'dense', zone: 'Europe/Berlin' }),
  );
  expect(saved.status).toBe(303);
  const look = cookieOf(saved, 'tidings_look') ?? '';
  expect(saved.headers.getSetCookie().find((each) => each.includes('_look='))).toContain('HttpOnly');
  const page = await (await withLook(look)('/dashboard/org_a/posts')).text();
  expect(page).toContain('<html lang="en" data-theme="dark" data-density="dense" data-shortcuts="off">');
  const account = await (await withLook(look)(ACCOUNT)).text();
  expect(account).toContain('value="Europe/Berlin"');
});

test.each([
  ['theme', { theme: 'sepia', density: 'dense', zone: '' }, 'Choose a theme.'],
  ['density', { theme: 'dark', density: 'huge', zone: '' }, 'Choose a density.'],
  ['zone', { theme: 'dark', density: 'dense', zone: 'Mars/Olympus' }, 'No time zone has this name.'],
  ['zone', { theme: 'dark', density: 'dense', zone: hostile }, 'No time zone has this name.'],
])('an invalid %s is refused, and nothing is saved', async (_, fields, message) => {
  const { visit } = await setUp();
  const refused = await visit(`${ACCOUNT}/appearance`, form(fields));
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain(message);
  expect(cookieOf(refused, 'tidings_look')).toBeUndefined();
});

test('a stranger changes nothing', async () => {
  const { app } = await setUp();
  const response = await visitor(app)(
    `${ACCOUNT}/appearance`,
    form({ theme: 'dark', density: 'dense', zone: '' }),
  );
  expect(response.status).toBe(401);
  expect(cookieOf(response, 'tidings_look')).toBeUndefined();
});

test('times are in the zone of the person, else of the browser, else in UTC', () => {
  const fixed = writePreferences({
    theme: 'system',
    density: 'comfortable',
    fixedZone: 'Asia/Tokyo',
    hasShortcuts: true,
  });
  expect(readPreferences(fixed, 'Europe/Berlin').zone).toBe('Asia/Tokyo');
  expect(readPreferences(null, 'Europe/Berlin').zone).toBe('Europe/Berlin');
  expect(readPreferences(null, null).zone).toBe('UTC');
});

test.each(['', 'x'.repeat(41), '../../etc/passwd', '+02:00', 'Europe/', hostile, 'Nowhere/City'])(
  '"%s" is no time zone',
  (text) => {
    expect(knownZone(text)).toBeNull();
    expect(readPreferences(`zone=${encodeURIComponent(text)}`, text).zone).toBe('UTC');
  },
);

test('a cookie of nonsense changes nothing', () => {
  for (const cookie of ['theme=x&density=y', `theme=dark&${'x'.repeat(400)}`, '%%%', '&&==']) {
    expect(readPreferences(cookie, null)).toEqual(readPreferences(null, null));
  }
});
