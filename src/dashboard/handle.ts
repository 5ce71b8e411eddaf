import { type Actor, userActor } from '../audit/model.ts';
import { requestIdOf } from '../http/request.ts';
import { page as pageResponse, seeOther } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import { readUpload, UNVERIFIED_UPLOAD_MS, UploadError } from '../lib/upload.ts';
import { findOrganization } from '../organizations/store.ts';
import type { Guard } from '../users/guard.ts';
import { rememberBrowser } from '../users/known-browser.ts';
import type { Client } from '../users/model.ts';
import { findSignedIn, hashOf, SESSION_MS } from '../users/service.ts';
import { updateSession } from '../users/session-store.ts';
import { listMemberships } from '../users/store.ts';
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

/** What a form of a signed-in person may hold: a post of 200,000 characters fits several times. */
const MAX_FORM_BYTES = 2 * 1024 * 1024;

/** How long a signed-in person's form may take: 2 MiB at 256 kbit/s. */
const FORM_UPLOAD_MS = 70_000;

/** What a form without a session may hold: the longest of them has an e-mail address, a password and a token. */
const MAX_STRANGER_FORM_BYTES = 16 * 1024;

/** Answers a visit to a page: who is it, may they, what do they see. Failures become pages too. */
export function createHandler(deps: DashboardDeps, guard: Guard) {
  return async function handle(
    page: Page,
    request: Request,
    params: Record<string, string>,
  ): Promise<Response> {
    const isSecure = deps.publicUrl().startsWith('https:');
    const cookies = readCookies(request, isSecure);
    // Read before the first await: Bun forgets the address when the connection closes.
    const address = deps.clientAddress(request);
    let visit: Visit = {
      deps: actingAs(deps, { type: 'anonymous', id: null, name: null, address }),
      guard,
      request,
      clientAddress: address,
      url: new URL(request.url, 'http://localhost'),
      params,
      form: new URLSearchParams(),
      user: null,
      sessionHash: '',
    };
    const client = clientOf(visit);
    let session: SessionCookie | null | undefined;
    let browser: string | null | undefined;
    let answer: Answer;
    try {
      if (page.method === 'POST') requireSameOrigin(request);
      if (cookies.session !== null) {
        const signedIn = await findSignedIn(deps, cookies.session, client);
        if (signedIn !== null) {
          visit.user = signedIn.user;
          visit.sessionHash = hashOf(cookies.session);
          visit.deps = actingAs(deps, userActor(visit.user, address));
          const { extendedMs } = signedIn;
          if (extendedMs !== null) session = { token: cookies.session, maxAgeMs: extendedMs };
        }
      }
      const admitted = await admit(page, visit);
      if ('kind' in admitted) answer = admitted;
      else {
        visit = admitted;
        if (page.method === 'POST') visit.form = await readForm(page.access, visit);
        if (page.path.includes('/integrations/')) deps.extendTimeout?.(request);
        answer = await page.handle(admitted as never);
      }
      if (answer.kind === 'redirect') {
        let person = answer.remember ?? null;
        if (answer.session === null) session = null;
        else if (answer.session !== undefined) {
          // Every way to sign in comes by here.
          session = { token: answer.session, maxAgeMs: SESSION_MS };
          await updateSession(deps.db, hashOf(answer.session), client);
          person ??= (await findSignedIn(deps, answer.session, client))?.user ?? null;
        }
        if (person !== null) browser = await rememberBrowser(deps, person);
      }
    } catch (error) {
      answer = troubleAbout(deps, request, error);
    }
    if (answer.kind === 'redirect') {
      return seeOther(answer.to, cookieHeaders({ session, browser, notice: answer.done }, isSecure));
    }
    if (answer.kind === 'fragment') {
      return pageResponse(renderFragment(answer), 200, cookieHeaders({ session }, isSecure));
    }
    const notice = cookies.notice === null ? undefined : null;
    const { html, view } = await renderAnyway(deps, answer, visit, cookies.notice);
    const headers = cookieHeaders({ session, notice }, isSecure);
    return pageResponse(html, view.status ?? 200, headers, view.headers);
  };
}

/** What this visit does counts as this actor's in the audit log. */
function actingAs(deps: DashboardDeps, actor: Actor): DashboardDeps {
  return { ...deps, actor, keys: deps.keys.as(actor) };
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
): Promise<{ html: string; view: View }> {
  try {
    return { html: await renderPage(answer, visit, notice), view: answer };
  } catch (error) {
    const trouble = troubleAbout(deps, visit.request, error);
    return { html: await renderPage(trouble, null, notice), view: trouble };
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
async function keepForm(visit: Visit): Promise<View> {
  const path = visit.url.pathname + visit.url.search;
  const form = await readForm('anyone', visit).catch((error) => {
    if (error instanceof AppError && error.status === 413) return null;
    throw error;
  });
  return view('You are signed out', SignedOut({ path, form }), { status: 401 });
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

/** Reads the form, after the visit was admitted. Without a session it must be small. */
async function readForm(access: Access, { request, deps }: Visit): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded')) throw new AppError(415, 'This is no form.');
  const limits =
    access === 'anyone'
      ? {
          maxBytes: MAX_STRANGER_FORM_BYTES,
          timeoutMs: UNVERIFIED_UPLOAD_MS,
          budget: deps.uploadBudget,
        }
      : { maxBytes: MAX_FORM_BYTES, timeoutMs: FORM_UPLOAD_MS };
  try {
    return new URLSearchParams(new TextDecoder().decode(await readUpload(request, limits)));
  } catch (error) {
    throw error instanceof UploadError ? refusedForm(error, limits.maxBytes) : error;
  }
}

function refusedForm({ problem }: UploadError, maxBytes: number): AppError {
  switch (problem) {
    case 'too_large': {
      const limit = maxBytes === MAX_FORM_BYTES ? '2 MiB' : '16 KiB';
      return new AppError(413, `The form is larger than ${limit}. Nothing was saved.`);
    }
    case 'aborted':
      return new AppError(400, 'The form did not arrive completely. Nothing was saved. Send it again.');
    case 'too_slow':
      return new AppError(408, 'The form took too long to arrive. Nothing was saved. Send it again.');
    case 'no_room':
      return new AppError(
        503,
        'Tidings is busy. Nothing was saved. Wait a few seconds, then send the form again.',
        { isRefusal: true },
      );
  }
}

/** A page that says what went wrong. Our own failures are logged whole, and told by the id that the log has. */
function troubleAbout({ log }: Pick<DashboardDeps, 'log'>, request: Request, error: unknown): View {
  if (error instanceof AppError && error.isRefusal) {
    const { status, message, headers } = error;
    const title = status === 404 ? 'Not found' : 'That did not work';
    return view(title, Trouble({ status, message }), { status, headers });
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
