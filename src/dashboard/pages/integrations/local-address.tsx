/** @jsxRuntime automatic @jsxImportSource preact */
import { describeLocalAddress } from '../../../integrations/words.ts';
import type { IntegrationType } from '../../../providers/index.ts';

/** Warns of webhook URLs that a provider cannot reach. Without a `type`, it names all providers. */
export function LocalAddressNote({ url, type = null }: { url: string; type?: IntegrationType | null }) {
  const text = describeLocalAddress(type, url);
  return text === null ? null : (
    <div class="note">
      <p>{text}</p>
    </div>
  );
}
