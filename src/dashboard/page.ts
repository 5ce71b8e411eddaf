import type { CheckTemplates } from '../drafting/check.ts';
import type { Compose } from '../drafting/store.ts';
import type { Composer } from '../drafting/thread.ts';
import type { Fetch, UploadBudget } from '../http/request.ts';
import { knownZone } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';
import type { Guard } from '../people/guard.ts';
import type { Organization, OrganizationCreation } from '../people/organizations.ts';
import type { Membership, Role, User } from '../people/permission.ts';
import type { Fragment, View } from './view/document.tsx';

export { type Fragment, fragment, type View, view } from './view/document.tsx';

export interface DashboardDeps extends Deps {
  readonly compose: Compose;
  readonly readChangelog?: Composer['readChangelog'];
  /** Checks templates in a thread that is kept. Absent: in one of its own. */
  readonly check?: CheckTemplates;
  readonly self: Fetch;
  /** Absent: owners of one. */
  readonly organizationCreation?: OrganizationCreation;
  /** The IP address of the connection; null after a disconnect. */
  readonly peerAddress: (request: Request) => string | null;
  /** The header in which the trusted proxy names the client. */
  readonly clientIpHeader: string | undefined;
  /** The memory that forms of people without a session may take. */
  readonly uploadBudget: UploadBudget;
  /** Keeps the connection open for a page that waits for a provider. Absent where there is no server. */
  readonly extendTimeout?: (request: Request) => void;
}

export interface Visit {
  /** `actor` and `keys` are this visitor's. Each write and call to a provider checks them first, and throws `AccessEnded`. */
  deps: DashboardDeps;
  guard: Guard;
  request: Request;
  /** The client's IP address; `unknown` without one. */
  clientAddress: string;
  url: URL;
  params: Readonly<Record<string, string>>;
  form: URLSearchParams;
  user: User | null;
  memberships: Membership[];
  /** The hash of the session's token; empty without a session. */
  sessionHash: string;
  /** The token of a browser that has signed in before. */
  knownBrowser: string | null;
  flow: string | null;
  look: Look;
  base?: string;
}

export interface UserVisit extends Visit {
  user: User;
}

export interface MemberVisit extends UserVisit {
  organization: Organization;
  role: Role;
  isOwner: boolean;
  /** A publisher or an owner. */
  mayPublish: boolean;
  base: string;
}

export interface Data {
  kind: 'data';
  value: unknown;
  status: number;
}

export interface Download {
  kind: 'download';
  name: string;
  type: string;
  body: AsyncIterable<Uint8Array>;
}

export type Answer = View | Fragment | Redirect | Data | Download;

export interface Redirect {
  kind: 'redirect';
  to: string;
  /** A sentence that the next page shows once. */
  done?: string | undefined;
  /** The path of a form without fields that takes it back, for an "Undo" button beside that sentence. */
  undo?: string | undefined;
  /** The token of a session to begin; null ends the session. */
  session?: string | null;
  /** The state of a sign-in in several steps, by `sealFlow`; null ends it. */
  flow?: string | null;
  preferences?: Preferences;
  /** The person whose known browser this becomes. Beginning a session does that too. */
  remember?: User;
}

/** Everybody, who is signed in, members of the organization in the path, those who may publish, its owners. */
export interface Visitors {
  anyone: Visit;
  user: UserVisit;
  member: MemberVisit;
  publisher: MemberVisit;
  owner: MemberVisit;
}

export interface Page {
  method: 'GET' | 'POST';
  path: string;
  access: keyof Visitors;
  handle: (visit: never) => Promise<Answer>;
  /** The handler reads the body itself, by `readMultipart`. It holds a file. */
  isUpload?: boolean;
}

const pageOf =
  (method: Page['method']) =>
  <Who extends keyof Visitors>(
    path: string,
    access: Who,
    handle: (visit: Visitors[Who]) => Promise<Answer>,
  ): Page => ({ method, path, access, handle });

export const get = pageOf('GET');
export const post = pageOf('POST');

/** A form with a file, which the handler reads. */
export const upload: typeof post = (...page) => ({ ...post(...page), isUpload: true });

export function data(value: unknown, status = 200): Data {
  return { kind: 'data', value, status };
}

/** 303: the browser opens the page with a GET, so a reload posts nothing again. `to`: below the organization, or an address. */
export function redirect(to: string, done?: string, undo?: string): Redirect {
  return { kind: 'redirect', to, done, undo };
}

/** The page to return to. Only pages of the dashboard: another address could lead to another site. */
export function wayBack(to: string): string {
  const here = 'http://localhost';
  const url = to.length > 2_000 ? null : URL.parse(to, here);
  if (url?.origin !== here || !/^\/dashboard\/[A-Za-z0-9_~-]/.test(url.pathname)) return '/dashboard';
  return url.pathname + url.search + url.hash;
}

export const themes = ['system', 'light', 'dark'] as const;
export const densities = ['comfortable', 'dense'] as const;

/** The look and behavior of the dashboard that a person chose. Each browser keeps them in a cookie. */
interface Preferences {
  theme: (typeof themes)[number];
  density: (typeof densities)[number];
  /** An IANA name; null: the browser's own. */
  fixedZone: string | null;
  /** Single keys such as `/` and `?` do something (WCAG 2.1.4). */
  hasShortcuts: boolean;
}

/** The part that a page needs. */
export interface Look extends Preferences {
  zone: string;
}

export const defaultLook: Look = {
  theme: 'system',
  density: 'comfortable',
  fixedZone: null,
  hasShortcuts: true,
  zone: 'UTC',
};

const MAX_COOKIE_LENGTH = 300;

/** `browserZone`: the zone that the script found. Ignores invalid values. */
export function readPreferences(cookie: string | null, browserZone: string | null): Look {
  const saved = new URLSearchParams(cookie !== null && cookie.length <= MAX_COOKIE_LENGTH ? cookie : '');
  const fixedZone = knownZone(saved.get('zone'));
  return {
    theme: themes.find((each) => each === saved.get('theme')) ?? defaultLook.theme,
    density: densities.find((each) => each === saved.get('density')) ?? defaultLook.density,
    fixedZone,
    hasShortcuts: saved.get('shortcuts') !== 'off',
    zone: fixedZone ?? knownZone(browserZone) ?? defaultLook.zone,
  };
}

export function writePreferences({ theme, density, fixedZone, hasShortcuts }: Preferences): string {
  const zone = fixedZone === null ? {} : { zone: fixedZone };
  const shortcuts = hasShortcuts ? {} : { shortcuts: 'off' };
  return new URLSearchParams({ theme, density, ...zone, ...shortcuts }).toString();
}
