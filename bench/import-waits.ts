import { join } from 'node:path';
import { Command } from 'commander';
import { progressBar } from '../src/cli/output.ts';
import { openDataFolder } from '../src/server/data-folder.ts';
import { BenchError } from './support/bench-error.ts';
import { chooseCores } from './support/cores.ts';
import { signIn } from './support/dashboard-folder.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';
import { startServer, tidings } from './support/server.ts';
import { type Asked, describeWaits, timePhases } from './support/waits.ts';
import { makeWebhookFolder, type WebhookFolder } from './support/webhook-folder.ts';

// How long a delivery waits while posts are imported: by the server, from forms of the dashboard, and by the command in a
// process of its own. Another process sends the deliveries, one after the other. Somebody opens the form first, which loads
// the dashboard.

interface Options {
  posts: number;
  json?: true;
}

type Way = 'dashboard' | 'command';

/** Limits of an import in the dashboard. */
const MAX_FORM_POSTS = 5_000;
const MAX_FORM_BYTES = 2_000_000;

const CLI = Bun.fileURLToPath(import.meta.resolve('../src/cli.ts'));

await runBenchmark((defer) =>
  new Command('import-waits')
    .description('measure how long deliveries wait while posts are imported')
    .option('--posts <number>', 'how many to import, each way', wholeNumber, 25_000)
    .option('--json', 'print exactly one JSON value')
    .action(async ({ posts, json }: Options) => {
      const result = await measure(posts, defer);
      const machine = describeMachine(chooseCores().server.length > 0);
      terminal.write(
        json
          ? `${JSON.stringify({ machine, posts, ...result })}\n`
          : `${machineLine(machine)}\n\n${describe(result, posts)}\n`,
      );
    }),
);

async function measure(posts: number, defer: Defer) {
  const parent = await makeTempFolder(defer);
  const folder = await makeWebhookFolder(parent, 'data');
  const cookie = await addOwner(folder);
  const logFile = join(parent, 'server.log');
  const server = await startServer(tidings(folder.path), { core: chooseCores().server, logFile, defer });
  const delivery = deliveryTo(server.url, folder);
  const forms = [...formsOf(makePosts('form', posts))];
  const file = join(parent, 'posts.json');
  await Bun.write(file, JSON.stringify(makePosts('command', posts)));
  const seconds = { dashboard: 0, command: 0 };
  const bar = progressBar(terminal, 'importing');
  const waits = await timePhases<'quiet' | 'opening' | Way>(delivery, defer, async (enter) => {
    /** As long without an import follows, under the same noise. */
    async function importBy(way: Way, work: () => Promise<void>): Promise<void> {
      enter(way);
      const startedAt = performance.now();
      await work();
      const tookMs = performance.now() - startedAt;
      seconds[way] += tookMs / 1_000;
      enter('quiet');
      await Bun.sleep(tookMs);
    }
    const address = `${server.url}/dashboard/${folder.organizationId}/posts/~/import`;
    enter('opening');
    await openForm(address, cookie);
    enter('quiet');
    for (const [index, form] of forms.entries()) {
      bar.show(index, forms.length + 1);
      await importBy('dashboard', () => sendForm(address, cookie, form));
    }
    bar.show(forms.length, forms.length + 1);
    await importBy('command', () => importFile(folder, file, defer));
  }).finally(bar.done);
  return {
    seconds,
    quiet: waits('quiet'),
    opening: waits('opening'),
    dashboard: waits('dashboard'),
    command: waits('command'),
  };
}

async function addOwner({ path, organizationId }: WebhookFolder): Promise<string> {
  const { db, close } = openDataFolder(path);
  return signIn(db, [organizationId]).finally(close);
}

function deliveryTo(serverUrl: string, { pushes }: WebhookFolder): Asked {
  const { paths, headers, post } = pushes;
  const [body] = post?.bodies ?? [];
  if (post === undefined || body === undefined) throw new BenchError('there is no delivery to send');
  return {
    url: `${serverUrl}${paths[0]}`,
    headers: { ...headers, ...body.headers },
    post: { text: body.text, countingHeader: post.countingHeader },
  };
}

/** Posts of about 1 KB of Markdown, of many different words. */
function makePosts(name: string, count: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `${name}-${index}`,
    title: `Rocket 4.${index}: quieter engines`,
    markdown: `### Added\n\n${Array.from({ length: 8 }, (_, item) => lineOf(index, item)).join('\n')}`,
  }));
}

function lineOf(post: number, item: number): string {
  const words = Array.from({ length: 8 }, (_, at) => `part${(post * 31 + item * 17 + at * 7) % 9_973}`);
  return `- \`rocket plan --step ${item}\` **waits** for the wind: ${words.join(' ')}`;
}

/** As JSON Lines that fit into a form. */
function* formsOf(posts: readonly object[]): Generator<string> {
  let lines: string[] = [];
  let bytes = 0;
  for (const post of posts) {
    const line = JSON.stringify(post);
    if (lines.length === MAX_FORM_POSTS || bytes + line.length + 1 > MAX_FORM_BYTES) {
      yield lines.join('\n');
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += line.length + 1;
  }
  if (lines.length > 0) yield lines.join('\n');
}

async function openForm(url: string, cookie: string): Promise<void> {
  const response = await fetch(url, { headers: { cookie } });
  await response.body?.cancel();
  if (response.status !== 200) throw new BenchError(`the dashboard answered ${response.status}`);
}

/** Previews the posts and imports them. */
async function sendForm(url: string, cookie: string, text: string): Promise<void> {
  for (const confirmed of [false, true]) {
    const body = new FormData();
    const fields = { text, name: 'posts.jsonl', status: 'published', contentType: 'changelog' };
    for (const [name, value] of Object.entries({ ...fields, format: 'jsonl', date: '', source: '' }))
      body.set(name, value);
    if (confirmed) body.set('confirmed', 'on');
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' });
    const page = await response.text();
    if (response.status !== (confirmed ? 303 : 200))
      throw new BenchError(`the dashboard answered ${response.status}:\n${page.slice(0, 2_000)}`);
  }
}

async function importFile(
  { path, organizationId }: WebhookFolder,
  file: string,
  defer: Defer,
): Promise<void> {
  const words = ['post', 'import', '--organization', organizationId, '--data-dir', path, file];
  const child = Bun.spawn([process.execPath, CLI, ...words], { stdout: 'ignore', stderr: 'pipe' });
  const forget = defer(async () => child.kill('SIGKILL'));
  const errors = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new BenchError(`the import failed:\n${errors}`);
  forget();
}

function describe({ seconds, ...waits }: Awaited<ReturnType<typeof measure>>, posts: number): string {
  const rows = {
    'no import': waits.quiet,
    'the dashboard opens': waits.opening,
    'imported in the dashboard': waits.dashboard,
    'imported by a command': waits.command,
  };
  return [
    describeWaits('DELIVERIES', rows),
    '',
    `${posts} posts took ${seconds.dashboard.toFixed(1)} s in the dashboard and ${seconds.command.toFixed(1)} s with the command.`,
  ].join('\n');
}
