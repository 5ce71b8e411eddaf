import { appWithOrganization } from '../support/test-app.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';
import { keyServiceContract } from './contract.ts';

keyServiceContract('embedded', async (organizations) => {
  const app = await appWithOrganization({ organizations });
  return { ...app, keys: app.deps.keys, [Symbol.dispose]: () => undefined };
});

keyServiceContract('Unkey', async (organizations) => {
  const app = await createUnkeyApp({ organizations });
  return { ...app, keys: app.deps.keys };
});
