import { readRawBody } from '../http/body-limit.ts';
import { requestIdOf } from '../http/request-log.ts';
import { page as pageResponse, seeOther } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import { findOrganization } from '../organizations/store.ts';
import type { Client } from '../users/model.ts';
import { findSignedIn, hashOf, SESSION_MS } from '../users/service.ts';
import { updateSession } from '../users/session-store.ts';
import { listMemberships } from '../users/store.ts';
import type { Throttle } from '../users/throttle.ts';
import { cookieHeaders, readCookies, type SessionCookie } from './cookies.ts';
import {
  type Access,
  type Answer,
  type DashboardDeps,
  type MemberVisit,
  type Page,
  type Redirect,
  redirect,
  type UserVisit,
  type View,
  type Visit,
  view,
} from './page.ts';
import { requireSameOrigin } from './same-origin.ts';
import { renderFragment, renderPage } from './view/document.tsx';
import { SignedOut } from './view/signed-out.tsx';
import { Trouble } from './view/trouble.tsx';

/** What a form may hold, in bytes: a post of 200,000 characters fits several times. */
const MAX_FORM_BYTES = 2 * 1024 * 1024;

/** Answers a visit to a page: who is it, may they, what do they see. Failures become pages too. */
export function createHandler(deps: DashboardDeps, throttle: Throttle) {
  return async function handle(
    page: Page,
    request: Request,
    params: Record<string, string>,
  ): Promise<Response> {
    const isSecure = deps.publicUrl().startsWith('https:');
    const cookies = readCookies(request, isSecure);
    let visit: Visit = {
      deps,
      throttle,
      request,
      // Read before the first await: Bun forgets the address when the connection closes.
      clientAddress: deps.clientAddress(request),
      url: new URL(request.url, 'http://localhost'),
      params,
      form: new URLSearchParams(),
      user: null,
      sessionHash: '',
    };
    const client = clientOf(visit);
    let session: SessionCookie | null | undefined;
    let answer: Answer;
    try {
      if (page.method === 'POST') {
        requireSameOrigin(request);
        visit.form = await readForm(request);
      }
      if (cookies.session !== null) {
        const signedIn = await findSignedIn(deps, cookies.session, client);
        if (signedIn !== null) {
          visit.user = signedIn.user;
          visit.sessionHash = hashOf(cookies.session);
          const { extendedMs } = signedIn;
          if (extendedMs !== null) session = { token: cookies.session, maxAgeMs: extendedMs };
        }
      }
      const admitted = await admit(page, visit);
      if ('kind' in admitted) answer = admitted;
      else {
        visit = admitted;
        answer = await page.handle(admitted as never);
      }
      if (answer.kind === 'redirect' && answer.session !== undefined) {
        session = answer.session === null ? null : { token: answer.session, maxAgeMs: SESSION_MS };
        // Every way to sign in comes by here.
        if (answer.session !== null) await updateSession(deps.db, hashOf(answer.session), client);
      }
    } catch (error) {
      answer = troubleAbout(deps, request, error);
    }
    if (answer.kind === 'redirect') {
      return seeOther(answer.to, cookieHeaders({ session, notice: answer.done }, isSecure));
    }
    if (answer.kind === 'fragment') {
      return pageResponse(renderFragment(answer), 200, cookieHeaders({ session }, isSecure));
    }
    const notice = cookies.notice === null ? undefined : null;
    const { html, status = 200 } = await renderAnyway(deps, answer, visit, cookies.notice);
    return pageResponse(html, status, cookieHeaders({ session, notice }, isSecure));
  };
}

/** How long a `User-Agent` is kept, in characters. */
const MAX_USER_AGENT = 200;

function clientOf({ request, clientAddress }: Visit): Client {
  const userAgent = request.headers.get('user-agent')?.slice(0, MAX_USER_AGENT) ?? null;
  return { address: clientAddress === 'unknown' ? null : clientAddress, userAgent };
}

/** The page or, where it cannot be shown, one that says so: without the navigation, which may be what failed. */
async function renderAnyway(
  deps: DashboardDeps,
  answer: View,
  visit: Visit,
  notice: string | null,
): Promise<{ html: string; status: number | undefined }> {
  try {
    return { html: await renderPage(answer, visit, notice), status: answer.status };
  } catch (error) {
    const trouble = troubleAbout(deps, visit.request, error);
    return { html: await renderPage(trouble, null, notice), status: trouble.status };
  }
}

/** The visit with all that the page needs of it. Who is not signed in is led there, and back again. */
async function admit(page: Page, visit: Visit): Promise<Visit | View | Redirect> {
  const { deps, user, url, params } = visit;
  if (page.access === 'anyone') return visit;
  if (user === null) return page.method === 'POST' ? keepForm(visit) : redirect(signInPath(url));
  const memberships = await listMemberships(deps.db, user.id);
  const userVisit: UserVisit = { ...visit, user, memberships };
  return page.access === 'user'
    ? userVisit
    : admitMember(page.access, userVisit, params.organizationId ?? '');
}

function signInPath({ pathname, search }: URL): string {
  return `/dashboard/~/sign-in?to=${encodeURIComponent(pathname + search)}`;
}

/** Signing in would lead back to a page that is read: what a form held would be gone. */
function keepForm({ url, form }: Visit): View {
  return view('You are signed out', SignedOut({ path: url.pathname + url.search, form }), { status: 401 });
}

/** Another's organization is not there. */
async function admitMember(access: Access, visit: UserVisit, organizationId: string): Promise<MemberVisit> {
  const membership = visit.memberships.find((each) => each.organizationId === organizationId);
  const organization = membership ? await findOrganization(visit.deps.db, organizationId) : null;
  if (membership === undefined || organization === null) throw new AppError(404, 'There is no such page.');
  const { role } = membership;
  if (access === 'owner' && role !== 'owner') {
    throw new AppError(403, `Only owners of ${organization.name} can do this. Ask one of them.`);
  }
  return { ...visit, organization, role, base: `/dashboard/${organizationId}` };
}

async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded')) throw new AppError(415, 'This is no form.');
  const body = await readRawBody(request, MAX_FORM_BYTES);
  if (body === null) throw new AppError(413, 'This is more than a form can hold (2 MiB). Nothing was saved.');
  return new URLSearchParams(new TextDecoder().decode(body));
}

/** A page that says what went wrong. Our own failures are logged whole, and told by the id that the log has. */
function troubleAbout({ log }: Pick<DashboardDeps, 'log'>, request: Request, error: unknown): View {
  if (error instanceof AppError && error.status < 500) {
    const { status, message } = error;
    return view(status === 404 ? 'Not found' : 'That did not work', Trouble({ status, message }), { status });
  }
  const requestId = requestIdOf(request);
  log.error({ requestId, method: request.method, err: error }, 'request failed');
  const status = error instanceof AppError ? error.status : 500;
  const message =
    error instanceof AppError
      ? error.message
      : `Something failed on our side. The log has it as ${requestId}.`;
  return view('That did not work', Trouble({ status, message }), { status });
}
