import type { Page } from '../../page.ts';
import { addPages } from './add.tsx';
import { changeIntegration } from './change.tsx';
import { checkPage } from './check.tsx';
import { choose } from './choose.ts';
import { connect } from './connect.tsx';
import { keepHooks } from './keep.ts';
import { integrationList } from './list.tsx';
import { missedPages } from './missed.tsx';
import { integrationPage } from './one.tsx';
import { testEvent } from './test-event.tsx';
import { tokenPages } from './token.tsx';

/** The pages of integrations. */
export const integrations: readonly Page[] = [
  integrationList,
  ...connect,
  ...choose,
  integrationPage,
  ...changeIntegration,
  ...keepHooks,
  ...tokenPages,
  ...addPages,
  checkPage,
  ...missedPages,
  testEvent,
];
