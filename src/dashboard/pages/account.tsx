import { Type } from '@sinclair/typebox';
import { AppError } from '../../lib/app-error.ts';
import { capitalized, cutLine } from '../../lib/text.ts';
import { knownZone } from '../../lib/time.ts';
import { changePassword } from '../../people/accounts.ts';
import { passwordsWork } from '../../people/deps.ts';
import { createOwnOrganization } from '../../people/members.ts';
import { unlinkIdentity } from '../../people/oidc/sign-in.ts';
import { type Identity, listIdentities } from '../../people/oidc/store.ts';
import { listDeletedOrganizations } from '../../people/organization-store.ts';
import { type DeletedOrganization, restoreOrganization } from '../../people/organizations.ts';
import { requireConfirmed } from '../../people/passkeys/service.ts';
import { failure } from '../../people/permission.ts';
import { endAllSessions, endSession, mayCreateOrganization } from '../../people/sessions.ts';
import { listSessions, type Session } from '../../people/store.ts';
import { choiceOf, newPasswordField, readFields } from '../fields.ts';
import { densities, get, type Page, post, redirect, themes, type UserVisit, view } from '../page.ts';
import { postForm } from '../submission.ts';
import { LinkButton, Section, useVisit, When } from '../view/elements.tsx';
import { Action, Choice, Field, FormOf } from '../view/form.tsx';
import { passkeyScript } from './passkey-form.tsx';
import { fresh, Passkeys, passkeyForms, readPasskeys } from './passkeys.tsx';
import { PROVIDER, SIGN_IN } from './sign-in.tsx';

const PATH = '/dashboard/~/account';
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

const AppearanceForm = Type.Object({
  theme: choiceOf(themes, { label: 'Theme', problem: 'Choose a theme.' }),
  density: choiceOf(densities, { label: 'Density', problem: 'Choose a density.' }),
  zone: Type.String({
    label: 'Time zone',
    isOptional: true,
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

export const routes: readonly Page[] = [
  get('/dashboard', 'user', async (visit) => {
    const [first] = visit.memberships;
    return first === undefined ? showNoOrganization(visit) : redirect(`/dashboard/${first.organization.id}`);
  }),
  get('/dashboard/', 'anyone', async () => redirect('/dashboard')),
  get('/dashboard/:organizationId', 'member', async () => redirect('posts')),

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

  post('/dashboard/~/organizations/restore', 'user', (visit) =>
    fresh(visit, async ({ deps, user, memberships, form, sessionHash }) => {
      const id = form.get('id')?.slice(0, 64) ?? '';
      const isOwned = (await readDeleted(visit)).some((each) => each.id === id);
      if (isOwned) await requireConfirmed(deps, id, sessionHash);
      // Another owner may have restored it a moment ago.
      const there = memberships.find(({ organization }) => organization.id === id)?.organization;
      const { name } = there ?? (await restoreOrganization(deps, id, user.id));
      const done = `Restored “${cutLine(name, 100)}”. Its keys, public page, triggers, schedules, and hooks work again.`;
      return redirect(`/dashboard/${id}`, done);
    }),
  ),

  postForm(
    `${PATH}/password`,
    'user',
    PasswordForm,
    (visit, error) => showAccount(visit, { password: error }),
    async ({ deps, user, sessionHash: keepHash, guard, request }, values) => {
      if (!passwordsWork(deps)) throw failure('passwords_off');
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

  ...passkeyForms((visit, error) => showAccount(visit, { passkey: error })),

  post(`${PATH}/identities/unlink`, 'user', (visit) =>
    fresh(visit, async ({ deps, form }) => {
      const key = { issuer: form.get('issuer') ?? '', subject: form.get('subject') ?? '' };
      await unlinkIdentity(deps, visit, key);
      return redirect(PATH, 'Unlinked.');
    }),
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

function readAppearance({ form }: UserVisit) {
  const { theme, density, zone, shortcuts } = readFields(AppearanceForm, form);
  const fixedZone = zone.trim() === '' ? null : knownZone(zone.trim());
  if (fixedZone === null && zone.trim() !== '') {
    throw new AppError(400, 'unknown time zone', { fields: { zone: 'is unknown' } });
  }
  return { theme, density, fixedZone, hasShortcuts: shortcuts };
}

const readDeleted = ({ deps, user }: UserVisit) =>
  deps.db.read((tx) => listDeletedOrganizations(tx, deps.clock.now(), { ownerId: user.id }));

/** An owner of one in the trash counts as an owner, as `createOwnOrganization` does. */
function mayCreate({ deps, memberships }: UserVisit, deleted: readonly DeletedOrganization[]): boolean {
  const owned = deleted.map(() => ({ role: 'owner' as const }));
  return mayCreateOrganization(deps.organizationCreation, [...memberships, ...owned]);
}

async function showNoOrganization(visit: UserVisit) {
  const deleted = await readDeleted(visit);
  const isMaker = mayCreate(visit, deleted);
  const ways = [
    deleted.length > 0 && 'restore one from the trash',
    'ask an owner for an invitation link',
    isMaker && 'create your own',
  ];
  const next = new Intl.ListFormat('en', { type: 'disjunction' }).format(ways.filter((way) => way !== false));
  return view(
    {
      title: 'No organization',
      isSheet: true,
      facts: `Your account ${visit.user.email} doesn't belong to an organization. ${capitalized(next)}.`,
    },
    (isMaker || deleted.length > 0) && <Organizations error={undefined} deleted={deleted} />,
    <p>
      <a href={PATH}>Your account</a>
    </p>,
    <Action to="/dashboard/~/sign-out" label="Sign out" />,
  );
}

async function showAccount(
  visit: UserVisit,
  errors: { passkey?: AppError; password?: AppError; organization?: AppError; appearance?: AppError } = {},
) {
  const { deps, user, sessionHash } = visit;
  const now = deps.clock.now();
  const passkeys = await readPasskeys(visit);
  const [sessions, identities] = await deps.db.read((tx) =>
    Promise.all([listSessions(tx, user.id, sessionHash, now, MAX_SESSIONS), listIdentities(tx, user.id)]),
  );
  return view(
    {
      title: 'Your account',
      crumbs: [{ to: '/dashboard', label: 'Dashboard' }],
      facts: `You are signed in as ${user.email}.`,
      isWide: true,
      scripts: [passkeyScript],
      error: errors.passkey ?? errors.password ?? errors.organization ?? errors.appearance,
    },
    <Organizations error={errors.organization} deleted={await readDeleted(visit)} />,
    <Appearance error={errors.appearance} />,
    (deps.identityProvider || identities.length > 0) && <Identities identities={identities} />,
    <Passkeys {...passkeys} error={errors.passkey} />,
    passwordsWork(deps) && (
      <>
        <h2>Change your password</h2>
        <FormOf
          schema={PasswordForm}
          error={errors.password}
          to={`${PATH}/password`}
          button="Change password"
          kind=""
        />
      </>
    ),
    <Sessions sessions={sessions} />,
  );
}

function Organizations(props: { error: AppError | undefined; deleted: readonly DeletedOrganization[] }) {
  const { error, deleted } = props;
  const visit = useVisit();
  const { memberships } = visit;
  return (
    <>
      <h2 id="organizations">Your organizations</h2>
      {memberships.length + deleted.length === 0 && <p>You don't belong to an organization yet.</p>}
      <ul class="plain">
        {memberships.map(({ organization: { id, name }, role }) => (
          <li>
            <a href={`/dashboard/${id}`}>{name}</a> <span class="dim">{role}</span>
          </li>
        ))}
      </ul>
      {deleted.length > 0 && <Trash deleted={deleted} />}
      {mayCreate(visit, deleted) && (
        <FormOf
          schema={OrganizationForm}
          error={error}
          to="/dashboard/~/organizations"
          id="new-organization"
          button="Create organization"
          kind=""
        />
      )}
    </>
  );
}

function Trash({ deleted }: { deleted: readonly DeletedOrganization[] }) {
  return (
    <ul class="card rows">
      {deleted.map(({ id, name, deletedAt, expiresAt }) => (
        <li>
          <div class="grow">
            <strong>{name}</strong> <span class="dim">in the trash</span>
            <div class="hint">
              Deleted <When at={deletedAt} />, removed for good <When at={expiresAt} />
            </div>
          </div>
          <Action to="/dashboard/~/organizations/restore" label="Restore" fields={{ id }} />
        </li>
      ))}
    </ul>
  );
}

function Appearance({ error }: { error: AppError | undefined }) {
  const { look, form } = useVisit();
  const { theme, density, fixedZone, hasShortcuts } = look;
  const saved = { theme, density, zone: fixedZone ?? '', ...(hasShortcuts && { shortcuts: 'on' }) };
  return (
    <Section id="appearance" title="Appearance">
      <p>These settings apply to this browser.</p>
      <FormOf
        schema={AppearanceForm}
        values={error === undefined ? saved : form}
        {...{ error, to: `${PATH}/appearance`, button: 'Save appearance', kind: '' }}
        controls={{
          theme: (field) => <Choice {...field} options={themeOptions} />,
          density: (field) => <Choice {...field} options={densityOptions} />,
          zone: (field) => <Field {...field} placeholder={`Automatic: ${look.zone}`} />,
        }}
      />
    </Section>
  );
}

function Identities({ identities }: { identities: Identity[] }) {
  const { identityProvider: provider } = useVisit().deps;
  return (
    <Section id="identities" title={capitalized(provider?.name ?? 'Identity provider')}>
      {identities.length === 0 && <p>Sign in with {provider?.name} in place of your password.</p>}
      {identities.length > 0 && (
        <ul class="card rows">
          {identities.map(({ issuer, subject, name, createdAt }) => (
            <li>
              <div class="grow">
                <strong>
                  <bdi>{name}</bdi>
                </strong>
                {issuer !== provider?.issuer && <span class="tag"> No longer works</span>}
                <div class="hint">
                  {issuer}, linked <When at={createdAt} />
                </div>
              </div>
              <Action to={`${PATH}/identities/unlink`} label="Unlink" fields={{ issuer, subject }} />
            </li>
          ))}
        </ul>
      )}
      {provider && !identities.some(({ issuer }) => issuer === provider.issuer) && (
        <p>
          <LinkButton to={`${PROVIDER}/link`} label={`Link ${provider.name}`} />
        </p>
      )}
    </Section>
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
              {hash === sessionHash && <span class="tag active">This browser</span>}
              {address !== null && <div class="hint">{address}</div>}
              <div class="hint">
                Last used <When at={lastUsedAt} />, signed in <When at={createdAt} />
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
