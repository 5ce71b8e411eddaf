/** @jsxRuntime automatic @jsxImportSource preact */

import { Type } from '@sinclair/typebox';
import { changing, REFUSALS } from '../../../db/order.ts';
import { countRefusedSignIn } from '../../audit/store.ts';
import { AppError } from '../../lib/app-error.ts';
import { addressGroup } from '../../lib/network.ts';
import { endSession, signIn } from '../../users/sessions.ts';
import { hasUsers } from '../../users/store.ts';
import { get, type Page, post, redirect, type Visit, view } from '../page.ts';
import { emailField, formState, readFields } from '../submission.ts';
import { Field, Form, Hidden } from '../view/form.tsx';

const PATH = '/dashboard/~/sign-in';

const SignInForm = Type.Object({
  email: emailField,
  password: Type.String({ label: 'Password', inputType: 'password', autoComplete: 'current-password' }),
  to: Type.String(),
});

export const routes: readonly Page[] = [
  get(PATH, 'anyone', async (visit) => (visit.user === null ? showSignIn(visit) : redirect('/dashboard'))),

  post(PATH, 'anyone', async (visit) => {
    const { deps, form, clientAddress, guard, knownBrowser: browser } = visit;
    const about = { source: addressGroup(clientAddress), browser, guard, signal: visit.request.signal };
    try {
      const { to, ...credentials } = readFields(SignInForm, form);
      const token = await signIn(deps, { ...credentials, ...about });
      return { ...redirect(wayBack(to)), session: token };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      // Only a refusal after a hash is written at once: the queue of hashes bounds how often.
      if (error.status === 429) guard.countRefusal(clientAddress);
      else if (error.isRefusal) {
        await deps.db.write((tx) => countRefusedSignIn(tx, deps, clientAddress), changing(REFUSALS));
      }
      return showSignIn(visit, error);
    }
  }),

  post('/dashboard/~/sign-out', 'anyone', async ({ deps, user, sessionHash }) => {
    if (user !== null) await endSession(deps, user, sessionHash);
    return { ...redirect(PATH, 'You are signed out.'), session: null };
  }),
];

async function showSignIn({ deps, form, url }: Visit, error?: AppError) {
  const { fields, problem } = formState(SignInForm, form, error);
  const isNew = !(await deps.db.read(hasUsers));
  return view(
    'Sign in',
    <>
      <h1>Sign in</h1>
      {isNew ? (
        <p class="note">Nobody has an account yet. Open the setup link that Tidings prints when it starts.</p>
      ) : null}
      <Form to={PATH} problem={problem} button="Sign in">
        <Hidden values={[['to', form.get('to') ?? url.searchParams.get('to') ?? '']]} />
        <Field {...fields.email} autoFocus />
        <Field {...fields.password} />
      </Form>
      <p class="hint">
        Forgot your password? Ask an owner of your organization: they create a reset link under Settings,
        Members.
      </p>
    </>,
    { error },
  );
}

/** The page to return to. Only pages of the dashboard: another address could lead to another site. */
export function wayBack(to: string): string {
  const here = 'http://localhost';
  const url = to.length > 2_000 ? null : URL.parse(to, here);
  if (url?.origin !== here || !/^\/dashboard\/[A-Za-z0-9_~-]/.test(url.pathname)) return '/dashboard';
  return url.pathname + url.search + url.hash;
}
