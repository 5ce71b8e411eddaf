/** @jsxRuntime automatic @jsxImportSource preact */
import type { Role } from '../../../users/model.ts';
import type { MemberVisit } from '../../page.ts';
import { ToCopy } from '../../view/copy.tsx';
import { SettingsTabs } from '../../view/settings-tabs.tsx';

/** The one time that an invitation is shown. */
export function InvitedPage({
  link,
  role,
  visit: { base, organization },
}: {
  link: string;
  role: Role;
  visit: MemberVisit;
}) {
  return (
    <>
      <h1>Pass this link on</h1>
      <SettingsTabs base={base} isOwner current="settings/members" />
      <p class="lede">
        Whoever opens it joins {organization.name} as {role === 'owner' ? 'an owner' : 'a member'}. It works
        once, within 7 days, and is shown this once.
      </p>
      <div class="note">
        <ToCopy text={link} label="Copy the link" />
      </div>
      <p>
        <a class="button" href={`${base}/settings/members`}>
          Back to the members
        </a>
      </p>
    </>
  );
}
