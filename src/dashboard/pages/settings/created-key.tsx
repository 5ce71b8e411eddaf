/** @jsxRuntime automatic @jsxImportSource preact */
import type { CreatedKey } from '../../../keys/model.ts';
import { describeKeyWarning } from '../../../keys/words.ts';
import { ToCopy } from '../../view/copy.tsx';
import { SettingsTabs } from '../../view/settings-tabs.tsx';

/** The one time that a key's value is told. */
export function CreatedKeyPage({ made, curl, base }: { made: CreatedKey; curl: string; base: string }) {
  return (
    <>
      <h1>Copy the key now</h1>
      <SettingsTabs base={base} isOwner current="settings/keys" />
      <p class="lede">
        “{made.name}” is made. Its value is shown this once: only a fingerprint of it is kept, and a page that
        is reloaded shows it no more.
      </p>
      {made.warning === undefined ? null : (
        <p class="note" role="alert">
          <strong>Check this key before you use it.</strong> {describeKeyWarning(made.warning)}
        </p>
      )}
      <div class="note">
        <ToCopy text={made.key} label="Copy the key" />
      </div>
      <h2>Your first call</h2>
      <p>This call returns the published posts:</p>
      <ToCopy text={curl} label="Copy the line" />
      <p class="hint">
        Keep the key on the server, in an environment variable or a store of secrets, never in a page or an
        app.
        {made.expiresAt === null ? '' : ` It stops working on ${made.expiresAt.slice(0, 10)}.`}
      </p>
      <div class="bar after">
        <a class="button" href={`${base}/settings/keys`}>
          I have copied it
        </a>
        <a href={`${base}/start`}>To the first steps</a>
      </div>
    </>
  );
}
