import { readIfAllowed, requireStillAllowed } from '../../db/checked.ts';
import { knownFailure } from '../../db/failures.ts';
import { findProgress } from '../drafting/triggers/progress-store.ts';
import { clientAddress as addressOf, requestIdOf } from '../http/request.ts';
import {
  download as downloadResponse,
  pageData,
  page as pageResponse,
  seeOther,
  streamedPage,
} from '../http/respond.ts';
import { type AccessEnded, AppError } from '../lib/app-error.ts';
import { DAY_MS, freeTurns } from '../lib/time.ts';
import { countAttention, shownTo } from '../people/attention.ts';
import type { Actor } from '../people/audit.ts';
import type { Guard } from '../people/guard.ts';
import { hashOf } from '../people/passwords.ts';
import {
  mayPublish,
  type Permission,
  permitted,
  requireRole,
  SECOND_FACTOR,
  SIGNED_OUT,
} from '../people/permission.ts';
import {
  BROWSER_MS,
  completeSignIn,
  findSignedIn,
  mayCreateOrganization,
  rememberBrowser,
  SESSION_MS,
} from '../people/sessions.ts';
import type { Client } from '../people/store.ts';
import { countDraftsToReview, countSuggestions } from '../posts/list-store.ts';
import {
  type Answer,
  type DashboardDeps,
  type MemberVisit,
  type Page,
  type Redirect,
  readPreferences,
  redirect,
  type UserVisit,
  type Visit,
  writePreferences,
} from './page.ts';
import { FLOW_MS } from './sealed.ts';
import { mayBeKept, readBody, requireSameOrigin } from './submission.ts';
import {
  databaseAwayPage,
  type Notice,
  renderFragment,
  renderPage,
  signedOutPage,
  streamPage,
  troublePage,
  type View,
} from './view/document.tsx';
import { hrefOf } from './view/elements.tsx';
import type { Frame } from './view/frame.tsx';

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
      const asStranger: Visit = {
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
        flow: cookies.get('flow'),
        look: readPreferences(cookies.get('look'), cookies.get('zone')),
      };
      let visit = asStranger;
      /** Set by the first check of the visit's services that fails: whatever the page makes of it, this is the answer. */
      let ended: AccessEnded | null = null;
      const end = (refusal: AccessEnded) => {
        ended ??= refusal;
      };

      const token = cookies.get('session');
      async function enter(form = asStranger.form) {
        const signedIn = token === null ? null : await findSignedIn(deps, token, client);
        if (token === null || signedIn === null) return { ...asStranger, form };
        const { user, memberships, extendedMs } = signedIn;
        const asUser = actingAs(deps, { type: 'user', id: user.id, name: user.email, address });
        if (extendedMs !== null) cookies.set('session', token, extendedMs);
        return { ...asStranger, form, user, memberships, sessionHash: hashOf(token), deps: asUser };
      }

      async function respond(): Promise<Answer> {
        if (page.method === 'POST') requireSameOrigin(request);
        const isForm = page.method === 'POST' && page.isUpload !== true;
        // A small form is read before its sender is known, who is then looked up once.
        const small = isForm && mayBeKept(request) ? readBody('anyone', asStranger) : null;
        await small?.catch(() => undefined);
        const arrived = await enter();
        let admitted = admit(page, arrived, end);
        if (admitted === null) {
          const form =
            page.method === 'GET' ? null : await strangersForm(small ?? readBody('anyone', arrived));
          return askToSignIn(page, arrived, form);
        }
        if (small !== null) admitted = { ...admitted, form: await small };
        else if (isForm) {
          const form = await readBody(page.access === 'anyone' ? 'anyone' : 'user', admitted);
          // Much may have ended while the form arrived.
          admitted = admit(page, await enter(form), end);
          if (admitted === null) return askToSignIn(page, arrived, null);
        }
        visit = admitted;
        if (page.path.includes('/integrations/')) deps.extendTimeout?.(request);
        return page.handle(visit as never);
      }

      function failed(error: unknown): Answer {
        const isAsked = error instanceof AppError && error.code === SECOND_FACTOR;
        if (isAsked && page.method === 'GET') {
          const { pathname, search } = asStranger.url;
          return redirect(`/dashboard/~/passkeys/confirm?to=${encodeURIComponent(pathname + search)}`);
        }
        if (ended === null) return troubleAbout(deps, request, error);
        const { form } = visit;
        visit = asStranger;
        if (ended.code !== SIGNED_OUT) return troubleAbout(deps, request, ended);
        return askToSignIn(page, asStranger, mayBeKept(request) && page.isUpload !== true ? form : null);
      }

      let answer: Answer;
      try {
        answer = await respond();
        if (ended !== null) throw ended;
        if (answer.kind === 'redirect') {
          const { session, remember } = answer;
          const browser = session
            ? await completeSignIn(asStranger.deps, session, client, token)
            : remember && (await rememberBrowser(deps, remember));
          if (session !== undefined) cookies.set('session', session ?? '', session === null ? 0 : SESSION_MS);
          if (browser) cookies.set('browser', browser, BROWSER_MS);
          if (answer.flow !== undefined)
            cookies.set('flow', answer.flow ?? '', answer.flow === null ? 0 : FLOW_MS);
          if (answer.preferences) cookies.set('look', writePreferences(answer.preferences), LOOK_MS);
          if (answer.done !== undefined) cookies.set('notice', writeNotice(answer), NOTICE_MS);
        }
        if (answer.kind === 'view' && answer.isSignedOut) cookies.set('session', '', 0);
      } catch (error) {
        answer = failed(error);
      }
      let frame: Frame | null = null;
      if (answer.kind === 'view') {
        try {
          frame = await frameOf(visit);
        } catch (error) {
          // Without the navigation, which may be what failed.
          answer = failed(error);
        }
      }
      if (answer.kind === 'redirect') return seeOther(hrefOf(visit, answer.to), cookies.changes());
      if (answer.kind === 'data') return pageData(answer.value, answer.status, cookies.changes());
      if (answer.kind === 'download') return downloadResponse(answer, cookies.changes());
      if (answer.kind === 'fragment') {
        return pageResponse(renderFragment(answer, visit), 200, cookies.changes());
      }
      if (notice !== null) cookies.set('notice', '', 0);
      // Readers of lists come before the rendering, which holds the thread for milliseconds. A form that goes on arriving
      // takes memory, so its answer comes first.
      if (page.method === 'GET') await freeTurns();
      let html: string;
      try {
        html = renderPage(answer, visit, frame, notice);
      } catch (error) {
        answer = troubleAbout(deps, request, error);
        html = renderPage(answer, visit, null, notice);
      }
      const { pieces, status = 200, headers } = answer;
      if (pieces === undefined) return pageResponse(html, status, cookies.changes(), headers);
      const describe = (error: unknown) => describeTrouble(deps, request, error);
      const body = streamPage(html, pieces, visit, describe);
      return streamedPage(body, status, cookies.changes(), headers);
    };
}

function actingAs(deps: DashboardDeps, actor: Actor): DashboardDeps {
  return {
    ...deps,
    actor,
    get keys() {
      return deps.keys.as({ actor });
    },
  };
}

/** The visit, with services for what it may do. Null for a page that needs a session. Throws `AppError` 403 and 404. */
function admit(
  page: Page,
  visit: Visit,
  onEnd: (refusal: AccessEnded) => void,
): Visit | UserVisit | MemberVisit | null {
  const { user, params, memberships, sessionHash } = visit;
  if (user === null) return page.access === 'anyone' ? visit : null;
  const permit = (membership: Permission['membership']): DashboardDeps => {
    const allowed = permitted(visit.deps, { sessionHash, membership }, onEnd);
    const self: DashboardDeps['self'] = async (sent) => {
      await requireStillAllowed(allowed.db);
      return visit.deps.self(sent);
    };
    return { ...allowed, self };
  };
  if (page.access === 'anyone' || page.access === 'user') return { ...visit, user, deps: permit(null) };
  const found = memberships.find(({ organization }) => organization.id === params.organizationId);
  const organization = found?.organization ?? { id: '', name: '' };
  const needed = { organization, needs: page.access };
  requireRole(found?.isBlocked ? 'blocked' : found?.role, needed);
  const isOwner = found?.role === 'owner';
  const base = `/dashboard/${organization.id}`;
  const may = { isOwner, mayPublish: mayPublish(found?.role) };
  return { ...visit, ...found, user, ...may, deps: permit(needed), base };
}

/** Null for a form that is too large to be read without a session, or a file. */
function strangersForm(reading: Promise<URLSearchParams>): Promise<URLSearchParams | null> {
  return reading.catch((error) => {
    if (error instanceof AppError && (error.status === 413 || error.status === 415)) return null;
    throw error;
  });
}

/** Signing in leads back to a GET, which would lose the form. */
function askToSignIn(page: Page, { url }: Visit, form: URLSearchParams | null): View | Redirect {
  const path = url.pathname + url.search;
  if (page.method === 'POST') return signedOutPage(path, form);
  return redirect(`/dashboard/~/sign-in?to=${encodeURIComponent(path)}`);
}

async function frameOf(visit: Visit): Promise<Frame | null> {
  if (!('organization' in visit)) return null;
  const { deps, organization, memberships } = visit as MemberVisit;
  const [drafts, suggestions, attention, progress] = await readIfAllowed(deps.db, (tx) =>
    Promise.all([
      countDraftsToReview(tx, organization.id),
      countSuggestions(tx, organization.id),
      countAttention(tx, shownTo(visit as MemberVisit), deps.clock.now()),
      findProgress(tx, organization.id),
    ]),
  );
  return {
    mayCreateOrganization: mayCreateOrganization(deps.organizationCreation, memberships),
    drafts,
    suggestions,
    attention,
    // Keys do not count: Unkey may have them, and every page would have to ask it.
    hasUnfinishedSteps: Object.values(progress).includes(false),
  };
}

function troubleAbout(deps: Pick<DashboardDeps, 'log'>, request: Request, error: unknown): View {
  const known = knownFailure(error);
  if (known?.code === 'database_unavailable') return databaseAwayPage(request.method, known);
  return troublePage(known?.status ?? 500, describeTrouble(deps, request, error), known?.headers);
}

/** A sentence about a failure. Failures of Tidings are logged in full, and the sentence has only the id of the log line. */
function describeTrouble({ log }: Pick<DashboardDeps, 'log'>, request: Request, error: unknown): string {
  const known = knownFailure(error);
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

/** Forms that "Undo" may send. Others can set cookies over http, so it must not become the button of any other form. */
const UNDO = [
  /^\/dashboard\/[\w-]+\/posts\/~\/trash\/restore\?ids=[\w-]+(?:\.[\w-]+)*(?:&seen=[\w%.-]+)?$/,
  /^\/dashboard\/[\w-]+\/posts\/[\w-]+\/versions\/[\w-]+\/restore(?:\?seen=[\w%.-]+)?$/,
  /^\/dashboard\/[\w-]+\/posts\/[\w-]+\/schedule\/cancel(?:\?seen=[\w%.-]+)?$/,
  /^\/dashboard\/[\w-]+\/integrations\/[\w-]+\/triggers\/[\w-]+\/versions\/[\w-]+\/restore(?:\?seen=[\w%.-]+)?$/,
];

function readNotice(cookie: string | null): Notice | null {
  if (cookie === null || cookie === '') return null;
  const [text = '', undo = ''] = cookie.split('\n');
  return { text, undo: UNDO.some((path) => path.test(undo)) ? undo : null };
}

/** Browsers take a `__Host-` cookie from this host over https alone, never from a subdomain or over http. */
function cookiesOf(request: Request, isSecure: boolean) {
  const cookies = new Bun.CookieMap(request.headers.get('cookie') ?? '');
  type Name = 'session' | 'browser' | 'flow' | 'notice' | 'look' | 'zone';
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
