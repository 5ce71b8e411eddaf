import type { Page } from '../../page.ts';
import { changes } from './change.ts';
import { newTrigger } from './create.tsx';
import { triggerPage } from './one.tsx';

/** The triggers of an integration. */
export const triggers: readonly Page[] = [...newTrigger, triggerPage, ...changes];
