/** @jsxRuntime automatic @jsxImportSource preact */
import type { Member } from '../../../users/model.ts';
import { newMark } from '../../once.ts';
import type { MemberVisit } from '../../page.ts';
import { Action, FormError } from '../../view/form.tsx';
import { SettingsTabs } from '../../view/settings-tabs.tsx';
import { MemberRow, roles } from './member-row.tsx';

export function MembersPage({
  visit,
  people,
  invitations,
  error,
}: {
  visit: MemberVisit;
  people: Member[];
  /** How many links still work. */
  invitations: number;
  error: string | undefined;
}) {
  const { base, role, organization } = visit;
  const isOwner = role === 'owner';
  return (
    <>
      <h1>Members</h1>
      <SettingsTabs base={base} isOwner={role === 'owner'} current="settings/members" />
      <p class="lede">
        {people.length === 1 ? 'One person works' : `${people.length} people work`} on {organization.name}.
        {isOwner ? '' : ' Owners invite others.'}
      </p>
      <FormError error={error} />
      <div class="card">
        <table class="list">
          <caption class="hidden">Members</caption>
          <thead>
            <tr>
              <th scope="col">Person</th>
              <th scope="col">Role</th>
              {isOwner ? (
                <th scope="col">
                  <span class="hidden">What you can do</span>
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {people.map((person) => (
              <MemberRow key={person.id} visit={visit} person={person} people={people} />
            ))}
          </tbody>
        </table>
      </div>
      {isOwner ? <InvitationForm base={base} invitations={invitations} /> : null}
    </>
  );
}

function InvitationForm({ base, invitations }: { base: string; invitations: number }) {
  return (
    <>
      <h2>Invite somebody</h2>
      <p>Tidings sends no mail: you get a link, and pass it on. It works once, within 7 days.</p>
      <form method="post" action={`${base}/settings/members/invitations`} class="stack" data-once>
        <input type="hidden" name="mark" value={newMark()} />
        <fieldset>
          <legend class="label">What the person may do</legend>
          {(['member', 'owner'] as const).map((each) => (
            <label class="check">
              <input type="radio" name="role" value={each} checked={each === 'member'} />
              <span>
                {each === 'owner' ? 'Owner' : 'Member'}
                <span class="hint">{roles[each]}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <button type="submit" class="button go">
          Make an invitation link
        </button>
      </form>
      {invitations === 0 ? null : (
        <div class="after">
          <p>
            {invitations === 1 ? 'One link is' : `${invitations.toLocaleString('en')} links are`} out and not
            used yet.
          </p>
          <Action
            to={`${base}/settings/members/invitations/withdraw`}
            label={invitations === 1 ? 'Withdraw it' : 'Withdraw them all'}
          />
        </div>
      )}
    </>
  );
}
