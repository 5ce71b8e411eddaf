import { describeLocalAddress } from '../../../integrations/words.ts';
import { tidings } from '../../../lib/build.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import { ToCopy } from '../../view/elements.tsx';

/**
 * Warns of webhook URLs that a provider cannot reach. Without a `type`, it names all providers. `pollFor`: the
 * organization for which to offer polling instead.
 */
export function LocalAddressNote({
  url,
  type = null,
  pollFor,
}: {
  url: string;
  type?: IntegrationType | null;
  pollFor?: string;
}) {
  const text = describeLocalAddress(type, url);
  return text === null ? null : (
    <div class="note">
      <p>{text}</p>
      {type !== null && pollFor !== undefined && (
        <>
          <p>Without one, Tidings can ask {providerOf(type).name} for new events instead:</p>
          <ToCopy
            text={`${tidings} integration connect ${type} --organization ${pollFor} --repository OWNER/NAME --poll`}
            label="Copy command"
          />
        </>
      )}
    </div>
  );
}
