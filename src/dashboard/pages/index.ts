import type { Page } from '../page.ts';
import { account } from './account.tsx';
import { deliveries } from './deliveries/index.ts';
import { home } from './home.tsx';
import { integrations } from './integrations/index.ts';
import { invitation } from './invitation.tsx';
import { posts } from './posts/index.ts';
import { settings } from './settings/index.ts';
import { setup } from './setup.tsx';
import { signIn } from './sign-in.tsx';
import { start } from './start.tsx';
import { triggers } from './triggers/index.ts';

/** Every page and form of the dashboard. */
export const pages: readonly Page[] = [
  ...setup,
  ...signIn,
  ...account,
  ...home,
  ...posts,
  ...settings,
  ...invitation,
  ...start,
  ...deliveries,
  ...integrations,
  ...triggers,
];
