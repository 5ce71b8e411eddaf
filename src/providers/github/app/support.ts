import { systemClock } from '../../../lib/time.ts';
import type { AppSupport } from '../../app.ts';
import { readChange } from './events.ts';
import { parsePrivateKey } from './keys.ts';
import { pages, registration } from './manifest.ts';

// Each part loads with its first use, as the API does.
const load = () => import('./api.ts');

/** GitHub Apps, made from a manifest. */
export const githubApps: AppSupport = {
  name: 'GitHub App',
  path: 'github-app',
  registration,
  isPrivateKey: (text) => parsePrivateKey(text) !== null,
  pages,
  create: async (baseUrl, code, options) => (await load()).createApp(baseUrl, code, options),
  open: async (baseUrl, app, options) => (await load()).githubAppApi(baseUrl, app, options),
  openReader: async (baseUrl, app, options) => (await load()).githubAppReader(baseUrl, app, options),
  async token(baseUrl, app) {
    const { installationToken } = await import('./tokens.ts');
    return installationToken(baseUrl, app, systemClock);
  },
  readChange,
};
