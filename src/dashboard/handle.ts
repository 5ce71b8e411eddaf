import type { Actor } from '../audit/model.ts';
import { requestIdOf } from '../http/request.ts';
import { page as pageResponse, seeOther } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import { countDrafts } from '../posts/store.ts';
import type { Guard } from '../users/guard.ts';
import {
  BROWSER_MS,
  completeSignIn,
  findSignedIn,
  hashOf,
  mayCreateOrganization,
  rememberBrowser,
  SESSION_MS,
} from '../users/sessions.ts';
import type { Client } from '../users/store.ts';
import {
  type Answer,
  type DashboardDeps,
  type MemberVisit,
  type Page,
  type Redirect,
  redirect,
  type UserVisit,
  type Visit,
} from './page.ts';
import { readBody, requireSameOrigin } from './submission.ts';
import { renderFragment, renderPage, signedOutPage, troublePage, type View } from './view/document.tsx';

const MAX_USER_AGENT_LENGTH = 200;

/** Returns a function from a page to its route handler. Failures become pages too. */
export function createHandler(deps: DashboardDeps, guard: Guard) {
  return (page: Page) =>
    async ({ request, params }: { request: Request; params: Record<string, string> }): Promise<Response> => {
      const isSecure = deps.publicUrl().startsWith('https:');
      const cookies = readCookies(request, isSecure);
      const set: CookieChanges = {};
      // Bun forgets the address when the connection closes: read it before the first await.
      const address = deps.clientAddress(request);
      const client: Client = {
        address: address === 'unknown' ? null : address,
        userAgent: request.headers.get('user-agent')?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
      };
      let visit: Visit = {
        deps: actingAs(deps, { type: 'anonymous', id: null, name: null, address }),
        guard,
        request,
        clientAddress: address,
        url: new URL(request.url, 'http://localhost'),
        params,
        form: new URLSearchParams(),
        user: null,
        memberships: [],
        sessionHash: '',
        knownBrowser: cookies.browser,
      };
      let answer: Answer;
      try {
        if (page.method === 'POST') requireSameOrigin(request);
        const token = cookies.session;
        const signedIn = token === null ? null : await findSignedIn(deps, token, client);
        if (token !== null && signedIn !== null) {
          const { user, memberships, extendedMs } = signedIn;
          const actor: Actor = { type: 'user', id: user.id, name: user.email, address };
          visit = {
            ...visit,
            user,
            memberships,
            sessionHash: hashOf(token),
            deps: actingAs(deps, actor),
          };
          if (extendedMs !== null) set.session = { value: token, maxAgeMs: extendedMs };
        }
        const admitted = await admit(page, visit);
        if ('kind' in admitted) answer = admitted;
        else {
          visit = admitted;
          if (page.method === 'POST') visit.form = await readBody(bodyLimitOf(page), visit);
          if (page.path.includes('/integrations/')) deps.extendTimeout?.(request);
          answer = await page.handle(visit as never);
        }
        if (answer.kind === 'redirect') Object.assign(set, await cookiesAfter(answer, deps, client));
      } catch (error) {
        answer = troubleAbout(deps, request, error);
      }
      if (answer.kind === 'redirect') {
        if (answer.done !== undefined) set.notice = { value: answer.done, maxAgeMs: NOTICE_MS };
        return seeOther(answer.to, cookieHeaders(set, isSecure));
      }
      if (answer.kind === 'fragment') {
        return pageResponse(renderFragment(answer), 200, cookieHeaders(set, isSecure));
      }
      if (cookies.notice !== null) set.notice = null;
      let view = answer;
      let html: string;
      try {
        html = await renderFor(visit, view, cookies.notice);
      } catch (error) {
        // Without the navigation, which may be what failed.
        view = troubleAbout(deps, request, error);
        html = renderPage(view, null, cookies.notice);
      }
      return pageResponse(html, view.status ?? 200, cookieHeaders(set, isSecure), view.headers);
    };
}

/** The audit log records changes of this visit as the actor's. */
function actingAs(deps: DashboardDeps, actor: Actor): DashboardDeps {
  return {
    ...deps,
    actor,
    get keys() {
      return deps.keys.as(actor);
    },
  };
}

/** The visit as the page needs it, or a response instead: a person without a session signs in first and comes back. */
async function admit(page: Page, visit: Visit): Promise<Visit | View | Redirect> {
  const { user, url, params, memberships } = visit;
  if (page.access === 'anyone') return visit;
  if (user === null) {
    if (page.method === 'POST') return keepForm(visit);
    return redirect(`/dashboard/~/sign-in?to=${encodeURIComponent(url.pathname + url.search)}`);
  }
  const userVisit: UserVisit = { ...visit, user };
  if (page.access === 'user') return userVisit;
  const membership = memberships.find(({ organization }) => organization.id === params.organizationId);
  // Another's organization does not exist either.
  if (membership === undefined) throw new AppError(404, 'There is no such page.');
  const { organization, role } = membership;
  if (page.access === 'owner' && role !== 'owner') {
    throw new AppError(403, `Only owners of ${organization.name} can do this. Ask one of them.`);
  }
  const memberVisit: MemberVisit = {
    ...userVisit,
    organization,
    role,
    base: `/dashboard/${organization.id}`,
  };
  return memberVisit;
}

/** Signing in leads back to a GET, which would lose the form. */
async function keepForm(visit: Visit): Promise<View> {
  const form = await readBody('anyone', visit).catch((error) => {
    if (error instanceof AppError && error.status === 413) return null;
    throw error;
  });
  return signedOutPage(visit.url.pathname + visit.url.search, form);
}

function bodyLimitOf({ access }: Page): 'anyone' | 'user' {
  return access === 'anyone' ? 'anyone' : 'user';
}

async function renderFor(visit: Visit, view: View, notice: string | null): Promise<string> {
  if (!isMember(visit)) return renderPage(view, null, notice);
  const { deps, organization, memberships } = visit;
  const mayCreate = mayCreateOrganization(deps.organizationCreation, memberships);
  const drafts = await countDrafts(deps.db, organization.id);
  return renderPage(view, { ...visit, mayCreateOrganization: mayCreate, drafts }, notice);
}

function isMember(visit: Visit): visit is MemberVisit {
  return 'organization' in visit;
}

/** A page about a failure. Failures of Tidings are logged in full, and the page has only the id of the log line. */
function troubleAbout({ log }: Pick<DashboardDeps, 'log'>, request: Request, error: unknown): View {
  if (error instanceof AppError && error.isRefusal) {
    return troublePage(error.status, error.message, error.headers);
  }
  const requestId = requestIdOf(request);
  log.error({ requestId, method: request.method, err: error }, 'request failed');
  return error instanceof AppError
    ? troublePage(error.status, error.message)
    : troublePage(500, `Something failed on our side. The log has it as ${requestId}.`);
}

const SESSION = 'tidings_session';
const BROWSER = 'tidings_browser';
const NOTICE = 'tidings_notice';
const MAX_NOTICE_LENGTH = 300;
const NOTICE_MS = 60_000;

/** Cookies to set; null deletes one. */
interface CookieChanges {
  session?: { value: string; maxAgeMs: number } | null;
  browser?: { value: string; maxAgeMs: number };
  notice?: { value: string; maxAgeMs: number } | null;
}

function readCookies(request: Request, isSecure: boolean) {
  const map = new Bun.CookieMap(request.headers.get('cookie') ?? '');
  const read = (name: string) => map.get(cookieName(name, isSecure));
  return { session: read(SESSION), browser: read(BROWSER), notice: read(NOTICE) };
}

/** Every sign-in passes here: it begins a session, and makes the browser a known one. */
async function cookiesAfter(
  { session, remember }: Redirect,
  deps: DashboardDeps,
  client: Client,
): Promise<CookieChanges> {
  if (session === null) return { session };
  const isNew = session !== undefined;
  const browser = isNew
    ? await completeSignIn(deps, session, client)
    : remember && (await rememberBrowser(deps, remember));
  return {
    ...(isNew && { session: { value: session, maxAgeMs: SESSION_MS } }),
    ...(browser && { browser: { value: browser, maxAgeMs: BROWSER_MS } }),
  };
}

function cookieHeaders({ session, browser, notice }: CookieChanges, isSecure: boolean): string[] {
  const cut = notice && { ...notice, value: notice.value.slice(0, MAX_NOTICE_LENGTH) };
  const changes = { [SESSION]: session, [BROWSER]: browser, [NOTICE]: cut };
  return Object.entries(changes)
    .filter(([, change]) => change !== undefined)
    .map(([name, change]) =>
      new Bun.Cookie(cookieName(name, isSecure), change?.value ?? '', {
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        secure: isSecure,
        maxAge: Math.floor((change?.maxAgeMs ?? 0) / 1000),
      }).serialize(),
    );
}

/** Browsers take a `__Host-` cookie from this host over https alone, never from a subdomain or over http. */
function cookieName(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name;
}
