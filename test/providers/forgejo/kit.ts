import { samples } from '../../../src/providers/forgejo/samples.ts';
import { changed } from '../../support/payloads.ts';
import type { ProviderKit } from '../../support/provider-kit.ts';

const NO_COMMIT = '0'.repeat(40);

export const kit: ProviderKit = {
  repository: 'acme/rocket',
  about: (payload, { id, fullName }) =>
    changed(payload, { 'repository.id': id, 'repository.full_name': fullName }),
  ping: (context) => ({
    event: 'push',
    payload: { ...samples.push?.(context), before: NO_COMMIT, after: NO_COMMIT },
  }),
  formSignatureCovers: 'payload',
  signsTime: false,
  startWorld: null,
};
