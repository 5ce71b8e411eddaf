/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../lib/app-error.ts';
import { get, type Page, redirect, view } from '../page.ts';
import { YourOrganizations } from '../view/your-organizations.tsx';

/** The way in: to the person's first organization, and its posts. */
export const home: readonly Page[] = [
  get('/dashboard', 'user', async ({ memberships }) => {
    const [first] = memberships;
    if (first !== undefined) return redirect(`/dashboard/${first.organizationId}`);
    return view(
      'No organization',
      <>
        <h1>No organization yet</h1>
        <p class="lede">
          You have an account, but belong to no organization. Ask an owner of one for an invitation link, or
          make your own.
        </p>
        <YourOrganizations memberships={memberships} />
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
