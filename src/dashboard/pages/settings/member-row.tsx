/** @jsxRuntime automatic @jsxImportSource preact */
import type { Member, Role } from '../../../users/model.ts';
import type { MemberVisit } from '../../page.ts';
import { Action } from '../../view/form.tsx';

/** What each role may do, in words. */
export const roles: Readonly<Record<Role, string>> = {
  member: 'Writes and publishes posts',
  owner: 'Also manages keys, integrations, members and settings',
};

export function MemberRow({
  visit,
  person,
  people,
}: {
  visit: MemberVisit;
  person: Member;
  people: Member[];
}) {
  const { base, user, role, organization } = visit;
  const isSelf = person.id === user.id;
  const owners = people.filter((each) => each.role === 'owner').length;
  return (
    <tr>
      <td>
        <strong>{person.email}</strong>
        {isSelf ? <span class="dim"> (you)</span> : null}
      </td>
      <td>
        {person.role === 'owner' ? 'Owner' : 'Member'}
        <div class="hint">{roles[person.role]}</div>
      </td>
      {role === 'owner' ? (
        <td class="end">
          {person.role === 'owner' && owners === 1 ? (
            <span class="dim">The last owner stays</span>
          ) : (
            <details class="danger">
              <summary>
                {isSelf ? 'Leave' : 'Remove'}
                {isSelf ? null : <span class="hidden"> {person.email}</span>}
              </summary>
              <p>
                {isSelf ? 'You no longer see' : `${person.email} no longer sees`} anything of{' '}
                {organization.name}, at once. What they have written stays. Invitation links that were not
                used yet stop working too. API keys go on: revoke those that the person knows.
              </p>
              <Action
                to={`${base}/settings/members/${encodeURIComponent(person.id)}/remove`}
                label={isSelf ? 'Leave this organization' : 'Remove from the organization'}
                kind="bad"
              />
            </details>
          )}
        </td>
      ) : null}
    </tr>
  );
}
