/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../lib/app-error.ts';
import { mayFound } from '../../users/found.ts';
import { get, type Page, redirect, view } from '../page.ts';
import { Action } from '../view/form.tsx';
import { YourOrganizations } from '../view/your-organizations.tsx';

/** The way in: to the person's first organization, and its posts. */
export const home: readonly Page[] = [
  get('/dashboard', 'user', async ({ deps, user, memberships }) => {
    const [first] = memberships;
    if (first !== undefined) return redirect(`/dashboard/${first.organizationId}`);
    const mayCreate = mayFound(deps.organizationCreation, memberships);
    return view(
      'No organization',
      <>
        <h1>No organization</h1>
        <p class="lede">
          Your account {user.email} belongs to no organization. Ask an owner of one for an invitation link
          {mayCreate ? ', or create your own' : ''}.
        </p>
        {mayCreate ? <YourOrganizations memberships={memberships} mayCreate /> : null}
        <p>
          <a href="/dashboard/~/account">Your account</a>
        </p>
        <Action to="/dashboard/~/sign-out" label="Sign out" />
      </>,
    );
  }),
  get('/dashboard/', 'anyone', async () => redirect('/dashboard')),
  get('/dashboard/:organizationId', 'member', async ({ base }) => redirect(`${base}/posts`)),

  // Inside an organization with its navigation; elsewhere without.
  get('/dashboard/:organizationId/*', 'member', noSuchPage),
  get('/dashboard/*', 'user', noSuchPage),
];

async function noSuchPage(): Promise<never> {
  throw new AppError(404, 'There is no such page.');
}
