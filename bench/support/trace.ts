import { Database } from 'bun:sqlite';
import { cp, mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as ts from '@typescript/typescript6';
import { BenchError, type Defer } from './run.ts';
import { run, startServer } from './server.ts';

// Runs a copy of the service in which every function notes its file when it is entered. A copy, so that code in worker
// threads notes its files too.

const ORGANIZATION = 'figures';
const SESSION = 'figures-session';

/** How long to wait for a draft, in milliseconds. */
const DRAFT_MS = 60_000;

/** How often each request is repeated. A background job enters files during some of them, not during all. */
const REPEATS = 4;

/** The files of `src/` and `db/` that every request of a kind enters, but for the first of its kind. */
export async function traceRequests(
  root: string,
  folder: string,
  defer: Defer,
): Promise<Record<string, string[]>> {
  const trace = join(folder, 'trace');
  const copy = join(folder, 'copy');
  const dataDir = join(folder, 'data');
  await instrument(root, copy, trace);
  const cli = async (...words: string[]) =>
    JSON.parse(
      await run(
        { defer },
        [process.execPath, join(root, 'src/cli.ts'), ...words, '--data-dir', dataDir, '--json'],
        { cwd: root },
      ),
    );

  await cli('organization', 'create', '--name', 'Figures', '--id', ORGANIZATION);
  const { key } = await cli('key', 'create', '--organization', ORGANIZATION, '--name', 'Figures');
  // A draft for each: the first one loads and prepares what later ones reuse.
  const connect = async (repository: string): Promise<string> => {
    const { integrationId } = await cli(
      ...['integration', 'connect', 'github', '--organization', ORGANIZATION, '--repository', repository],
    );
    await cli(
      ...['trigger', 'create', '--integration', integrationId, '--event', 'release'],
      ...['--content-type', 'changelog'],
    );
    return integrationId;
  };
  const integrations: string[] = [];
  for (let count = 0; count <= REPEATS; count++) integrations.push(await connect(`acme/rocket-${count}`));
  const databaseFile = join(dataDir, 'tidings.db');
  addSession(databaseFile);

  const server = await startServer(
    { folder, cores: { server: [], load: [] }, defer },
    { words: [join(copy, 'src/cli.ts'), 'serve', '--port', '0', '--data-dir', dataDir] },
  );
  const entered = async () =>
    [...new Set((await readFile(trace, 'utf8')).split('\n').filter(Boolean))].sort();
  const get = async (path: string, headers: Record<string, string>) => {
    await truncate(trace);
    const response = await fetch(`${server.url}${path}`, { headers });
    const body = await response.text();
    if (response.status !== 200)
      throw new BenchError(`${path} was answered with ${response.status}: ${body}`);
    return entered();
  };

  /** Leaves out the first, which loads and prepares what later ones reuse. */
  const repeat = async (request: (count: number) => Promise<string[]>) => {
    const traces: string[][] = [];
    for (let count = 0; count <= REPEATS; count++) traces.push(await request(count));
    return inAll(traces.slice(1));
  };

  // The command signs the delivery; a server of our own hands it on, so that the trace ends with the response.
  const deliveries: string[][] = [];
  const proxy = Bun.serve({
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const body = await request.arrayBuffer();
      await truncate(trace);
      const response = await fetch(`${server.url}${pathname}`, {
        method: request.method,
        headers: request.headers,
        body,
      });
      const text = await response.text();
      deliveries.push(await entered());
      await truncate(trace);
      return new Response(text, { status: response.status, headers: { 'content-type': 'application/json' } });
    },
  });
  const send = async (id: string, count: number) => {
    await cli('send', 'github', 'release', '--integration', id, '--url', proxy.url.origin);
    await untilPosts(databaseFile, count);
    return entered();
  };
  try {
    const draft = await repeat((count) => send(integrations[count] ?? '', count + 1));
    const bearer = { authorization: `Bearer ${key}` };
    const cookie = { cookie: `tidings_session=${SESSION}` };
    // A limit of its own, because a page that was sent is kept.
    const apiList = await repeat((count) =>
      get(`/v1/${ORGANIZATION}/posts?status=draft&limit=${count + 1}`, bearer),
    );
    const page = (path: string) => repeat(() => get(`/dashboard/${ORGANIZATION}/${path}`, cookie));
    return {
      'one delivery': inAll(deliveries.slice(1)),
      'one run to a draft': draft,
      'one list of the API': apiList,
      'one list page of the dashboard': await page('posts'),
      'one integration page': await page(`integrations/${integrations[0]}`),
    };
  } finally {
    await proxy.stop(true);
    await server.stop();
  }
}

function inAll([first = [], ...others]: string[][]): string[] {
  return first.filter((file) => others.every((each) => each.includes(file)));
}

async function untilPosts(databaseFile: string, count: number): Promise<void> {
  const db = new Database(databaseFile, { readonly: true });
  try {
    const deadline = Date.now() + DRAFT_MS;
    while (Date.now() < deadline) {
      const [[posts] = []] = db.query('SELECT count(*) FROM posts').values();
      if (posts === count) return;
      await Bun.sleep(20);
    }
    throw new BenchError(`no draft after ${DRAFT_MS} ms`);
  } finally {
    db.close();
  }
}

/** Somebody who is signed in. The schema outlives the code, so this works on every version. */
function addSession(databaseFile: string): void {
  const db = new Database(databaseFile, { strict: true });
  const now = new Date();
  const createdAt = now.toISOString();
  const hash = new Bun.CryptoHasher('sha256').update(SESSION).digest('base64url');
  db.query('INSERT INTO users (id, email, created_at) VALUES (?, ?, ?)').run(
    'usr_figures',
    'figures@acme.example',
    createdAt,
  );
  db.query('INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, ?, ?)').run(
    'usr_figures',
    ORGANIZATION,
    'owner',
    createdAt,
  );
  db.query(
    'INSERT INTO sessions (hash, user_id, created_at, expires_at, last_used_at) VALUES (?, ?, ?, ?, ?)',
  ).run(hash, 'usr_figures', createdAt, now.getTime() + 86_400_000, now.getTime());
  db.close();
}

/** Copies a checkout to `target`, its functions noting their files in `trace`. */
async function instrument(root: string, target: string, trace: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await writeFile(trace, '');
  for (const name of ['src', 'db', 'package.json', 'tsconfig.json']) {
    await cp(join(root, name), join(target, name), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(target, 'node_modules'));
  await writeFile(join(target, 'trace.ts'), recorder(trace));
  for await (const path of new Bun.Glob('{src,db}/**/*.{ts,tsx}').scan(target)) {
    if (path.endsWith('.d.ts')) continue;
    const file = join(target, path);
    const up = '../'.repeat(dirname(path).split('/').length);
    await writeFile(file, `${enterFunctions(path, await readFile(file, 'utf8'))}\nimport '${up}trace.ts';\n`);
  }
}

const recorder = (trace: string) => `
import { appendFileSync } from 'node:fs';
let last = '';
globalThis.enterFile = (file: string) => {
  if (file === last) return;
  last = file;
  appendFileSync(${JSON.stringify(trace)}, file + '\\n');
  queueMicrotask(() => { last = ''; });
};
export {};
`;

/** The same code, each of its functions calling `enterFile` first. */
function enterFunctions(path: string, text: string): string {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const call = `globalThis.enterFile(${JSON.stringify(path)})`;
  const insertions: [position: number, text: string][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const body = node.body as ts.Block | ts.Expression;
      if (ts.isBlock(body)) insertions.push([body.getStart() + 1, `${call};`]);
      else insertions.push([body.getStart(), `(${call}, (`], [body.getEnd(), '))']);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return insertions
    .sort(([a], [b]) => b - a)
    .reduce((result, [at, inserted]) => result.slice(0, at) + inserted + result.slice(at), text);
}
