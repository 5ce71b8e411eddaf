import type { Page } from '../../page.ts';
import { changeIntegration } from './change.tsx';
import { connect } from './connect.tsx';
import { integrationList } from './list.tsx';
import { integrationPage } from './one.tsx';
import { testEvent } from './test-event.tsx';

/** What is connected, and what can be done about it. */
export const integrations: readonly Page[] = [
  integrationList,
  ...connect,
  integrationPage,
  ...changeIntegration,
  testEvent,
];
