import { Database } from 'bun:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { quantile } from '../../bench/support/numbers.ts';
import { systemClock } from '../../src/lib/time.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { cookieOf } from '../support/dashboard.ts';
import { projectOf } from '../support/github-api/project.ts';
import { type GithubApi, startGithubApi } from '../support/github-api/server.ts';
import { LISTS, startListReader } from '../support/list-reader.ts';
import { oddMachine } from '../support/odd-machine.ts';
import { START } from '../support/polling.ts';
import { rounds } from '../support/rounds.ts';
import { program, root, type ServerProcess, startTidings } from '../support/server.ts';

// `check:long` runs an hour of mixed traffic at half of what this machine can do, with faults. `LONG_RUN_MINUTES` shortens it by
// hand: then the three kills are more than one list in 100, and the p99 is that of starts.
//
// Each list counts that a server took, also while it starts. One that a killed server dropped, or that came while none ran, is
// asked for again: it is counted by itself, and must come too.

const MINUTES = Number(Bun.env.LONG_RUN_MINUTES ?? rounds(0, 60));

/** The part of the time in which memory may grow, to fill caches and compile. */
const WARM = 1 / 3;
/** The parts of the time whose memory is compared: after that one, and at the end. */
const PART = 1 / 12;
const MAX_GROWTH = 1.05;
const MAX_P99_MS = 25;

/** Events, each from a share of the time to another. Killed processes come first: each begins with fresh memory. */
const KILLS = [0.05, 0.12, 0.2];
const SLOW_DISK = [0.08, 0.25, 0.4, 0.52, 0.64, 0.76, 0.88].map((at) => [at, at + 0.01] as const);
const CLOCK = [
  [0.28, 600],
  [0.36, 0],
  [0.48, -600],
  [0.6, 0],
  [0.72, 90_000],
  [0.84, 0],
] as const;
const SLOW_SYNC_MS = 250;
const BACKUP_EVERY_MS = 60_000;
/** After a backup that took longer, the next one waits so long: memory is measured between them. */
const BETWEEN_BACKUPS_MS = 10_000;

const folder = temporaryFolder();
let server: ServerProcess;

afterEach(async () => {
  await server.stop('SIGKILL');
});
afterAll(() => folder.remove());

test.skipIf(process.platform !== 'linux')(
  'a server sets the options of the engine that nobody has set',
  async () => {
    server = await startTidings(folder.path, [], { environment: { BUN_JSC_useFTLJIT: '1' } });
    const environment = readFileSync(`/proc/${server.pid}/environ`, 'utf8').split('\0');
    const options = environment.filter((each) => each.startsWith('BUN_')).sort();
    expect(options).toEqual([
      'BUN_CONFIG_MAX_HTTP_REQUESTS=1024',
      'BUN_JSC_forceRAMSize=536870912',
      'BUN_JSC_useFTLJIT=1',
    ]);
    for (const file of ['Dockerfile', 'deploy/tidings.service'])
      expect(await Bun.file(join(root, file)).text()).toContain(
        'BUN_JSC_forceRAMSize=536870912 BUN_JSC_useFTLJIT=0 BUN_CONFIG_MAX_HTTP_REQUESTS=1024',
      );
    expect(await server.stop()).toBe(0);
  },
);

/** Memory of its own, in MB: pages of files are the system's to drop. */
function ownMegabytes(): number {
  const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

describe.skipIf(MINUTES === 0 || process.platform !== 'linux')('under mixed traffic with faults', () => {
  let webhook: { path: string; secret: string };
  let cookie: string;
  let post = { path: '/dashboard/acme/posts/~', seen: '' };
  let github: GithubApi;
  let project: ReturnType<typeof projectOf>;
  let machine: ReturnType<typeof oddMachine>;
  const dataDir = join(folder.path, 'data');
  const sent = new Map<string, string | null>();
  let reader: ReturnType<typeof startListReader>;
  let port = '0';
  let retries = 0;
  let saving: Promise<void> = Promise.resolve();
  /** Odd while no server runs. */
  let life = 0;

  const json = (...words: string[]) =>
    cliJson(dataDir, words, { environment: { GITHUB_API_URL: github.url } });
  const headers = () => ({ cookie, 'sec-fetch-site': 'same-origin' });
  const start = async () => {
    server = await startTidings(dataDir, [], {
      environment: { ...machine.environment, GITHUB_API_URL: github.url, LOG_LEVEL: 'error', PORT: port },
    });
    // Readers find the next one there.
    ({ port } = new URL(server.url));
  };

  afterAll(() => reader.stop());

  beforeAll(async () => {
    github = startGithubApi();
    const repository = github.addRepository('acme/pad', { isPrivate: false, rights: { ann: 'admin' } });
    project = projectOf(repository, systemClock, START);
    machine = oddMachine(folder.path);
    await json('organization', 'create', '--name', 'Acme', '--id', 'acme', '--plan', 'pro');
    const markdown = 'A line of the text that somebody has written. '.repeat(40);
    const posts = Array.from({ length: 60 }, (_, n) => ({ title: `Post ${n}`, markdown }));
    await Bun.write(join(folder.path, 'posts.json'), JSON.stringify(posts));
    await json('post', 'import', '--organization', 'acme', join(folder.path, 'posts.json'));
    const at = ['--organization', 'acme', '--repository'];
    const connected = await json('integration', 'connect', 'github', ...at, 'acme/rocket');
    const polled = await json('integration', 'connect', 'github', ...at, 'acme/pad', '--poll');
    for (const { integrationId } of [connected, polled]) {
      const about = ['--event', 'release', '--content-type', 'changelog'];
      await json('trigger', 'create', '--integration', integrationId, ...about);
    }
    const { key } = await json('key', 'create', '--organization', 'acme', '--name', 'site');
    const { url } = await json('user', 'create', '--email', 'ann@acme.example', '--organization', 'acme');
    await start();
    reader = startListReader({ url: `${server.url}/v1/acme/posts`, key });
    webhook = { path: new URL(connected.webhookUrl).pathname, secret: connected.secret };
    const { pathname, searchParams } = new URL(url);
    const password = 'correct horse battery staple';
    const response = await fetch(`${server.url}${pathname}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ token: searchParams.get('token') ?? '', password }),
    });
    cookie = cookieOf(response) ?? '';
    expect(cookie).not.toBe('');
  });

  /** Sends it as a provider that is patient does: again with the same id, until it is acknowledged. */
  async function deliver(n: number): Promise<void> {
    const event = n % 500 === 0 ? 'release' : n % 5 === 0 ? 'ping' : 'push';
    const payload = samplePayload('github', event, { repository: 'acme/rocket', now: new Date() }) as {
      release?: { tag_name: string; id: number };
      after?: string;
    };
    const id = crypto.randomUUID();
    if (payload.release !== undefined) Object.assign(payload.release, { tag_name: `v1.0.${n}`, id: n + 1 });
    sent.set(id, payload.release?.tag_name ?? null);
    // Each push brings a commit of its own: the sample's would be the same event again and again.
    const sha = hmacSha256('commit', id).slice(0, 40);
    const body = JSON.stringify(payload).replaceAll(payload.after ?? sha, sha);
    const about = {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${hmacSha256(webhook.secret, body)}`,
    };
    for (let tries = 0; tries < 100; tries++) {
      try {
        const response = await fetch(`${server.url}${webhook.path}`, {
          method: 'POST',
          headers: about,
          body,
        });
        await response.bytes();
        if (response.status === 200) return;
      } catch {
        // The server was killed.
      }
      retries++;
      await Bun.sleep(200);
    }
    throw new Error(`delivery ${n} was never acknowledged`);
  }

  /** A client that goes away in the middle of a body of 256 KB. */
  async function abort(): Promise<void> {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    const head = [`POST ${webhook.path} HTTP/1.1`, 'host: x', 'content-type: application/json'];
    const names = ['event: push', 'delivery: x'].map((each) => `x-github-${each}`);
    head.push(...names, `x-hub-signature-256: sha256=${'0'.repeat(64)}`, 'content-length: 300000', '', '');
    await new Promise<void>((resolve) => {
      socket.write(head.join('\r\n'));
      socket.write('a'.repeat(256 * 1024), () => resolve());
      socket.on('close', () => resolve());
    });
    socket.destroy();
  }

  async function browse(n: number): Promise<void> {
    const pages = ['posts', 'deliveries', 'integrations', 'posts?status=draft', 'posts/~/new', 'triggers'];
    const page = await fetch(`${server.url}/dashboard/acme/${pages[n % pages.length]}`, {
      headers: headers(),
    });
    await page.text();
    expect(page.status).toBe(200);
  }

  async function killAndStart(): Promise<void> {
    life++;
    await server.stop('SIGKILL');
    await start();
    post = { path: '/dashboard/acme/posts/~', seen: '' };
    saving = Promise.resolve();
    life++;
  }

  /** One after another, as an editor does. */
  const autosave = (n: number) => {
    const own = life;
    saving = saving.then(() => (own === life ? saveNow(n) : undefined));
    return saving;
  };

  async function saveNow(n: number): Promise<void> {
    const markdown = `${'A line of the text that somebody writes. '.repeat(60)}\n\n- ${n}\n`;
    const response = await fetch(`${server.url}${post.path}/autosave`, {
      method: 'POST',
      headers: headers(),
      body: new URLSearchParams({ title: 'A draft', markdown, seen: post.seen, mark: `long-run-${life}` }),
    });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain('data-outcome="saved"');
    const attribute = (name: string) => new RegExp(` data-${name}="([^"]*)"`).exec(text)?.[1] ?? '';
    post = { path: attribute('path'), seen: attribute('seen') };
    expect(post).toEqual({ path: expect.stringContaining('/posts/'), seen: expect.stringMatching(/./) });
  }

  /** A second of a busy team, in small. The reader adds ten lists. What a killed server drops, its client would ask for again. */
  async function turn(n: number): Promise<void> {
    const own = life;
    const asked = (async () => {
      if (n % 5 === 0) await Promise.all([abort(), browse(n / 5)]);
      if (n % 20 === 0) await autosave(n);
    })().catch((error) => {
      if (own === life && own % 2 === 0) throw error;
    });
    await Promise.all([asked, ...Array.from({ length: 5 }, (_, at) => deliver(n * 5 + at + 1))]);
  }

  /** Turns in a second when nobody waits between them, and a backup runs, as it nearly always does when the database is large. */
  async function measureCapacity(first: number): Promise<number> {
    const ms = 60_000;
    const began = performance.now();
    const isOver = () => performance.now() - began >= ms;
    let n = first;
    const worker = async () => {
      while (!isOver()) await Promise.all([reader.turn(n), turn(n++)]);
    };
    const backups = async () => {
      while (!isOver()) await backUp(first);
    };
    await Promise.all([worker(), worker(), backups()]);
    return ((n - first) / ms) * 1_000;
  }

  async function backUp(n: number): Promise<void> {
    const file = join(folder.path, `${n}.backup`);
    const child = Bun.spawn([...program, 'backup', file], {
      env: { PATH: Bun.env.PATH, DATA_DIR: dataDir },
      stdout: 'ignore',
      stderr: 'pipe',
    });
    expect({ code: await child.exited, error: await new Response(child.stderr).text() }).toMatchObject({
      code: 0,
    });
    rmSync(file);
  }

  test(
    `${MINUTES} minutes at half of the capacity lose nothing, and memory stays the same`,
    async () => {
      const capacity = await measureCapacity(1_000_000);
      const stepMs = 2_000 / capacity;
      reader.begin(stepMs / LISTS);
      const samples: { share: number; megabytes: number }[] = [];
      const whole = MINUTES * 60_000;
      const began = performance.now();
      const passed = () => performance.now() - began;
      const kills = [...KILLS];
      const clock = [...CLOCK];
      const open = new Set<Promise<unknown>>();
      const faults = [
        'answers 500',
        'answers 502 with a page',
        'never answers',
        'answers 429 without a time',
      ];
      let failure: unknown = null;
      let backups = 0;
      let backupAt = BACKUP_EVERY_MS;
      let isBackingUp = false;
      let releases = 0;
      let faulty = 0;
      /** Requests to the provider before the last fault. */
      let asked = 0;
      let n = 0;
      const spawned = (work: Promise<unknown>) => {
        const own = work
          .catch((error) => {
            failure ??= error;
          })
          .finally(() => open.delete(own));
        open.add(own);
        return own;
      };
      reader.ended.catch((error) => {
        failure ??= error;
      });
      while (passed() < whole && failure === null) {
        const share = passed() / whole;
        machine.slowDown(SLOW_DISK.some(([from, to]) => from <= share && share < to) ? SLOW_SYNC_MS : 0);
        if (share >= (clock[0]?.[0] ?? 1)) machine.setClock(clock.shift()?.[1] ?? 0);
        if (share >= (kills[0] ?? 1)) {
          kills.shift();
          void spawned(killAndStart());
        }
        if (passed() >= backupAt && !isBackingUp) {
          isBackingUp = true;
          const ended = backUp(++backups).finally(() => {
            isBackingUp = false;
            backupAt = Math.max(backupAt + BACKUP_EVERY_MS, passed() + BETWEEN_BACKUPS_MS);
          });
          void spawned(ended);
        }
        if (share < 0.8 && passed() >= releases * 20_000) {
          project.happen({ release: `pad-${releases++}`, notes: '- Better' });
          // One that still waits would leave more faults than there are polls.
          if (releases % 3 === 0 && share < 0.5 && github.requests.length > asked) {
            asked = github.requests.length;
            github.failNext(faults[faulty++ % faults.length] as 'answers 500');
          }
        }
        // Garbage waits longer while the second core is busy, and each backup keeps it busy for longer than the last.
        if (n % 50 === 0 && life % 2 === 0 && !isBackingUp)
          samples.push({ share, megabytes: ownMegabytes() });
        void spawned(turn(n++));
        // A client that is far behind waits.
        while (open.size > 500) await Promise.race(open);
        await Bun.sleep(Math.max(0, n * stepMs - passed()));
      }
      await Promise.all(open);
      expect(failure).toBe(null);
      const lists = await reader.end();

      const between = (from: number, to: number) =>
        quantile(
          samples.flatMap(({ share, megabytes }) => (from <= share && share < to ? megabytes : [])),
          0.5,
        );
      const [before, after] = [between(WARM, WARM + PART), between(1 - PART, 1)];
      process.stderr.write(
        `${capacity.toFixed(1)} turns/s, ${n} turns, ${sent.size} deliveries, ${retries} retries, ${backups} backups; ${JSON.stringify(lists)}; ${before.toFixed(0)} MB, then ${after.toFixed(0)}\n`,
      );

      // The release that was polled last becomes a draft.
      const drafted = () => {
        using db = new Database(join(dataDir, 'tidings.db'), { readonly: true });
        return db
          .query<{ name: string; drafts: number }, []>(
            `SELECT value AS name, count(*) AS drafts FROM drafts, json_each(event_keys)
             WHERE value LIKE 'release %' GROUP BY value`,
          )
          .all();
      };
      const tags = [...sent.values()].filter((tag) => tag !== null);
      const names = [...tags, ...Array.from({ length: releases }, (_, each) => `pad-${each}`)];
      for (const end = performance.now() + 600_000; performance.now() < end; await Bun.sleep(1_000))
        if (drafted().length >= names.length) break;
      expect(await server.stop()).toBe(0);
      const expected = names.map((tag) => ({ name: `release ${tag}`, drafts: 1 }));
      const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1);
      expect(drafted().sort(byName)).toEqual(expected.sort(byName));

      using db = new Database(join(dataDir, 'tidings.db'), { readonly: true });
      const logged = db
        .query<{ id: string; times: number }, []>(
          `SELECT reference_id AS id, count(*) AS times FROM deliveries
           WHERE status IN ('processed', 'ignored') AND is_polled = 0 GROUP BY reference_id`,
        )
        .all();
      expect(logged.filter(({ times }) => times !== 1)).toEqual([]);
      const known = new Set(logged.map(({ id }) => id));
      expect([...sent.keys()].filter((id) => !known.has(id))).toEqual([]);
      expect(logged.length).toBe(sent.size);
      expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });

      expect(lists.p99).toBeLessThanOrEqual(MAX_P99_MS);
      expect(after / before, `${before.toFixed(0)} MB, then ${after.toFixed(0)}`).toBeLessThan(MAX_GROWTH);
    },
    (MINUTES + 15) * 60_000,
  );
});
