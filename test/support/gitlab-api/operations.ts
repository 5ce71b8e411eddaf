import { deliver } from './deliver.ts';
import {
  GitlabRefusal,
  refuse,
  type StoredHook,
  type StoredProject,
  type StoredToken,
  type World,
} from './state.ts';
import {
  attemptView,
  branchView,
  commitView,
  diffView,
  hookView,
  mergeRequestView,
  projectView,
  releaseView,
  testPushHook,
} from './views.ts';

/** The input of an operation. */
export interface Context {
  world: World;
  token: StoredToken | null;
  method: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
}

export type Answer = { status: number; body?: unknown; list?: unknown[] };

const MAINTAINER = 40;
const FLAGS = [
  'push_events',
  'merge_requests_events',
  'releases_events',
  'tag_push_events',
  'issues_events',
  'confidential_issues_events',
  'note_events',
  'confidential_note_events',
  'job_events',
  'pipeline_events',
  'wiki_page_events',
  'deployment_events',
  'feature_flag_events',
  'resource_access_token_events',
];

/** The answer to a request below `/api/v4`. Throws `GitlabRefusal`. */
export async function answer(context: Context, path: string): Promise<Answer> {
  if (path === '/projects') return listProjects(context);
  if (path === '/personal_access_tokens/self') {
    if (context.token === null) return refuse(401, '401 Unauthorized');
    return {
      status: 200,
      body: { active: true, revoked: false, expires_at: context.token.expiresAt ?? null },
    };
  }
  const [, id = '', below = ''] = /^\/projects\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  if (id === '') throw new GitlabRefusal(404, { error: '404 Not Found' });
  const project = findProject(context, decodeURIComponent(id), below);
  if (below === '') return { status: 200, body: projectView(context.world, project) };
  if (below.startsWith('/hooks')) return await answerHooks(context, project, below.slice('/hooks'.length));
  return readProject(context, project, below);
}

function listProjects({ world, token, query }: Context): Answer {
  if (token === null) return { status: 200, list: [] };
  const level = Number(query.get('min_access_level') ?? 0);
  const seen = world.projects.filter(
    ({ roles, isArchived }) =>
      (roles[token.user] ?? 0) >= level && String(isArchived) === query.get('archived'),
  );
  return { status: 200, list: seen.map((each) => projectView(world, each)) };
}

function findProject({ world, token, method }: Context, id: string, below: string): StoredProject {
  const same = (text: string) => text.toLowerCase() === id.toLowerCase();
  const found = world.projects.find((each) => String(each.id) === id || same(each.path));
  const former = world.projects.find(({ formerPaths }) => formerPaths.some(same));
  const project = found ?? former;
  const isSeen =
    project?.visibility === 'public' || (token !== null && project?.roles[token.user] !== undefined);
  if (project === undefined || !isSeen) return refuse(404, '404 Project Not Found');
  if (found !== undefined) return found;
  if (method !== 'GET') return refuse(405, 'Non GET methods are not allowed for moved projects');
  const location = `${world.web}/api/v4/projects/${project.id}${below}`;
  throw new GitlabRefusal(301, { message: 'moved' }, { location });
}

async function answerHooks(context: Context, project: StoredProject, below: string): Promise<Answer> {
  const { world, token, method, body } = context;
  if (token === null) return refuse(401, '401 Unauthorized');
  if (method !== 'GET' && !token.scopes.includes('api')) {
    throw new GitlabRefusal(403, {
      error: 'insufficient_scope',
      error_description: 'The request requires higher privileges than provided by the access token.',
      scope: 'api',
    });
  }
  if ((project.roles[token.user] ?? 0) < MAINTAINER) return refuse(403, '403 Forbidden');
  const view = (hook: StoredHook) => hookView(world, project, hook);
  if (below === '' && method === 'GET') return { status: 200, list: project.hooks.map(view) };
  if (below === '') return { status: 201, body: view(makeHook(world, project, body)) };
  const [, hookId, rest = ''] = /^\/(\d+)(\/.*)?$/.exec(below) ?? [];
  const hook = project.hooks.find((each) => String(each.id) === hookId);
  if (hook === undefined) return refuse(404, '404 Not found');
  if (rest === '') {
    if (method === 'PUT') setHook(world, hook, body);
    if (method === 'DELETE') project.hooks.splice(project.hooks.indexOf(hook), 1);
    return method === 'DELETE' ? { status: 204 } : { status: 200, body: view(hook) };
  }
  if (rest === '/events') return { status: 200, list: hook.attempts.map((each) => attemptView(hook, each)) };
  const [, attemptId] = /^\/events\/(\d+)\/resend$/.exec(rest) ?? [];
  if (attemptId !== undefined) {
    const attempt = hook.attempts.find(({ id }) => String(id) === attemptId);
    if (attempt === undefined) return refuse(404, '404 Not found');
    requireResends(world, hook);
    const { header, payload, requestHeaders } = attempt;
    const { status } = await deliver(world, hook, header, payload, requestHeaders['Idempotency-Key']);
    return { status: 201, body: { response_status: Number(status) } };
  }
  return await testHook(world, project, hook, rest);
}

/** GitLab sends five deliveries of a webhook again in a minute. */
const MAX_RESENDS = 5;
const resends = new WeakMap<StoredHook, number[]>();

/** Throws GitLab's 429. */
function requireResends({ clock }: World, hook: StoredHook): void {
  const now = clock.now().getTime();
  const recent = (resends.get(hook) ?? []).filter((at) => now - at < 60_000);
  if (recent.length >= MAX_RESENDS) {
    const error = 'This endpoint has been requested too many times. Try again later.';
    throw new GitlabRefusal(429, { message: { error } });
  }
  resends.set(hook, [...recent, now]);
}

async function testHook(
  world: World,
  project: StoredProject,
  hook: StoredHook,
  rest: string,
): Promise<Answer> {
  if (rest !== '/test/push_events') throw new GitlabRefusal(404, { error: '404 Not Found' });
  if (project.commits.length === 0) return refuse(422, 'Ensure the project has at least one commit.');
  await deliver(world, hook, 'Push Hook', testPushHook(world, project));
  return { status: 201, body: { message: '201 Created' } };
}

let lastHook = 500;

function makeHook(world: World, project: StoredProject, body: Record<string, unknown>): StoredHook {
  const hook: StoredHook = {
    id: ++lastHook,
    url: '',
    flags: Object.fromEntries(FLAGS.map((flag) => [flag, flag === 'push_events'])),
    token: null,
    signingToken: null,
    alertStatus: 'executable',
    createdAt: world.clock.now().toISOString(),
    attempts: [],
  };
  setHook(world, hook, body);
  project.hooks.push(hook);
  return hook;
}

function setHook(world: World, hook: StoredHook, body: Record<string, unknown>): void {
  const { url = hook.url, token, signing_token: signing } = body;
  const host = URL.parse(String(url))?.hostname;
  const isBlocked = !world.allowLocal && /^(localhost|127\.|10\.|192\.168\.)/.test(host ?? '');
  if (host === undefined || isBlocked) throw new GitlabRefusal(422, { error: 'Invalid url given' });
  if (world.canSign && signing !== undefined && !/^whsec_[\w+/]{43}=$/.test(String(signing))) {
    refuse(422, { signing_token: ['must be a 32-byte key in base64 after whsec_'] });
  }
  // Another URL resets the token that a change leaves out.
  if (url !== hook.url) Object.assign(hook, { token: null, signingToken: null });
  hook.url = String(url);
  if (token !== undefined) hook.token = String(token) || null;
  if (world.canSign && signing !== undefined) hook.signingToken = String(signing);
  for (const flag of FLAGS) if (typeof body[flag] === 'boolean') hook.flags[flag] = body[flag];
}

/** The part of GitLab's API that reads what a project shipped. */
function readProject({ world, query }: Context, project: StoredProject, below: string): Answer {
  /** GitLab sorts by what is asked for, the newest first unless told otherwise. */
  const sorted = <Item>(newest: Item[]) => (query.get('sort') === 'asc' ? newest.toReversed() : newest);
  if (below === '/releases') {
    const newest = project.releases.toSorted((a, b) => (a.releasedAt < b.releasedAt ? 1 : -1));
    return { status: 200, list: sorted(newest).map((each) => releaseView(world, project, each)) };
  }
  if (below === '/merge_requests') {
    if (query.get('state') !== 'merged') return refuse(400, 'the stand-in lists merged ones only');
    const merged = project.mergeRequests.filter(({ state }) => state === undefined);
    const newest = merged.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    return { status: 200, list: sorted(newest).map((each) => mergeRequestView(world, project, each)) };
  }
  const iid = /^\/merge_requests\/(\d+)$/.exec(below)?.[1];
  if (iid !== undefined) {
    const request = project.mergeRequests.find((each) => String(each.iid) === iid);
    if (request === undefined) return refuse(404, '404 Not found');
    const { base, sha } = request;
    const diff_refs = base === undefined ? null : { base_sha: base, head_sha: sha, start_sha: base };
    return { status: 200, body: { ...mergeRequestView(world, project, request), diff_refs } };
  }
  const listed = /^\/merge_requests\/(\d+)\/diffs$/.exec(below)?.[1];
  if (listed !== undefined) {
    const request = project.mergeRequests.find((each) => String(each.iid) === listed);
    if (request === undefined) return refuse(404, '404 Not found');
    const [to, from] = [request.sha, request.base].map((sha) =>
      project.commits.findIndex(({ id }) => id === sha),
    );
    const own = project.commits.slice(to, from).flatMap(({ files }) => files);
    return { status: 200, list: own.map(diffView) };
  }
  const [head] = project.commits;
  const branch = /^\/repository\/branches\/([^/]+)$/.exec(below)?.[1];
  if (branch !== undefined) {
    const isKnown = decodeURIComponent(branch) === project.defaultBranch && head !== undefined;
    return isKnown
      ? { status: 200, body: branchView(world, project, head) }
      : refuse(404, '404 Branch Not Found');
  }
  const changing = /^\/repository\/commits\/([^/]+)\/diff$/.exec(below)?.[1];
  if (changing !== undefined) {
    const commit = project.commits.find(({ id }) => id === changing);
    if (commit === undefined) return refuse(404, '404 Commit Not Found');
    return { status: 200, list: commit.files.map(diffView) };
  }
  if (below !== '/repository/commits') throw new GitlabRefusal(404, { error: '404 Not Found' });
  const [first = '', second] = (query.get('ref_name') ?? '').split('..');
  const [from, to] = [second === undefined ? null : first, second ?? first];
  const indexOf = (ref: string) =>
    project.commits.findIndex(
      ({ id }) => id === (project.tags[ref] ?? (ref === project.defaultBranch ? head?.id : ref)),
    );
  const [newest, oldest] = [indexOf(to), from === null ? project.commits.length : indexOf(from)];
  if (newest === -1 || oldest === -1) return refuse(404, '404 Commit Not Found');
  const path = query.get('path');
  const isTouching = (file: string) => path === null || file === path || file.startsWith(`${path}/`);
  const range = project.commits.slice(newest, oldest).filter(({ files }) => files.some(isTouching));
  return { status: 200, list: range.map((each) => commitView(world, project, each)) };
}
