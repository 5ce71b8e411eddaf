import { Type } from '@sinclair/typebox';
import { changing, REFUSALS } from '../../../db/engine.ts';
import { AppError } from '../../lib/app-error.ts';
import { addressGroup } from '../../lib/public-fetch.ts';
import { countRefusedSignIn } from '../../people/audit.ts';
import { passwordsWork } from '../../people/deps.ts';
import { acceptInvitation, choosePassword, requireLink, setUp, signInByLink } from '../../people/links.ts';
import { roleNoun } from '../../people/members.ts';
import type { IdentityProvider } from '../../people/oidc/provider.ts';
import { findIdToken } from '../../people/oidc/sign-in.ts';
import { findOrganization, listOrganizations } from '../../people/organization-store.ts';
import type { Organization } from '../../people/organizations.ts';
import { hasPasskeys } from '../../people/passkeys/store.ts';
import { failure } from '../../people/permission.ts';
import { endSession, signIn } from '../../people/sessions.ts';
import { hasUsers, rolesBelow } from '../../people/store.ts';
import { emailField, NoFields, newPasswordField, readFields } from '../fields.ts';
import { type DashboardDeps, get, type Page, post, redirect, type Visit, view } from '../page.ts';
import { postForm } from '../submission.ts';
import { LinkButton } from '../view/elements.tsx';
import { FormError, FormOf } from '../view/form.tsx';
import { afterFirstFactor, passkeyScript, SignInByPasskey } from './passkey-form.tsx';

// The ways in and out: signing in, the first account, invitations, new passwords.

export const SIGN_IN = '/dashboard/~/sign-in';
/** The start of a sign-in through the identity provider. */
export const PROVIDER = '/dashboard/~/oidc';
const SETUP = '/setup';
const PASSWORD = '/dashboard/~/password';
const LINK = '/dashboard/~/password/sign-in';
const INVITATION = '/dashboard/~/invitation';

const SignInForm = Type.Object({
  email: emailField,
  password: Type.String({ label: 'Password', inputType: 'password', autoComplete: 'current-password' }),
  to: Type.String(),
});
const SetupForm = Type.Object({
  email: emailField,
  password: newPasswordField('Password'),
  organization: Type.String({
    label: 'Your team or product',
    hint: 'Posts, keys and integrations belong to it. You can add more later.',
    subject: 'The name',
    serviceField: 'name',
  }),
});
const PasswordForm = Type.Object({ password: newPasswordField('New password') });
const InvitationForm = Type.Object({ email: emailField, password: newPasswordField('Password') });

export const routes: readonly Page[] = [
  get(SIGN_IN, 'anyone', async (visit) => (visit.user === null ? showSignIn(visit) : redirect('/dashboard'))),

  post(SIGN_IN, 'anyone', async (visit) => {
    const { deps, form, clientAddress, knownBrowser: browser } = visit;
    try {
      if (!passwordsWork(deps)) throw failure('passwords_off');
      const { to, ...credentials } = readFields(SignInForm, form);
      const about = { source: addressGroup(clientAddress), browser };
      return afterFirstFactor(visit, await signIn(deps, guarded(visit, { ...credentials, ...about })), to);
    } catch (error) {
      return showSignIn(visit, await countRefusal(visit, error, passwordsWork(deps)));
    }
  }),

  post('/dashboard/~/sign-out', 'anyone', async ({ deps, user, sessionHash }) => {
    const { identityProvider: provider } = deps;
    const ofProvider = provider && (await findIdToken(deps, provider, sessionHash));
    if (user !== null) await endSession(deps, user, sessionHash);
    const url = ofProvider && (await signOutUrl(deps, provider, ofProvider.idToken));
    if (url) return showSignedOut(provider.name, url);
    return { ...redirect(SIGN_IN, 'You are signed out.'), session: null };
  }),

  get(SETUP, 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'setup');
    return showSetup(visit);
  }),

  postForm(SETUP, 'anyone', SetupForm, showSetup, async (visit, values) => {
    const { session, organizationId } = await setUp(visit.deps, tokenOf(visit), guarded(visit, values));
    return { ...redirect(`/dashboard/${organizationId}/start`), session };
  }),

  get(PASSWORD, 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'password');
    return showPassword(visit);
  }),

  postForm(PASSWORD, 'anyone', PasswordForm, showPassword, async (visit, values) => {
    if (!passwordsWork(visit.deps)) throw failure('passwords_off');
    const first = await choosePassword(visit.deps, tokenOf(visit), guarded(visit, values));
    return afterFirstFactor(visit, first, '', 'Password changed.');
  }),

  postForm(LINK, 'anyone', NoFields, showPassword, async (visit) => {
    if (passwordsWork(visit.deps)) throw failure('bad_link');
    return afterFirstFactor(visit, await signInByLink(visit.deps, tokenOf(visit)), '');
  }),

  get(INVITATION, 'anyone', (visit) => showInvitation(visit)),

  postForm(INVITATION, 'anyone', InvitationForm, showInvitation, async (visit, values) => {
    const { role, organization, current, givesNothing } = await requireInvitation(visit);
    if (givesNothing) return alreadyIn(organization);
    if (visit.user === null && !passwordsWork(visit.deps)) throw failure('passwords_off');
    const by = visit.user ?? guarded(visit, values);
    const { organizationId, session } = await acceptInvitation(visit.deps, tokenOf(visit), by);
    const { name } = organization;
    const done =
      current === null ? `Welcome to ${name}.` : `You are now ${roleNoun(role ?? 'member')} of ${name}.`;
    return { ...redirect(`/dashboard/${organizationId}`, done), ...(session !== null && { session }) };
  }),
];

export const guarded = <Values,>({ guard, request }: Visit, values: Values) => ({
  ...values,
  guard,
  signal: request.signal,
});

/** A one-time token travels in the query or the form. Never in a path, which is logged. */
function tokenOf({ form, url }: Visit): string {
  return form.get('token') ?? url.searchParams.get('token') ?? '';
}

/** Returns the refusal. `isBounded`: something bounds how often, so that it can be written at once. */
export async function countRefusal(
  { deps, guard, clientAddress }: Visit,
  error: unknown,
  isBounded: boolean,
): Promise<AppError> {
  if (!(error instanceof AppError)) throw error;
  if (error.status === 429 || (error.isRefusal && !isBounded)) guard.countRefusal(clientAddress);
  else if (error.isRefusal) {
    await deps.db.write((tx) => countRefusedSignIn(tx, deps, clientAddress), changing(REFUSALS));
  }
  return error;
}

/** Null where the provider offers no sign-out, or is away. */
async function signOutUrl(deps: DashboardDeps, provider: IdentityProvider, idToken: string | null) {
  try {
    return (await provider.client()).signOutUrl(idToken, `${deps.publicUrl()}${SIGN_IN}`);
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

function showSignedOut(name: string, url: string) {
  return view(
    {
      title: 'Signed out',
      heading: 'You are signed out of Tidings',
      isSheet: true,
      facts: `You are still signed in at ${name}, in this browser.`,
      isSignedOut: true,
    },
    <p class="provider">
      <LinkButton to={url} label={`Sign out of ${name} too`} kind="go" />
    </p>,
    <p>
      <a href={SIGN_IN}>Sign in again</a>
    </p>,
  );
}

/** A link, because browsers don't let a form lead to another site. */
function ContinueAt({ provider, query }: { provider: IdentityProvider; query: Record<string, string> }) {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  return (
    <p class="provider">
      <LinkButton to={PROVIDER + search} label={`Continue with ${provider.name}`} kind="go" />
    </p>
  );
}

/** `refused`: other than by the form for a password. */
export async function showSignIn({ deps, form, url }: Visit, error?: AppError, refused = false) {
  const [isNew, usesPasskeys] = await deps.db.read((tx) =>
    Promise.all([hasUsers(tx).then((has) => !has), hasPasskeys(tx)]),
  );
  const to = form.get('to') ?? url.searchParams.get('to') ?? '';
  const { identityProvider: provider } = deps;
  const hasForm = passwordsWork(deps);
  return view(
    {
      title: 'Sign in',
      // Its other addresses lead back to a page.
      ...(url.search === '' && { description: 'Sign in to review drafts and publish changelog posts.' }),
      isSheet: true,
      ...(usesPasskeys && { scripts: [passkeyScript] }),
      error,
    },
    isNew && (
      <p class="note">Nobody has an account yet. Open the setup link that Tidings prints when it starts.</p>
    ),
    (refused || !hasForm) && <FormError error={error?.message} />,
    provider && <ContinueAt provider={provider} query={{ to }} />,
    hasForm && (
      <FormOf
        schema={SignInForm}
        hidden={{ to }}
        {...{ error: refused ? undefined : error, to: SIGN_IN, button: 'Sign in' }}
        {...(provider ? { kind: '' } : { autoFocus: true })}
      />
    ),
    hasForm && usesPasskeys && <SignInByPasskey to={to} />,
    hasForm && (
      <p class="hint">
        Forgot your password? Ask an owner of your organization: they create a reset link under Settings,
        Members.
      </p>
    ),
  );
}

async function showSetup(visit: Visit, error?: AppError) {
  const existing = await visit.deps.db.read(listOrganizations);
  return view(
    {
      title: 'Set up Tidings',
      isSheet: true,
      facts: 'Create the first account. You become the owner.',
      error,
    },
    <FormOf
      schema={SetupForm}
      hidden={{ token: tokenOf(visit) }}
      {...{ error, to: SETUP, button: 'Create account', autoFocus: true }}
      controls={
        existing.length === 0
          ? {}
          : {
              organization: () => (
                <p class="hint">You will own {existing.map(({ name }) => name).join(', ')}.</p>
              ),
            }
      }
    />,
  );
}

function showPassword(visit: Visit, error?: AppError) {
  if (!passwordsWork(visit.deps)) {
    const facts = 'This link signs you in once, without the identity provider.';
    return view(
      { title: 'Sign in by link', isSheet: true, facts, error },
      <FormOf
        schema={NoFields}
        hidden={{ token: tokenOf(visit) }}
        {...{ error, to: LINK, button: 'Sign in' }}
      />,
    );
  }
  const facts = 'This signs you in here and ends your other sessions.';
  return view(
    { title: 'Choose a password', isSheet: true, facts, error },
    <FormOf
      schema={PasswordForm}
      hidden={{ token: tokenOf(visit) }}
      {...{ error, to: PASSWORD, button: 'Save password', autoFocus: true }}
    />,
  );
}

/** Guessing slows down only wrong links: a link that works is never refused for others' guesses. */
async function requireInvitation(visit: Visit) {
  const { deps, guard, clientAddress, memberships } = visit;
  try {
    const { role, organizationId } = await requireLink(deps, tokenOf(visit), 'invitation');
    const organization = await deps.db.read((tx) => findOrganization(tx, organizationId ?? ''));
    if (organization === null) throw failure('organization_gone');
    const current = memberships.find((each) => each.organization.id === organization.id)?.role ?? null;
    return {
      role,
      organization,
      current,
      givesNothing: current !== null && !rolesBelow(role ?? 'member').includes(current),
    };
  } catch (error) {
    await guard.count(`invitation ${addressGroup(clientAddress)}`);
    throw error;
  }
}

/** Leaves the link for the person that it was meant for. */
function alreadyIn({ id, name }: Organization) {
  const done = `You already belong to ${name}. The link still works for somebody else.`;
  return redirect(`/dashboard/${id}`, done);
}

async function showInvitation(visit: Visit, error?: AppError) {
  const { role, organization, current, givesNothing } = await requireInvitation(visit);
  if (givesNothing) return alreadyIn(organization);
  const { user } = visit;
  const back = `${INVITATION}?token=${encodeURIComponent(tokenOf(visit))}`;
  const isNew = current === null;
  const { identityProvider: provider } = visit.deps;
  const hasForm = user !== null || passwordsWork(visit.deps);
  const as = roleNoun(role ?? 'member');
  return view(
    {
      title: `${isNew ? 'Join' : `Become ${as} of`} ${organization.name}`,
      isSheet: true,
      facts: (
        <>
          {isNew ? `You are invited as ${as}.` : `You are already a member. As ${as}, you can do more.`}
          {user && ` You are signed in as ${user.email}.`}
        </>
      ),
      error,
    },
    user === null && !hasForm && <FormError error={error?.message} />,
    user === null && provider && (
      <ContinueAt provider={provider} query={{ to: back, invitation: tokenOf(visit) }} />
    ),
    hasForm && (
      <FormOf
        // Somebody who is signed in joins with that account.
        schema={user === null ? InvitationForm : NoFields}
        hidden={{ token: tokenOf(visit) }}
        {...{ error, to: INVITATION }}
        button={user === null ? 'Create account and join' : isNew ? 'Join' : `Become ${as}`}
        kind={user === null && provider ? '' : 'go'}
      />
    ),
    user === null && hasForm && (
      <p class="hint">
        Already have an account? <a href={`${SIGN_IN}?to=${encodeURIComponent(back)}`}>Sign in first</a>. You
        return to this page afterwards.
      </p>
    ),
  );
}
