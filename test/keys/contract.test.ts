import { closeDatabase } from '../../db/client.ts';
import { createTestApp } from '../support/test-app.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';
import { keyServiceContract } from './contract.ts';

keyServiceContract('embedded', () => {
  const app = createTestApp();
  return { ...app, keys: app.deps.keys, [Symbol.dispose]: () => closeDatabase(app.db) };
});

keyServiceContract('Unkey', () => {
  const app = createUnkeyApp();
  return { ...app, keys: app.deps.keys };
});
