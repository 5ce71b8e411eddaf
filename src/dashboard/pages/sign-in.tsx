/** @jsxRuntime automatic @jsxImportSource preact */

import { AppError } from '../../lib/app-error.ts';
import { tidings } from '../../lib/how-to-run.ts';
import { choosePassword, requireLink, signIn as signInAs } from '../../users/service.ts';
import { deleteSession } from '../../users/session-store.ts';
import { hasUsers } from '../../users/store.ts';
import { get, type Page, post, redirect, tokenOf, type Visit, view } from '../page.ts';
import { Field, FormError } from '../view/form.tsx';
import { NewPassword } from '../view/new-password.tsx';

export const signIn: readonly Page[] = [
  get('/dashboard/~/sign-in', 'anyone', async (visit) =>
    visit.user === null ? showSignIn(visit) : redirect('/dashboard'),
  ),

  post('/dashboard/~/sign-in', 'anyone', async (visit) => {
    const { deps, throttle, form } = visit;
    const input = { email: form.get('email') ?? '', password: form.get('password') ?? '' };
    try {
      const { token } = await signInAs(deps, throttle, input);
      return { ...redirect(wayBack(form.get('to'))), session: token };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return showSignIn(visit, error);
    }
  }),

  post('/dashboard/~/sign-out', 'anyone', async ({ deps, user, sessionHash }) => {
    if (user !== null) await deleteSession(deps.db, user.id, sessionHash);
    return { ...redirect('/dashboard/~/sign-in', 'You are signed out.'), session: null };
  }),

  get('/dashboard/~/password', 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'password');
    return showPassword(visit);
  }),

  post('/dashboard/~/password', 'anyone', async (visit) => {
    const { deps, form } = visit;
    try {
      const { token } = await choosePassword(deps, tokenOf(visit), form.get('password') ?? '');
      return { ...redirect('/dashboard', 'Your new password holds from now on.'), session: token };
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      return showPassword(visit, error.message);
    }
  }),
];

function showSignIn({ deps, form, url }: Visit, error?: AppError) {
  const isNew = !hasUsers(deps.db);
  return view(
    'Sign in',
    <>
      <h1>Sign in</h1>
      {isNew ? (
        <p class="note">
          Nobody has an account yet. The service prints a link for setting it up when it starts; open that
          one.
        </p>
      ) : null}
      <form method="post" action="/dashboard/~/sign-in" class="stack">
        <FormError error={error?.message} />
        <input type="hidden" name="to" value={form.get('to') ?? url.searchParams.get('to') ?? ''} />
        <Field
          label="E-mail address"
          name="email"
          type="email"
          value={form.get('email') ?? ''}
          autoComplete="username"
          autoFocus
        />
        <Field label="Password" name="password" type="password" autoComplete="current-password" />
        <button type="submit" class="button go">
          Sign in
        </button>
      </form>
      <p class="hint">
        Forgot it? Whoever runs the service makes a link for you:{' '}
        <code>{tidings} user reset-password --email …</code>
      </p>
    </>,
    error === undefined ? {} : { status: error.status },
  );
}

function showPassword(visit: Visit, error?: string) {
  return view(
    'Choose a password',
    <>
      <h1>Choose a password</h1>
      <p class="lede">It signs you in here, and out everywhere else.</p>
      <form method="post" action="/dashboard/~/password" class="stack">
        <input type="hidden" name="token" value={tokenOf(visit)} />
        <NewPassword label="New password" message={error} autoFocus />
        <button type="submit" class="button go">
          Save
        </button>
      </form>
    </>,
    error === undefined ? {} : { status: 400 },
  );
}

/** How long an address may be that the sign-in leads back to, in characters. */
const MAX_WAY_BACK = 2_000;

/** The page to go back to. Only pages of the dashboard: anything else could lead to another site. */
function wayBack(to: string | null): string {
  const here = 'http://localhost';
  const url = to === null || to.length > MAX_WAY_BACK ? null : URL.parse(to, here);
  if (url?.origin !== here || !/^\/dashboard\/[A-Za-z0-9_~-]/.test(url.pathname)) return '/dashboard';
  return url.pathname + url.search + url.hash;
}
