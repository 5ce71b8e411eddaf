import type { Page } from '../../page.ts';
import { changeTrigger } from './change.tsx';
import { newTrigger } from './create.tsx';
import { triggerPage } from './one.tsx';

/** The triggers of an integration. */
export const triggers: readonly Page[] = [...newTrigger, triggerPage, ...changeTrigger];
