/** @jsxRuntime automatic @jsxImportSource preact */
import type { Member, Role } from '../../../users/model.ts';
import type { MemberVisit } from '../../page.ts';
import { Action } from '../../view/form.tsx';
import { Status } from '../../view/status.tsx';

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
  const path = `${base}/settings/members/${encodeURIComponent(person.id)}`;
  const hasOtherOwner = people.some(
    (each) => each.id !== person.id && each.role === 'owner' && each.disabledAt === null,
  );
  return (
    <tr>
      <td>
        <strong>{person.email}</strong>
        {isSelf ? <span class="dim"> (you)</span> : null}{' '}
        {person.disabledAt === null ? null : <Status status="disabled" />}
      </td>
      <td>
        {person.role === 'owner' ? 'Owner' : 'Member'}
        <div class="hint">{roles[person.role]}</div>
      </td>
      {role === 'owner' ? (
        <td class="end">
          {person.role === 'owner' && !hasOtherOwner ? (
            <span class="dim">The last owner stays</span>
          ) : (
            <>
              <RoleChange path={path} person={person} isSelf={isSelf} />
              <Removal path={path} person={person} isSelf={isSelf} name={organization.name} />
            </>
          )}
        </td>
      ) : null}
    </tr>
  );
}

interface About {
  /** The path of the person's forms. */
  path: string;
  person: Member;
  isSelf: boolean;
}

function RoleChange({ path, person, isSelf }: About) {
  const next = person.role === 'owner' ? 'member' : 'owner';
  const label = `${isSelf ? 'Become' : 'Make'} ${next === 'owner' ? 'an owner' : 'a member'}`;
  return (
    <details class="danger mild">
      <summary>
        {label}
        {isSelf ? null : <span class="hidden">: {person.email}</span>}
      </summary>
      <p>{consequence(person, isSelf)}</p>
      <Action to={`${path}/role`} label={label} fields={{ role: next }} />
    </details>
  );
}

/** What the other role means for a person. */
function consequence({ email, role }: Member, isSelf: boolean): string {
  if (role === 'member') {
    return `${email} can then do all that you can: manage keys, integrations and settings, and invite and remove people, you too.`;
  }
  const links = 'Invitation links that were not used yet stop working.';
  return isSelf
    ? `You go on writing and publishing posts, and no longer manage keys, integrations, members and settings. Only another owner can make you one again. ${links}`
    : `${email} goes on writing and publishing posts, and no longer manages keys, integrations, members and settings. ${links}`;
}

function Removal({ path, person: { email }, isSelf, name }: About & { name: string }) {
  return (
    <details class="danger">
      <summary>
        {isSelf ? 'Leave' : 'Remove'}
        {isSelf ? null : <span class="hidden"> {email}</span>}
      </summary>
      <p>
        {isSelf ? 'You no longer see' : `${email} no longer sees`} anything of {name}, at once. What{' '}
        {isSelf ? 'you' : 'they'} have written stays. Invitation links that were not used yet stop working
        too. API keys go on: revoke those that {isSelf ? 'you know' : 'the person knows'}.
      </p>
      <Action
        to={`${path}/remove`}
        label={isSelf ? 'Leave this organization' : 'Remove from the organization'}
        kind="bad"
      />
    </details>
  );
}
