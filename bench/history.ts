import { deflateSync } from 'node:zlib';
import { Command } from 'commander';
import { withComposer } from '../src/cli/trigger-runs.ts';
import { readConfig } from '../src/config.ts';
import { readHistory } from '../src/history/read.ts';
import { startHistory } from '../src/history/service.ts';
import { findHistory } from '../src/history/store.ts';
import { systemClock } from '../src/lib/time.ts';
import { openServices } from '../src/main.ts';
import { copyImages } from '../src/media/copies.ts';
import { createOrganization } from '../src/organizations/service.ts';
import { listPostPage } from '../src/posts/store.ts';
import { runTriggers } from '../src/triggers/run.ts';
import { type Happening, projectOf } from '../test/support/github-api/project.ts';
import { startGithubApi } from '../test/support/github-api/server.ts';
import { BenchError } from './support/bench-error.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';

// How long it takes to import many releases with an image each, from a stand-in of GitHub in this process to drafts that
// show the copies of the images.

interface Options {
  releases: number;
  json?: true;
}

/** In milliseconds. */
interface Times {
  readMs: number;
  imagesMs: number;
  draftsMs: number;
}

await runBenchmark((defer) =>
  new Command('history')
    .description('measure how long an import of past releases takes')
    .option('--releases <number>', 'how many, each with an image', wholeNumber, 1_000)
    .option('--json', 'print exactly one JSON value')
    .action(async ({ releases, json }: Options) => {
      const folder = await makeTempFolder(defer);
      const times = await measure(folder, releases);
      const totalMs = times.readMs + times.imagesMs + times.draftsMs;
      const machine = describeMachine(false);
      const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
      terminal.write(
        json
          ? `${JSON.stringify({ machine, releases, ...times, totalMs })}\n`
          : `${machineLine(machine)}\n\n${releases} releases with an image each: ${seconds(totalMs)} (read ${seconds(times.readMs)}, images ${seconds(times.imagesMs)}, drafts ${seconds(times.draftsMs)})\n`,
      );
    }),
);

async function measure(dataDir: string, releases: number): Promise<Times> {
  using github = startGithubApi({ clock: systemClock });
  const image = (index: number) => github.addImage(pixel(index));
  projectOf(github.addRepository('acme/rocket', { isPrivate: false }), systemClock, [
    { at: '2020-01-01T00:00:00Z', push: ['chore: start'] },
    ...Array.from({ length: releases }, (_, index): Happening => {
      const at = new Date(Date.UTC(2020, 0, 2, index)).toISOString();
      return { at, release: `v1.${index}.0`, notes: notesOf(index, image(index)) };
    }),
  ]);
  const config = readConfig({ DATA_DIR: dataDir }, { GITHUB_API_URL: github.url, LOG_LEVEL: 'warn' });
  const services = await openServices(config);
  try {
    await createOrganization(services, { id: 'acme', name: 'Acme', plan: 'free' });
    const startedAt = performance.now();
    const { id } = await startHistory(services, {
      type: 'github',
      organizationId: 'acme',
      repository: 'acme/rocket',
      contentType: 'changelog',
      publish: false,
    });
    await readHistory(services, id);
    const history = await services.db.read((tx) => findHistory(tx, id));
    if (history?.status !== 'done') throw new BenchError(`The import is ${history?.status}`);
    const readAt = performance.now();
    // The stand-in is on this machine, which real images may not be.
    await copyImages(services, { plainHosts: new Set(['127.0.0.1']), isAllowed: () => true });
    const copiedAt = performance.now();
    await withComposer((compose) => runTriggers(services, compose));
    const endedAt = performance.now();
    await requireDrafts(services, releases);
    return { readMs: readAt - startedAt, imagesMs: copiedAt - readAt, draftsMs: endedAt - copiedAt };
  } finally {
    await services.close();
  }
}

async function requireDrafts({ db }: Awaited<ReturnType<typeof openServices>>, releases: number) {
  const all = { statuses: ['draft' as const], contentTypes: ['changelog' as const] };
  const { posts, totalItems } = await db.read((tx) =>
    listPostPage(tx, 'acme', { ...all, limit: 100, page: 1, sort: 'desc' }),
  );
  const shown = posts.filter((post) => post.markdown.includes('/media/img_')).length;
  if (totalItems === releases && shown === posts.length) return;
  throw new BenchError(
    `${totalItems} of ${releases} drafts, and ${shown} of ${posts.length} show their image`,
  );
}

function notesOf(index: number, image: string): string {
  const lines = Array.from(
    { length: 12 },
    (_, line) => `- Change ${index}.${line} by @ann in https://github.com/acme/rocket/pull/${line}`,
  );
  return `### Added\n\n${lines.join('\n')}\n\n![Screenshot](${image})\n`;
}

/** A PNG of one pixel, which differs from all others. */
function pixel(index: number): Uint8Array<ArrayBuffer> {
  const chunk = (type: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(Bun.hash.crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0]);
  const color = Buffer.from([0, index & 255, (index >> 8) & 255, (index >> 16) & 255, 255]);
  return new Uint8Array(
    Buffer.concat([
      Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
      chunk('IHDR', header),
      chunk('IDAT', deflateSync(color)),
      chunk('IEND', Buffer.alloc(0)),
    ]),
  );
}
