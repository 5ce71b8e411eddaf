import { join } from 'node:path';
import { atMost, BenchError, benchmark } from './support/run.ts';
import { seedFolder } from './support/seed.ts';
import { cli, run, startServer, tidings } from './support/server.ts';
import { deliveryOf, timeWhile } from './support/waits.ts';

// How long a delivery waits while posts are imported: by the server, from forms of the dashboard, and by the command in a
// process of its own. Another process sends the deliveries, one after the other. Somebody opens the form first, which loads
// the dashboard.

/** Limits of an import in the dashboard. */
const MAX_FORM_POSTS = 5_000;
const MAX_FORM_BYTES = 2_000_000;

export const importWaits = benchmark({
  goals: {
    server: atMost(100, 'ms', 'longest delivery while the server imports 25,000 posts'),
    command: atMost(100, 'ms', 'longest delivery while a command imports 25,000 posts'),
  },
  async measure(bench) {
    const posts = bench.isQuick ? 5_000 : 25_000;
    const { path, organizationId, cookie, pushes } = await seedFolder(bench.folder, 'data');
    const server = await startServer(bench, tidings(path));
    const delivery = deliveryOf(server.url, pushes);
    const longestWhile = async (work: () => Promise<unknown>) => ({
      value: Math.max(...(await timeWhile(bench, delivery, work))),
    });
    const forms = [...formsOf(makePosts('form', posts))];
    const file = join(bench.folder, 'posts.json');
    await Bun.write(file, JSON.stringify(makePosts('command', posts)));
    const address = `${server.url}/dashboard/${organizationId}/posts/~/import`;
    return {
      server: await longestWhile(async () => {
        await openForm(address, cookie);
        for (const form of forms) await sendForm(address, cookie, form);
      }),
      command: await longestWhile(() =>
        run(bench, cli('post', 'import', '--organization', organizationId, '--data-dir', path, file)),
      ),
    };
  },
});

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
      throw new BenchError(`the dashboard answered ${response.status}: ${page.slice(0, 2_000)}`);
  }
}
