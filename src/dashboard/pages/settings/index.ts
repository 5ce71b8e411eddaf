import type { Page } from '../../page.ts';
import { audit } from './audit.tsx';
import { keys } from './keys.tsx';
import { members } from './members.tsx';
import { organization } from './organization.tsx';

/** What an organization is called, who belongs to it, and which keys read for it, and who changed what. */
export const settings: readonly Page[] = [...organization, ...keys, ...members, ...audit];
