import { Type } from '@sinclair/typebox';
import { AppError } from '../../lib/app-error.ts';
import { changePassword } from '../../people/accounts.ts';
import { createOwnOrganization } from '../../people/members.ts';
import { endAllSessions, endSession, mayCreateOrganization } from '../../people/sessions.ts';
import { listSessions, type Session } from '../../people/store.ts';
import { get, type Page, post, redirect, type UserVisit, type Visit } from '../page.ts';
import { densities, knownZone, type Preferences, themes } from '../preferences.ts';
import { formState, newPasswordField, postForm, readFields } from '../submission.ts';
import { view } from '../view/document.tsx';
import { Action, Choice, Field, Form, Toggle } from '../view/form.tsx';
import { useVisit, When } from '../view/time.tsx';

// The part of the account page about this browser: theme, density, time zone, keys.

const choiceOf = <Value extends string>(values: readonly Value[], label: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    { label, problem: `Choose a ${label.toLowerCase()}.` },
  );

const AppearanceForm = Type.Object({
  theme: choiceOf(themes, 'Theme'),
  density: choiceOf(densities, 'Density'),
  zone: Type.String({
    label: 'Time zone',
    hint: 'Leave empty to use the time zone of this browser, or enter a name such as Europe/Berlin.',
    problem: 'No time zone has this name. Enter a name such as Europe/Berlin or America/New_York.',
  }),
  shortcuts: Type.Boolean({
    label: 'Single-key shortcuts',
    hint: 'Such as / to search and g p to go to posts. Ctrl K always works.',
  }),
});

const themeOptions = [
  { value: 'system', label: 'System', hint: 'Follows your system setting.' },
  { value: 'light', label: 'Light', hint: 'Dark text on a light background.' },
  { value: 'dark', label: 'Dark', hint: 'Light text on a dark background.' },
];

const densityOptions = [
  { value: 'comfortable', label: 'Comfortable', hint: 'Rows are 44 pixels tall.' },
  { value: 'dense', label: 'Dense', hint: 'Rows are 36 pixels tall, so more of them fit on the screen.' },
];

/** Throws `AppError` 400 with `fields`. */
function readAppearance({ form }: Visit): Preferences {
  const { theme, density, zone, shortcuts } = readFields(AppearanceForm, form);
  const fixedZone = zone.trim() === '' ? null : knownZone(zone.trim());
  if (fixedZone === null && zone.trim() !== '') {
    throw new AppError(400, 'unknown time zone', { fields: { zone: 'is unknown' } });
  }
  return { theme, density, fixedZone, hasShortcuts: shortcuts };
}

function Appearance({ error }: { error: AppError | undefined }) {
  const { look, form } = useVisit();
  const isSent = error !== undefined;
  const saved = { theme: look.theme, density: look.density, zone: look.fixedZone ?? '' };
  const { fields, problem } = formState(AppearanceForm, isSent ? form : saved, error);
  return (
    <section aria-labelledby="appearance">
      <h2 id="appearance">Appearance</h2>
      <p>These settings apply to this browser.</p>
      <Form
        to={`${PATH}/appearance`}
        problem={problem ?? fields.theme.error ?? fields.density.error}
        button="Save appearance"
        kind=""
      >
        <Choice {...fields.theme} options={themeOptions} />
        <Choice {...fields.density} options={densityOptions} />
        <Field {...fields.zone} required={false} placeholder={`Automatic: ${look.zone}`} />
        <Toggle {...fields.shortcuts} isOn={isSent ? form.has('shortcuts') : look.hasShortcuts} />
      </Form>
    </section>
  );
}

const PATH = '/dashboard/~/account';
const SIGN_IN = '/dashboard/~/sign-in';
const MAX_SESSIONS = 50;

const PasswordForm = Type.Object({
  current: Type.String({
    label: 'Current password',
    inputType: 'password',
    autoComplete: 'current-password',
  }),
  password: newPasswordField('New password'),
});

const OrganizationForm = Type.Object({
  name: Type.String({
    label: 'Organization name',
    hint: 'It has its own posts, keys and integrations. You become its owner.',
    subject: 'The name',
  }),
});

export const routes: readonly Page[] = [
  get('/dashboard', 'user', async (visit) => {
    const [first] = visit.memberships;
    return first === undefined ? showNoOrganization(visit) : redirect(`/dashboard/${first.organization.id}`);
  }),
  get('/dashboard/', 'anyone', async () => redirect('/dashboard')),
  get('/dashboard/:organizationId', 'member', async ({ base }) => redirect(`${base}/posts`)),

  // Inside an organization with its navigation; elsewhere without.
  get('/dashboard/:organizationId/*', 'member', noSuchPage),
  get('/dashboard/*', 'user', noSuchPage),

  get(PATH, 'user', (visit) => showAccount(visit)),

  postForm(
    '/dashboard/~/organizations',
    'user',
    OrganizationForm,
    (visit, error) => showAccount(visit, { organization: error }),
    async ({ deps, user }, values) => {
      const { id, name } = await createOwnOrganization(deps, user, values.name, deps.organizationCreation);
      return redirect(`/dashboard/${id}/start`, `Created ${name}. You are its owner.`);
    },
  ),

  postForm(
    `${PATH}/password`,
    'user',
    PasswordForm,
    (visit, error) => showAccount(visit, { password: error }),
    async ({ deps, user, sessionHash: keepHash, guard, request }, values) => {
      await changePassword(deps, user, { ...values, keepHash, guard, signal: request.signal });
      const done = 'Password changed. Your other sessions are signed out.';
      return { ...redirect(PATH, done), remember: user };
    },
  ),

  postForm(
    `${PATH}/appearance`,
    'user',
    AppearanceForm,
    (visit, error) => showAccount(visit, { appearance: error }),
    async (visit) => ({ ...redirect(PATH, 'Appearance saved.'), preferences: readAppearance(visit) }),
  ),

  post(`${PATH}/sessions/end`, 'user', async ({ deps, user, form, sessionHash }) => {
    const hash = form.get('session') ?? '';
    await endSession(deps, user, hash);
    return hash === sessionHash
      ? { ...redirect(SIGN_IN, 'You are signed out.'), session: null }
      : redirect(PATH, 'That session is signed out.');
  }),

  post(`${PATH}/sign-out-everywhere`, 'user', async ({ deps, user }) => {
    await endAllSessions(deps, user);
    return { ...redirect(SIGN_IN, 'You are signed out everywhere.'), session: null };
  }),
];

async function noSuchPage(): Promise<never> {
  throw new AppError(404, 'Page not found.');
}

function showNoOrganization(visit: UserVisit) {
  const { deps, user, memberships } = visit;
  const mayCreate = mayCreateOrganization(deps.organizationCreation, memberships);
  return view(
    'No organization',
    <>
      <h1>No organization</h1>
      <p class="lede">
        Your account {user.email} doesn't belong to an organization. Ask an owner for an invitation link
        {mayCreate ? ', or create your own' : ''}.
      </p>
      {mayCreate ? <Organizations /> : null}
      <p>
        <a href={PATH}>Your account</a>
      </p>
      <Action to="/dashboard/~/sign-out" label="Sign out" />
    </>,
  );
}

async function showAccount(
  visit: UserVisit,
  errors: { password?: AppError; organization?: AppError; appearance?: AppError } = {},
) {
  const { deps, user, form, sessionHash } = visit;
  const now = deps.clock.now();
  const sessions = await deps.db.read((tx) => listSessions(tx, user.id, sessionHash, now, MAX_SESSIONS));
  const { fields, problem } = formState(PasswordForm, form, errors.password);
  return view(
    {
      title: 'Your account',
      crumbs: [{ to: '/dashboard', label: 'Dashboard' }],
      facts: `You are signed in as ${user.email}.`,
    },
    <>
      <Organizations error={errors.organization} />
      <Appearance error={errors.appearance} />
      <h2>Change your password</h2>
      <Form to={`${PATH}/password`} problem={problem} button="Change password" kind="">
        <Field {...fields.current} />
        <Field {...fields.password} />
      </Form>
      <Sessions sessions={sessions} />
    </>,
    { isWide: true, error: errors.password ?? errors.organization ?? errors.appearance },
  );
}

function Organizations({ error }: { error?: AppError | undefined }) {
  const { deps, form, memberships } = useVisit();
  const { fields, problem } = formState(OrganizationForm, form, error);
  return (
    <>
      <h2 id="organizations">Your organizations</h2>
      {memberships.length === 0 ? <p>You don't belong to an organization yet.</p> : null}
      <ul class="plain">
        {memberships.map(({ organization: { id, name }, role }) => (
          <li>
            <a href={`/dashboard/${id}`}>{name}</a> <span class="dim">{role}</span>
          </li>
        ))}
      </ul>
      {mayCreateOrganization(deps.organizationCreation, memberships) ? (
        <Form
          to="/dashboard/~/organizations"
          id="new-organization"
          problem={problem}
          button="Create organization"
          kind=""
        >
          <Field {...fields.name} />
        </Form>
      ) : null}
    </>
  );
}

function Sessions({ sessions }: { sessions: Session[] }) {
  const { sessionHash } = useVisit();
  return (
    <>
      <h2 id="sessions">Sessions</h2>
      <p>
        A session ends after 30 days without use, and at the latest 90 days after sign-in. If you don't
        recognize one, sign out everywhere and change your password.
      </p>
      <ul class="card rows">
        {sessions.map(({ hash, userAgent, address, lastUsedAt, createdAt }) => (
          <li data-session>
            <div class="grow">
              <strong title={userAgent ?? undefined}>{browserName(userAgent)}</strong>{' '}
              {hash === sessionHash ? <span class="tag active">This browser</span> : null}
              {address === null ? null : <div class="hint">{address}</div>}
              <div class="hint">
                Last used <When at={new Date(lastUsedAt).toISOString()} />, signed in <When at={createdAt} />
              </div>
            </div>
            <Action to={`${PATH}/sessions/end`} label="Sign out" fields={{ session: hash }} />
          </li>
        ))}
      </ul>
      <div class="after">
        <Action to={`${PATH}/sign-out-everywhere`} label="Sign out everywhere" kind="bad" />
      </div>
    </>
  );
}

// The first match counts: most browsers also name those that they descend from.
const browsers = {
  Edge: /\bEdg(?:e|A|iOS)?\//,
  Opera: /\bOPR\//,
  'Samsung Internet': /\bSamsungBrowser\//,
  Firefox: /\b(?:Firefox|FxiOS)\//,
  Chrome: /(?:Chrome|CriOS)\//,
  Safari: /\bSafari\//,
};
const systems = {
  iPhone: /\biPhone\b/,
  iPad: /\biPad\b/,
  Android: /\bAndroid\b/,
  ChromeOS: /\bCrOS\b/,
  Windows: /\bWindows\b/,
  macOS: /\bMac OS X\b/,
  Linux: /\bLinux\b/,
};

function browserName(userAgent: string | null): string {
  const nameIn = (patterns: Record<string, RegExp>) =>
    Object.entries(patterns).find(([, pattern]) => pattern.test(userAgent ?? ''))?.[0];
  const system = nameIn(systems);
  return `${nameIn(browsers) ?? 'Unknown browser'}${system === undefined ? '' : ` on ${system}`}`;
}
