/** @jsxRuntime automatic @jsxImportSource preact */
import type { Membership } from '../../users/model.ts';
import { Field, FormError } from './form.tsx';
import { problemWith } from './problem.ts';

/** Where on a page the form of a new organization stands. */
export const NEW_ORGANIZATION = 'new-organization';

/** The organizations of a person, and a form for another where they may create one. */
export function YourOrganizations({
  memberships,
  mayCreate,
  name = '',
  error,
}: {
  memberships: readonly Membership[];
  mayCreate: boolean;
  name?: string;
  error?: string | undefined;
}) {
  const aboutName = problemWith('name', 'The name', error);
  return (
    <>
      <h2 id="organizations">Your organizations</h2>
      {memberships.length === 0 ? <p>You are in none yet.</p> : null}
      <ul class="plain">
        {memberships.map(({ organizationId, organizationName, role }) => (
          <li key={organizationId}>
            <a href={`/dashboard/${organizationId}`}>{organizationName}</a>{' '}
            <span class="dim">{role === 'owner' ? 'owner' : 'member'}</span>
          </li>
        ))}
      </ul>
      {mayCreate ? (
        <form method="post" action="/dashboard/~/organizations" class="stack" id={NEW_ORGANIZATION}>
          <FormError error={aboutName === null ? error : null} />
          <Field
            label="Another team or product"
            name="name"
            value={name}
            hint="It has its own posts, keys and integrations, and you own it."
            error={aboutName}
          />
          <button type="submit" class="button">
            Make an organization
          </button>
        </form>
      ) : null}
    </>
  );
}
