/** @jsxRuntime automatic @jsxImportSource preact */
import { countRefusedSignIn } from '../../audit/store.ts';
import { AppError } from '../../lib/app-error.ts';
import { addressGroup } from '../../lib/client-address.ts';
import { tidings } from '../../lib/how-to-run.ts';
import { choosePassword, endSession, requireLink, signIn as signInAs } from '../../users/service.ts';
import { hasUsers } from '../../users/store.ts';
import { readCookies } from '../cookies.ts';
import {
  get,
  guardedBy,
  isRefusedForm,
  type Page,
  post,
  redirect,
  refusalOf,
  tokenOf,
  type Visit,
  view,
} from '../page.ts';
import { Field, FormError } from '../view/form.tsx';
import { NewPassword } from '../view/new-password.tsx';

export const signIn: readonly Page[] = [
  get('/dashboard/~/sign-in', 'anyone', async (visit) =>
    visit.user === null ? showSignIn(visit) : redirect('/dashboard'),
  ),

  post('/dashboard/~/sign-in', 'anyone', async (visit) => {
    const { deps, form, request, clientAddress, guard } = visit;
    const input = {
      email: form.get('email') ?? '',
      password: form.get('password') ?? '',
      source: addressGroup(clientAddress),
      browser: readCookies(request, deps.publicUrl().startsWith('https:')).browser,
      ...guardedBy(visit),
    };
    try {
      const { token } = await signInAs(deps, input);
      return { ...redirect(wayBack(form.get('to'))), session: token };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      // Only a refusal after a hash is written at once: the queue of hashes bounds how often.
      if (error.status === 429) guard.countRefusal(clientAddress);
      else if (error.isRefusal) {
        await deps.db.write((tx) => countRefusedSignIn(tx, deps, clientAddress));
      }
      return showSignIn(visit, error);
    }
  }),

  post('/dashboard/~/sign-out', 'anyone', async ({ deps, user, sessionHash }) => {
    if (user !== null) await endSession(deps, user, sessionHash);
    return { ...redirect('/dashboard/~/sign-in', 'You are signed out.'), session: null };
  }),

  get('/dashboard/~/password', 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'password');
    return showPassword(visit);
  }),

  post('/dashboard/~/password', 'anyone', async (visit) => {
    const { deps, form } = visit;
    try {
      const input = { password: form.get('password') ?? '', ...guardedBy(visit) };
      const { token } = await choosePassword(deps, tokenOf(visit), input);
      return { ...redirect('/dashboard', 'Your password is changed.'), session: token };
    } catch (error) {
      if (!isRefusedForm(error)) throw error;
      return showPassword(visit, error);
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
    refusalOf(error),
  );
}

function showPassword(visit: Visit, error?: AppError) {
  const isAboutPassword = error?.message.startsWith('password ') === true;
  return view(
    'Choose a password',
    <>
      <h1>Choose a password</h1>
      <p class="lede">It signs you in here, and out everywhere else.</p>
      <form method="post" action="/dashboard/~/password" class="stack">
        <FormError error={isAboutPassword ? null : error?.message} />
        <input type="hidden" name="token" value={tokenOf(visit)} />
        <NewPassword label="New password" message={error?.message} autoFocus />
        <button type="submit" class="button go">
          Save
        </button>
      </form>
    </>,
    refusalOf(error),
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
