import type { VNode } from 'preact';
import type { Deps } from '../deps.ts';
import type { Compose } from '../drafts/model.ts';
import type { Fetch } from '../http/request.ts';
import { AppError } from '../lib/app-error.ts';
import type { UploadBudget } from '../lib/upload.ts';
import type { Organization, OrganizationCreation } from '../organizations/model.ts';
import type { Guard } from '../users/guard.ts';
import type { Membership, Role, User } from '../users/model.ts';

// What a page of the dashboard is: a path, who may open it, and what it answers.

/** Who may open a page: anybody, whoever is signed in, the people of the organization in its path, its owners. */
export type Access = 'anyone' | 'user' | 'member' | 'owner';

/** What pages need beyond what every feature is given. */
export interface DashboardDeps extends Deps {
  /** Makes the text of a draft, for rehearsals. */
  readonly compose: Compose;
  /** Renders long Markdown in a thread. Rejects with `AppError` when it takes too long. Absent: there is no thread. */
  readonly render?: (markdown: string) => Promise<string>;
  /** Asks the service itself, whether or not its public address can be reached from here. */
  readonly self: Fetch;
  /** The providers' APIs, by provider. Absent: the public ones. */
  readonly providerUrls?: Readonly<Record<string, string>>;
  /** Absent: owners of one. */
  readonly organizationCreation?: OrganizationCreation;
  /** The client's IP address; `unknown` without one. */
  readonly clientAddress: (request: Request) => string;
  /** The memory that forms of people without a session may take. */
  readonly uploadBudget: UploadBudget;
  /** Keeps the connection open for a page that waits for a provider. Absent where there is no server. */
  readonly extendTimeout?: (request: Request) => void;
}

/** What every page is given. */
export interface Visit {
  deps: DashboardDeps;
  guard: Guard;
  request: Request;
  /** The client's IP address; `unknown` without one. */
  clientAddress: string;
  url: URL;
  params: Readonly<Record<string, string>>;
  /** The fields of a form that was sent; empty for a page that is read. */
  form: URLSearchParams;
  user: User | null;
  /** The hash of the session that the visit is made with; empty without one. */
  sessionHash: string;
}

export interface UserVisit extends Visit {
  user: User;
  memberships: Membership[];
}

/** A visit to an organization's page, by one of its people. */
export interface MemberVisit extends UserVisit {
  organization: Organization;
  role: Role;
  /** The path that the organization's pages begin with. */
  base: string;
}

/** What a page answers: a view, a piece of one, or the way to another page. */
export type Answer = View | Fragment | Redirect;

export interface View {
  kind: 'view';
  /** The page's name, for the window's title too. */
  title: string;
  body: VNode;
  /** Of the entries of the navigation the one that the page belongs to. */
  section?: Section;
  status?: number;
  headers?: Readonly<Record<string, string>>;
}

/** A piece of a page, which the script puts in its place. */
export interface Fragment {
  kind: 'fragment';
  body: VNode | VNode[];
}

export type Section = 'posts' | 'integrations' | 'deliveries' | 'triggers' | 'keys' | 'settings' | 'account';

export interface Redirect {
  kind: 'redirect';
  to: string;
  /** What was done, in words, shown once on the next page. */
  done?: string | undefined;
  /** A session to begin, or to end when null. */
  session?: string | null;
  /** The person whose known browser this becomes. Beginning a session does that too. */
  remember?: User;
}

interface Handlers {
  anyone: (visit: Visit) => Promise<Answer>;
  user: (visit: UserVisit) => Promise<Answer>;
  member: (visit: MemberVisit) => Promise<Answer>;
  owner: (visit: MemberVisit) => Promise<Answer>;
}

export type Page = {
  [Who in Access]: { method: 'GET' | 'POST'; path: string; access: Who; handle: Handlers[Who] };
}[Access];

/** A page that is read. */
export function get<Who extends Access>(path: string, access: Who, handle: Handlers[Who]): Page {
  return { method: 'GET', path, access, handle } as Page;
}

/** A form that is sent. */
export function post<Who extends Access>(path: string, access: Who, handle: Handlers[Who]): Page {
  return { method: 'POST', path, access, handle } as Page;
}

export function view(
  title: string,
  body: VNode,
  more: Pick<View, 'section' | 'status' | 'headers'> = {},
): View {
  return { kind: 'view', title, body, ...more };
}

export function fragment(body: VNode | VNode[]): Fragment {
  return { kind: 'fragment', body };
}

/** 303: a form that was sent leads to a page that can be reloaded. */
export function redirect(to: string, done?: string): Redirect {
  return { kind: 'redirect', to, done };
}

/** The token of a one-time link: in the address that was opened, then in the form. Never in a path, which is logged. */
export function tokenOf({ form, url }: Visit): string {
  return form.get('token') ?? url.searchParams.get('token') ?? '';
}

/** The limits on guessing, and the signal that ends with the visit's connection. */
export function guardedBy({ guard, request }: Visit): { guard: Guard; signal: AbortSignal } {
  return { guard, signal: request.signal };
}

/** Whether a form is shown again with this error: something in it is wrong, or there were too many attempts. */
export function isRefusedForm(error: unknown): error is AppError {
  return error instanceof AppError && [400, 409, 429].includes(error.status);
}

/** The status and headers of a view that shows an error. */
export function refusalOf(error: Pick<View, 'status' | 'headers'> | null | undefined) {
  return {
    ...(error?.status && { status: error.status }),
    ...(error?.headers && { headers: error.headers }),
  };
}
