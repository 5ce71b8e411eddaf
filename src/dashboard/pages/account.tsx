/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../lib/app-error.ts';
import { foundOrganization, mayFound } from '../../users/found.ts';
import { changePassword, endAllSessions, endSession } from '../../users/service.ts';
import { listSessions } from '../../users/session-store.ts';
import {
  get,
  guardedBy,
  isRefusedForm,
  type Page,
  post,
  redirect,
  refusalOf,
  type UserVisit,
  view,
} from '../page.ts';
import { Field, FormError } from '../view/form.tsx';
import { NewPassword } from '../view/new-password.tsx';
import { Sessions } from '../view/sessions.tsx';
import { YourOrganizations } from '../view/your-organizations.tsx';

const PATH = '/dashboard/~/account';

export const account: readonly Page[] = [
  get(PATH, 'user', async (visit) => showAccount(visit)),

  post('/dashboard/~/organizations', 'user', async (visit) => {
    const { deps, user, form } = visit;
    try {
      const { id, name } = await foundOrganization(
        deps,
        user,
        form.get('name') ?? '',
        deps.organizationCreation,
      );
      return redirect(`/dashboard/${id}/start`, `${name} is made, and you own it.`);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      return showAccount(visit, { organization: error.message });
    }
  }),

  post(`${PATH}/password`, 'user', async (visit) => {
    const { deps, user, form, sessionHash } = visit;
    const input = {
      current: form.get('current') ?? '',
      password: form.get('password') ?? '',
      keepHash: sessionHash,
      ...guardedBy(visit),
    };
    try {
      await changePassword(deps, user, input);
      const done = 'Your password is changed. You are signed out everywhere else.';
      return { ...redirect(PATH, done), remember: user };
    } catch (error) {
      if (!isRefusedForm(error)) throw error;
      return showAccount(visit, { password: error });
    }
  }),

  post(`${PATH}/sessions/end`, 'user', async ({ deps, user, form, sessionHash }) => {
    const hash = form.get('session') ?? '';
    await endSession(deps, user, hash);
    return hash === sessionHash
      ? { ...redirect('/dashboard/~/sign-in', 'You are signed out.'), session: null }
      : redirect(PATH, 'That session is signed out.');
  }),

  post(`${PATH}/sign-out-everywhere`, 'user', async ({ deps, user }) => {
    await endAllSessions(deps, user);
    return { ...redirect('/dashboard/~/sign-in', 'You are signed out everywhere.'), session: null };
  }),
];

/** How many sessions the page lists. */
const MAX_SESSIONS = 50;

async function showAccount(
  { deps, user, memberships, form, sessionHash }: UserVisit,
  errors: { password?: AppError; organization?: string } = {},
) {
  const now = deps.clock.now();
  const sessions = await listSessions(deps.db, user.id, sessionHash, now, MAX_SESSIONS);
  const error = errors.password?.message;
  const refused = errors.password ?? (errors.organization === undefined ? null : { status: 400 });
  const isAboutNext = error?.startsWith('password ') === true;
  return view(
    'Your account',
    <>
      <h1>Your account</h1>
      <p class="lede">You are signed in as {user.email}.</p>
      <YourOrganizations
        memberships={memberships}
        mayCreate={mayFound(deps.organizationCreation, memberships)}
        name={form.get('name') ?? ''}
        error={errors.organization}
      />
      <h2>Change your password</h2>
      <form method="post" action={`${PATH}/password`} class="stack">
        <FormError error={isAboutNext ? null : error} />
        <Field label="Current password" name="current" type="password" autoComplete="current-password" />
        <NewPassword label="New password" message={error} />
        <button type="submit" class="button">
          Change
        </button>
      </form>
      <Sessions path={PATH} sessions={sessions} current={sessionHash} now={now} />
      <p class="after">
        <a href="/dashboard">Back to the dashboard</a>
      </p>
    </>,
    { section: 'account', ...refusalOf(refused) },
  );
}
