import { createFromManifest, install, type Manifest } from './apps.ts';
import type { World } from './world.ts';

// The pages of github.com on which a person creates and installs an App.

/** The response of a page; null for any other path. */
export async function appPage(world: World, request: Request): Promise<Response | null> {
  const url = new URL(request.url);
  const [, organization] = /^\/organizations\/([^/]+)\/settings\/apps\/new$/.exec(url.pathname) ?? [];
  if (organization !== undefined || url.pathname === '/settings/apps/new') {
    return registrationPage(world, request, url, organization);
  }
  const [, slug] = /^\/apps\/([^/]+)\/installations\/new$/.exec(url.pathname) ?? [];
  return slug === undefined ? null : installationPage(world, request, slug);
}

/** The first request brings the manifest, the second one the name that the person agreed to. */
async function registrationPage(world: World, request: Request, url: URL, organization: string | undefined) {
  const fields = new URLSearchParams(await request.text());
  const text = fields.get('manifest');
  if (request.method !== 'POST' || text === null)
    return page('Register new GitHub App', '<p>Not a manifest.</p>', 422);
  const manifest = JSON.parse(text) as Manifest;
  const problem = problemOf(manifest, world);
  if (problem !== null)
    return page('Register new GitHub App', `<p role="alert">${escaped(problem)}</p>`, 422);
  const name = fields.get('name');
  if (name === null) {
    const form = `<form method="post"><input type="hidden" name="manifest" value="${escaped(text)}">
      <label>GitHub App name <input name="name" value="${escaped(manifest.name)}" maxlength="34" required></label>
      <button>Create GitHub App</button></form>`;
    return page('Create GitHub App from manifest', form);
  }
  const account = { owner: organization ?? 'ann', isOrganization: organization !== undefined };
  const code = createFromManifest(world, { ...manifest, name }, account);
  const target = new URL(manifest.redirect_url);
  target.searchParams.set('code', code);
  const state = url.searchParams.get('state');
  if (state !== null) target.searchParams.set('state', state);
  return Response.redirect(target.href, 302);
}

/** GitHub's own checks of a manifest. */
function problemOf(manifest: Manifest, { allowLocal, apps }: World): string | null {
  if (manifest.name.length > 34) return 'Name is too long (maximum is 34 characters)';
  if (apps.list.some(({ name }) => name === manifest.name)) return 'Name is already taken';
  if (!URL.canParse(manifest.url) || !URL.canParse(manifest.redirect_url)) return 'Url must be a valid URL';
  const { hostname } = new URL(manifest.hook_attributes.url);
  const isLocal = /^(localhost|127\.|\[::1\])/.test(hostname);
  return isLocal && !allowLocal
    ? 'Hook url is not supported because it isn’t reachable over the public Internet'
    : null;
}

async function installationPage(world: World, request: Request, slug: string) {
  const app = world.apps.list.find((each) => each.slug === slug);
  if (app === undefined) return page('Not found', '', 404);
  if (request.method !== 'POST') {
    const boxes = world.repositories.map(({ id, name }) => {
      const isChosen = app.installation?.repositoryIds.includes(id) ? ' checked' : '';
      return `<label><input type="checkbox" name="repository" value="${id}"${isChosen}> ${escaped(name)}</label>`;
    });
    const button = app.installation === null ? 'Install' : 'Save';
    return page(
      `Install ${app.name}`,
      `<form method="post">${boxes.join('')}<button>${button}</button></form>`,
    );
  }
  const chosen = new URLSearchParams(await request.text()).getAll('repository');
  const action = app.installation === null ? 'install' : 'update';
  install(
    world,
    app,
    world.repositories.filter(({ id }) => chosen.includes(String(id))),
  );
  const target = new URL(app.manifest.setup_url);
  target.searchParams.set('installation_id', String(app.installation?.id));
  target.searchParams.set('setup_action', action);
  return Response.redirect(target.href, 302);
}

const page = (title: string, body: string, status = 200) =>
  new Response(
    `<!doctype html><html lang="en"><title>${escaped(title)}</title><h1>${escaped(title)}</h1>${body}</html>`,
    {
      status,
      headers: { 'content-type': 'text/html; charset=utf-8' },
    },
  );

const escaped = (text: string) => Bun.escapeHTML(text);
