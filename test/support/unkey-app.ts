import type { UnkeyConfig } from '../../src/people/keys/store.ts';
import { unkeyKeys } from '../../src/people/keys/unkey.ts';
import { fixedClock } from './clock.ts';
import { appWithOrganization, type TestApp } from './test-app.ts';
import { API_ID, ROOT_KEY, startUnkeyServer, type UnkeyServer } from './unkey-server.ts';

export interface UnkeyApp extends TestApp, Disposable {
  readonly unkey: UnkeyServer;
}

/** Long enough that no slow machine runs into it. */
const PATIENT_MS = 60_000;

/** The app with an organization, `org_a` unless others are named, and its keys at a stand-in for Unkey, on one clock. */
export async function createUnkeyApp({
  organizations,
  withoutApiId = false,
  ...config
}: Options = {}): Promise<UnkeyApp> {
  const clock = fixedClock();
  const unkey = startUnkeyServer({ clock });
  const app = await appWithOrganization({
    organizations,
    clock,
    keys: (base) =>
      unkeyKeys(base, {
        rootKey: ROOT_KEY,
        baseUrl: unkey.url,
        timeoutMs: PATIENT_MS,
        ...(withoutApiId ? {} : { apiId: API_ID }),
        ...config,
      }),
  });
  return { ...app, unkey, [Symbol.dispose]: unkey[Symbol.dispose] };
}

type Options = Partial<UnkeyConfig> & { organizations?: readonly string[]; withoutApiId?: boolean };
