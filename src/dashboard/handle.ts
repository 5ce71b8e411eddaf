import type { Actor } from '../audit/model.ts';
import { clientAddress as addressOf } from '../http/client-address.ts';
import { requestIdOf } from '../http/request.ts';
import {
  download as downloadResponse,
  pageData,
  page as pageResponse,
  seeOther,
  streamedPage,
} from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import { DAY_MS } from '../lib/time.ts';
import { countDraftsToReview, countSuggestions } from '../posts/list-store.ts';
import { findProgress } from '../triggers/progress-store.ts';
import { countFailedRuns } from '../triggers/queue-store.ts';
import type { Guard } from '../users/guard.ts';
import { hashOf } from '../users/secret.ts';
import {
  BROWSER_MS,
  completeSignIn,
  findSignedIn,
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
import { readPreferences, writePreferences } from './preferences.ts';
import { streamPage } from './stream.tsx';
import { readBody, requireSameOrigin } from './submission.ts';
import { type Notice, renderFragment, renderPage, type View } from './view/document.tsx';
import type { Frame } from './view/side.tsx';
import { databaseAwayPage, signedOutPage, troublePage } from './view/trouble.tsx';

const MAX_USER_AGENT_LENGTH = 200;

/** Returns a function from a page to its route handler. Failures become pages too. */
export function createHandler(deps: DashboardDeps, guard: Guard) {
  return (page: Page) =>
    async ({ request, params }: { request: Request; params: Record<string, string> }): Promise<Response> => {
      const cookies = cookiesOf(request, deps.publicUrl().startsWith('https:'));
      const notice = readNotice(cookies.get('notice'));
      // Bun forgets the address when the connection closes: read it before the first await.
      const clientAddress = addressOf(request.headers, deps.peerAddress(request), deps.clientIpHeader);
      const address = clientAddress === 'unknown' ? null : clientAddress;
      const userAgent = request.headers.get('user-agent')?.slice(0, MAX_USER_AGENT_LENGTH) ?? null;
      const client: Client = { address, userAgent };
      let visit: Visit = {
        deps: actingAs(deps, { type: 'anonymous', id: null, name: null, address }),
        guard,
        request,
        clientAddress,
        url: new URL(request.url, 'http://localhost'),
        params,
        form: new URLSearchParams(),
        user: null,
        memberships: [],
        sessionHash: '',
        knownBrowser: cookies.get('browser'),
        look: readPreferences(cookies.get('look'), cookies.get('zone')),
      };
      let answer: Answer;
      try {
        if (page.method === 'POST') requireSameOrigin(request);
        const token = cookies.get('session');
        const signedIn = token === null ? null : await findSignedIn(deps, token, client);
        if (token !== null && signedIn !== null) {
          const { user, memberships, extendedMs } = signedIn;
          const asUser = actingAs(deps, { type: 'user', id: user.id, name: user.email, address });
          visit = { ...visit, user, memberships, sessionHash: hashOf(token), deps: asUser };
          if (extendedMs !== null) cookies.set('session', token, extendedMs);
        }
        const admitted = await admit(page, visit);
        if ('kind' in admitted) answer = admitted;
        else {
          visit = admitted;
          if (page.method === 'POST' && page.isUpload !== true) {
            visit.form = await readBody(page.access === 'anyone' ? 'anyone' : 'user', visit);
          }
          if (page.path.includes('/integrations/')) deps.extendTimeout?.(request);
          answer = await page.handle(visit as never);
        }
        if (answer.kind === 'redirect') {
          const { session, remember, to } = answer;
          const browser = session
            ? await completeSignIn(deps, session, client)
            : remember && (await rememberBrowser(deps, remember));
          if (session !== undefined) cookies.set('session', session ?? '', session === null ? 0 : SESSION_MS);
          if (browser) cookies.set('browser', browser, BROWSER_MS);
          if (answer.preferences) cookies.set('look', writePreferences(answer.preferences), LOOK_MS);
          if (answer.done !== undefined) cookies.set('notice', writeNotice(answer), NOTICE_MS);
          return seeOther(to, cookies.changes());
        }
      } catch (error) {
        answer = troubleAbout(deps, request, error);
      }
      if (answer.kind === 'data') return pageData(answer.value, answer.status, cookies.changes());
      if (answer.kind === 'download') return downloadResponse(answer, cookies.changes());
      if (answer.kind === 'fragment') {
        return pageResponse(renderFragment(answer, visit.look), 200, cookies.changes());
      }
      if (notice !== null) cookies.set('notice', '', 0);
      let html: string;
      try {
        html = renderPage(answer, await frameOf(visit), notice, visit.look);
      } catch (error) {
        // Without the navigation, which may be what failed.
        answer = troubleAbout(deps, request, error);
        html = renderPage(answer, null, notice, visit.look);
      }
      const { pieces, status = 200, headers } = answer;
      if (pieces === undefined) return pageResponse(html, status, cookies.changes(), headers);
      const describe = (error: unknown) => describeTrouble(deps, request, error);
      const body = streamPage(html, pieces, { look: visit.look, signal: request.signal, describe });
      return streamedPage(body, status, cookies.changes(), headers);
    };
}

function actingAs(deps: DashboardDeps, actor: Actor): DashboardDeps {
  return {
    ...deps,
    actor,
    get keys() {
      return deps.keys.as(actor);
    },
  };
}

/** The visit as the page needs it, or an answer instead: a person without a session signs in first and comes back. */
async function admit(page: Page, visit: Visit): Promise<Visit | MemberVisit | View | Redirect> {
  const { user, url, params, memberships } = visit;
  if (page.access === 'anyone') return visit;
  if (user === null) {
    if (page.method === 'POST') return askToSignIn(visit);
    return redirect(`/dashboard/~/sign-in?to=${encodeURIComponent(url.pathname + url.search)}`);
  }
  const userVisit: UserVisit = { ...visit, user };
  if (page.access === 'user') return userVisit;
  const membership = memberships.find(({ organization }) => organization.id === params.organizationId);
  // Another's organization does not exist either.
  if (membership === undefined) throw new AppError(404, 'Page not found.');
  const { organization, role } = membership;
  if (page.access === 'owner' && role !== 'owner') {
    throw new AppError(403, `Only owners of ${organization.name} can do this. Ask one of them.`);
  }
  return { ...userVisit, organization, role, base: `/dashboard/${organization.id}` };
}

/** Signing in leads back to a GET, which would lose the form. */
async function askToSignIn(visit: Visit): Promise<View> {
  const form = await readBody('anyone', visit).catch((error) => {
    // Too large, or a file.
    if (error instanceof AppError && (error.status === 413 || error.status === 415)) return null;
    throw error;
  });
  return signedOutPage(visit.url.pathname + visit.url.search, form);
}

async function frameOf(visit: Visit): Promise<Frame | null> {
  if (!('organization' in visit)) return null;
  const member = visit as MemberVisit;
  const { deps, organization, memberships, request, url } = member;
  const [drafts, suggestions, failedRuns, progress] = await deps.db.read((tx) =>
    Promise.all([
      countDraftsToReview(tx, organization.id),
      countSuggestions(tx, organization.id),
      countFailedRuns(tx, organization.id),
      findProgress(tx, organization.id),
    ]),
  );
  return {
    ...member,
    mayCreateOrganization: mayCreateOrganization(deps.organizationCreation, memberships),
    drafts,
    suggestions,
    failedRuns,
    // Keys do not count: Unkey may have them, and every page would have to ask it.
    hasUnfinishedSteps: Object.values(progress).includes(false),
    // The address of a form may have no page.
    path: request.method === 'POST' ? member.base : url.pathname + url.search,
  };
}

/** A page about a failure. */
function troubleAbout(deps: Pick<DashboardDeps, 'log'>, request: Request, error: unknown): View {
  const known = error instanceof AppError ? error : null;
  if (known?.code === 'database_unavailable') return databaseAwayPage(request.method, known);
  return troublePage(
    known?.status ?? 500,
    describeTrouble(deps, request, error),
    known?.isRefusal ? known.headers : {},
  );
}

/** A sentence about a failure. Failures of Tidings are logged in full, and the sentence has only the id of the log line. */
function describeTrouble({ log }: Pick<DashboardDeps, 'log'>, request: Request, error: unknown): string {
  const known = error instanceof AppError ? error : null;
  if (known?.isRefusal) return known.message;
  const requestId = requestIdOf(request);
  log.error({ requestId, method: request.method, err: error }, 'request failed');
  return known?.message ?? `Tidings failed to process the request. Look for ${requestId} in the server log.`;
}

const MAX_NOTICE_LENGTH = 300;
const NOTICE_MS = 60_000;
const LOOK_MS = 400 * DAY_MS;

/** The sentence, and after a line break the path that takes it back. */
function writeNotice({ done = '', undo }: Redirect): string {
  const text = done.replaceAll('\n', ' ').slice(0, MAX_NOTICE_LENGTH);
  return undo === undefined ? text : `${text}\n${undo}`;
}

/**
 * What "Undo" may do. Over plain http, others can set cookies, and it must not become the button of any other form; each
 * of these can be taken back.
 */
const UNDO = [
  /^\/dashboard\/[\w-]+\/posts\/~\/trash\/restore\?ids=[\w-]+(?:\.[\w-]+)*$/,
  /^\/dashboard\/[\w-]+\/posts\/[\w-]+\/versions\/[\w-]+\/restore$/,
  /^\/dashboard\/[\w-]+\/posts\/[\w-]+\/schedule\/cancel$/,
];

function readNotice(cookie: string | null): Notice | null {
  if (cookie === null || cookie === '') return null;
  const [text = '', undo = ''] = cookie.split('\n');
  return { text, undo: UNDO.some((path) => path.test(undo)) ? undo : null };
}

/** Browsers take a `__Host-` cookie from this host over https alone, never from a subdomain or over http. */
function cookiesOf(request: Request, isSecure: boolean) {
  const cookies = new Bun.CookieMap(request.headers.get('cookie') ?? '');
  type Name = 'session' | 'browser' | 'notice' | 'look' | 'zone';
  // The script sets the zone.
  const fullName = (name: Name) => `${isSecure && name !== 'zone' ? '__Host-' : ''}tidings_${name}`;
  return {
    get: (name: Name) => cookies.get(fullName(name)),
    set(name: Name, value: string, maxAgeMs: number): void {
      const maxAge = Math.floor(maxAgeMs / 1000);
      const options = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure, maxAge } as const;
      cookies.set(fullName(name), value, options);
    },
    changes: () => cookies.toSetCookieHeaders(),
  };
}
