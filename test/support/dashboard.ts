import { sql } from 'drizzle-orm';
import { randomToken } from '../../src/lib/text.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { createUser } from '../../src/people/accounts.ts';
import { hashOf } from '../../src/people/passwords.ts';
import type { Role, User } from '../../src/people/permission.ts';
import { insertMembership, insertSession, insertUser } from '../../src/people/store.ts';
import { execute } from './database.ts';
import { appWithOrganization, type TestApp, type WithOrganization } from './test-app.ts';

/** Headers of a browser that sends a form from the same origin. */
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

/** Opens a page as somebody who is signed in; with a `body`, sends a form from one of our own pages. */
export type Visit = (path: string, init?: RequestInit) => Promise<Response>;

let people = 0;

/** A new person with an account, in an organization when one is named, and how they visit. */
export async function signedIn(
  app: TestApp,
  { organizationId, role = 'owner', email }: { organizationId?: string; role?: Role; email?: string },
): Promise<Visit & { user: User; cookie: string }> {
  const createdAt = app.clock.now().toISOString();
  const user = { id: app.deps.ids.newId('usr'), email: email ?? `person${++people}@acme.example`, createdAt };
  const token = randomToken(32);
  const lastUsedAt = app.clock.now().getTime();
  const expiresAt = lastUsedAt + 30 * DAY_MS;
  await app.db.write(async (tx) => {
    await insertUser(tx, { ...user, passwordHash: null });
    if (organizationId !== undefined) {
      await insertMembership(tx, { userId: user.id, organizationId, role, createdAt });
    }
    await insertSession(tx, { hash: hashOf(token), userId: user.id, createdAt, lastUsedAt, expiresAt });
  });
  const prefix = app.deps.publicUrl().startsWith('https:') ? '__Host-' : '';
  const cookie = `${prefix}tidings_session=${token}`;
  return Object.assign(visitor(app, cookie), { user, cookie });
}

/** Ann's address. */
export const EMAIL = 'ann@acme.example';
export const PASSWORD = 'correct horse battery';

/** The app with one person, an owner of `org_a` who has a password and no session: Ann, unless another is named. */
export async function appWithAnn({
  email,
  ...options
}: WithOrganization & { email?: string } = {}): Promise<TestApp> {
  const app = await appWithOrganization(options);
  await addAnn(app, email);
  return app;
}

export async function addAnn(app: TestApp, email = EMAIL): Promise<User> {
  const user = await createUser(app.deps, { email, organizationId: 'org_a' });
  await setPassword(app, { email });
  return user;
}

/** Gives a person a password that is cheap to verify. */
export async function setPassword(app: TestApp, { email = EMAIL, password = PASSWORD } = {}): Promise<void> {
  const hash = Bun.password.hashSync(password, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
  await execute(app.db, sql`update users set password_hash = ${hash} where email = ${email}`);
}

/** The token of a one-time link. */
export const tokenIn = (path: string) => new URL(path, 'http://x').searchParams.get('token') ?? '';

/** Opens pages as the person who has this cookie; without one, as a stranger. */
export function visitor(app: TestApp, cookie?: string): Visit {
  return (path, init = {}) => {
    const headers = new Headers(init.headers);
    if (cookie !== undefined && !headers.has('cookie')) headers.set('cookie', cookie);
    if (init.body === undefined) return app.request(path, { ...init, headers });
    for (const [name, value] of Object.entries(SAME_ORIGIN)) {
      if (!headers.has(name)) headers.set(name, value);
    }
    // As browsers do: a small form is read before its sender is known.
    if (init.body instanceof URLSearchParams && !headers.has('content-length')) {
      headers.set('content-length', String(Buffer.byteLength(String(init.body))));
    }
    return app.request(path, { method: 'POST', ...init, headers });
  };
}

/** The body of a form. */
export function form(fields: Record<string, string> = {}): RequestInit {
  return { method: 'POST', body: new URLSearchParams(fields) };
}

/** The cookie that an answer sets, as a browser sends it back; undefined when it sets none of that name. */
export function cookieOf(response: Response, name = 'tidings_session'): string | undefined {
  const start = new RegExp(`^(?:__Host-)?${name}=`);
  const header = response.headers.getSetCookie().find((each) => start.test(each));
  return header?.split(';')[0];
}

/** Text that must never reach a page as it is. */
export const hostile = '<script>alert(1)</script>"><img src=x onerror=alert(1)>';

/** True if a page contains hostile text as markup. */
export function isHarmed(html: string): boolean {
  return /<script>alert|<img src=x/i.test(html);
}

/** Opens pages as a person who is signed in; with `fields` it sends a form of them instead. */
export type VisitPage = (path: string, fields?: Record<string, string>) => Promise<Response>;

/** A new person of an organization, `org_a` unless another is named, and how they visit its pages and send its forms. */
export async function pageVisitor(
  app: TestApp,
  membership: { organizationId?: string; role?: Role } = {},
): Promise<VisitPage> {
  const visit = await signedIn(app, { organizationId: 'org_a', ...membership });
  return (path, fields) => visit(path, fields === undefined ? undefined : form(fields));
}
