import type { CreateHookOption, EditHookOption } from 'forgejo-js';
import { deliver } from './deliver.ts';
import type { Answer, Context } from './operations.ts';
import { refuse, type StoredHook, type StoredRepository } from './state.ts';
import { hookView, testHook } from './views.ts';

const PULL_EVENTS = [
  'pull_request',
  'pull_request_assign',
  'pull_request_comment',
  'pull_request_label',
  'pull_request_milestone',
  'pull_request_review_request',
  'pull_request_sync',
];
const OTHER_EVENTS = ['push', 'release', 'create', 'delete', 'fork', 'issues', 'repository', 'wiki'];

let lastHook = 500;

/** The routes below `/repos/{owner}/{repo}/hooks`. */
export async function answerHooks(
  context: Context,
  repository: StoredRepository,
  below: string,
): Promise<Answer> {
  const { world, token, method } = context;
  if (token === null) return refuse(401, 'token is required');
  if (repository.rights[token.user] !== 'admin') {
    return refuse(403, 'user should be an owner or a collaborator with admin write of a repository');
  }
  if (!world.hasWebhooks) return refuse(403, 'webhooks disabled by administrator');
  const view = (hook: StoredHook) => hookView(world, repository, hook);
  if (below === '' && method === 'GET') {
    return { status: 200, list: repository.hooks.map(view), hasLink: false };
  }
  if (below === '' && method === 'POST') {
    const hook = makeHook(context, context.body as unknown as CreateHookOption);
    repository.hooks.push(hook);
    return { status: 201, body: view(hook) };
  }
  const [, id, rest] = /^\/(\d+)(\/tests)?$/.exec(below) ?? [];
  const hook = repository.hooks.find((each) => String(each.id) === id);
  if (hook === undefined) return refuse(404, "The target couldn't be found.");
  if (rest !== undefined && method === 'POST') {
    const [head] = repository.commits;
    if (head !== undefined) {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      world.pending.add(promise);
      // Forgejo answers first.
      setImmediate(() => resolve(deliver(world, hook, 'push', testHook(world, repository, head))));
    }
    return { status: 204 };
  }
  if (method === 'DELETE') {
    repository.hooks.splice(repository.hooks.indexOf(hook), 1);
    return { status: 204 };
  }
  if (method === 'PATCH') setHook(hook, context.body as EditHookOption);
  return { status: 200, body: view(hook) };
}

function makeHook({ world }: Context, body: CreateHookOption): StoredHook {
  const { type, config, active = false } = body;
  const isKnown = type === 'gitea' || (type === 'forgejo' && !world.isGitea);
  if (!isKnown) return refuse(422, `Invalid hook type: ${type}`);
  const settings = { ...(config as Record<string, string>) };
  for (const name of ['url', 'content_type']) {
    if (settings[name] === undefined) return refuse(422, `Missing config option: ${name}`);
  }
  const hook: StoredHook = {
    id: ++lastHook,
    type,
    secret: settings.secret ?? '',
    url: '',
    contentType: 'json',
    events: [],
    isActive: active,
    deliveries: [],
  };
  setHook(hook, body as EditHookOption);
  return hook;
}

/** Leaves the secret as it is, without a word. */
function setHook(hook: StoredHook, { config = {}, events = ['push'], active }: EditHookOption): void {
  const { url = hook.url, content_type: contentType = hook.contentType } = config;
  if (!/^https?:\/\/[^/]/.test(url)) refuse(422, 'Invalid url');
  if (!/^(json|form)$/.test(contentType)) refuse(422, 'Invalid content type');
  const isListening = (event: string) =>
    events.includes(event) ||
    (event === 'pull_request' && events.includes('pull_request_only')) ||
    (PULL_EVENTS.includes(event) && events.includes('pull_request'));
  hook.url = url;
  hook.contentType = contentType as StoredHook['contentType'];
  hook.events = [...OTHER_EVENTS, ...PULL_EVENTS].filter(isListening);
  hook.isActive = active ?? hook.isActive;
}
