import { Database as Sqlite } from 'bun:sqlite';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { samplePayload } from '../../src/providers/index.ts';
import { connectRepository, inParallel, type Signed } from './fleet.ts';
import { changed } from './payloads.ts';
import { createRecorder, type Random } from './recorded-disk.ts';
import { program, type ServerProcess, startTidings } from './server.ts';

// Servers and commands at work on a recorded data folder: kill -9, restarts, checkpoints, a log that starts again, a sync
// that fails while a reader is at work. Marks in the recording say what was attempted and what was acknowledged.

/** From its attempt on, `key` may have `value`; once it is acknowledged, it must have that or one attempted later. */
export interface Mark {
  event: 'attempt' | 'acknowledgement';
  key: string;
  value: string;
}

export type Hooks = Awaited<ReturnType<typeof connectRepository>>;

/** Bytes of the header of SQLite's log (sqlite.org/fileformat2.html#the_write_ahead_log). */
const LOG_HEADER = 32;

const POSTS = 20;

let made = 0;

/** A delivery of a release, which becomes a draft, or else a ping. */
export function newDelivery(event: 'release' | 'ping'): Signed {
  const id = `${event}-${++made}`;
  if (event === 'ping') return { id, event, payload: { zen: id } };
  const now = new Date(Date.UTC(2026, 0, 1, 0, made));
  const sample = samplePayload('github', event, { repository: 'a/b', now }) ?? {};
  const changes = {
    'release.tag_name': id,
    'release.name': id,
    'release.body': `Notes of ${id}. `.repeat(1 + (made % 300)),
  };
  return { id, event, payload: changed(sample, changes) };
}

export type History = Awaited<ReturnType<typeof recordHistory>>;

/**
 * Records what happens in `folder`. It is empty, or has what a power cut left of a history with these `hooks`. The
 * recorder's own files are in `workshop`.
 */
export async function recordHistory(folder: string, workshop: string, random: Random, former?: Hooks) {
  const recorder = createRecorder(workshop, folder);
  const environment = { ...recorder.environment, LOG_LEVEL: 'error' };

  async function attempt(keys: string[], value: string, work: () => Promise<boolean>): Promise<void> {
    for (const key of keys) recorder.mark({ event: 'attempt', key, value } satisfies Mark);
    if (!(await work())) return;
    for (const key of keys) recorder.mark({ event: 'acknowledgement', key, value } satisfies Mark);
  }

  async function command(...words: string[]) {
    const child = Bun.spawn([...program, ...words, '--json'], {
      env: { PATH: Bun.env.PATH, HOME: Bun.env.HOME, DATA_DIR: folder, ...environment },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    const code = await child.exited;
    if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`);
    return JSON.parse(stdout);
  }

  const unanswered: Signed[] = [];
  async function deliver(hooks: Hooks, server: ServerProcess, signed: Signed): Promise<void> {
    await attempt([`delivery ${signed.id}`], 'processed', async () => {
      const isDone = (await hooks.deliver(server.url, signed).catch(() => null)) === 200;
      if (!isDone) unanswered.push(signed);
      return isDone;
    });
  }

  /** Delivers what has no answer yet, and new deliveries: as many, and one release among so many. */
  async function work(hooks: Hooks, server: ServerProcess, count: number, releases: number): Promise<void> {
    const fresh = Array.from({ length: count }, (_, at) =>
      newDelivery(at % releases === 0 ? 'release' : 'ping'),
    );
    await inParallel([...unanswered.splice(0), ...fresh], 3, (signed) => deliver(hooks, server, signed));
  }

  const start = () => startTidings(folder, [], { environment });

  /** A command that writes posts beside the server. */
  async function importPosts(version: number): Promise<void> {
    const file = join(workshop, 'posts.json');
    const titles = Array.from({ length: POSTS }, (_, number) => `Post ${number}`);
    const posts = titles.map((title) => ({
      id: title.replace(' ', '-'),
      title,
      markdown: `v${version} `.repeat(200),
    }));
    writeFileSync(file, JSON.stringify(posts));
    await attempt(
      titles.map((title) => `post ${title}`),
      `published v${version}`,
      async () => (await command('post', 'import', '--organization', 'acme', file)) !== null,
    );
  }

  async function setUp(): Promise<Hooks> {
    const hooks = await connectRepository({ json: command });
    await attempt(['trigger release'], 'enabled', async () => {
      const words = ['trigger', 'create', '--integration', hooks.integrationId, '--event', 'release'];
      return (await command(...words)) !== null;
    });
    return hooks;
  }

  /** Delivers until the checkpoint thread has started the log again, after 4,096 pages. */
  async function fillLog(hooks: Hooks, server: ServerProcess): Promise<void> {
    const readHeader = () => Bun.file(join(folder, 'tidings.db-wal')).slice(0, LOG_HEADER).text();
    const before = await readHeader();
    while ((await readHeader()) === before) {
      await work(hooks, server, 50, 50);
      if (unanswered.length > 0) throw new Error(`deliveries failed: ${server.log()}`);
    }
  }

  const hooks = former ?? (await setUp());
  let server = await start();
  await Promise.all([work(hooks, server, 40, 4), importPosts(++made)]);
  recorder.dieAfter(Math.ceil(random() * 300));
  await work(hooks, server, 60, 4);
  await server.stop('SIGKILL');
  recorder.dieAfter(0);

  server = await start();
  if (former === undefined) await fillLog(hooks, server);
  await Promise.all([work(hooks, server, 10, 4), importPosts(++made)]);
  if ((await server.stop()) !== 0) throw new Error(await server.stderr());

  if (former === undefined) {
    server = await start();
    await work(hooks, server, 10, 2);
    // It keeps the log from starting again, as a backup and Litestream do.
    using reader = new Sqlite(join(folder, 'tidings.db'), { readwrite: true, create: false });
    reader.run('BEGIN');
    reader.query('SELECT count(*) FROM deliveries').values();
    await work(hooks, server, 10, 2);
    recorder.failLogSyncs(1);
    await work(hooks, server, 10, 2);
    await server.stop('SIGKILL');
    server = await start();
    await work(hooks, server, 10, 2);
    // The last one to close the log would copy it, which nobody records.
    reader.close();
    await server.stop('SIGKILL');
  }
  return { hooks, folder, newDisk: recorder.newDisk, records: recorder.records() };
}
