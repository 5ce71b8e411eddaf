import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { program, startProcess } from '../support/server.ts';
import { until } from '../support/until.ts';

const LIMIT = 100;

// Only Linux tells how many descriptors a process has open.
const prlimit = process.platform === 'linux' ? Bun.which('prlimit') : null;

test.skipIf(prlimit === null)(
  'a server without free descriptors keeps writing drafts, and serves again when connections end',
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const json = (...words: string[]) => cliJson(dataDir, words);
    const serve = [...program, 'serve'];
    const server = await startProcess([prlimit ?? '', `--nofile=${LIMIT}:${LIMIT}`, ...serve], { dataDir });
    const sockets: { terminate(): void }[] = [];
    try {
      await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
      const { integrationId } = await json(
        ...['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'acme/rocket'],
      );
      await json('send', 'github', 'release', '--integration', integrationId, '--url', server.url);
      const [{ id }] = await json('delivery', 'list', '--organization', 'acme');
      const draftAs = (contentType: string) =>
        json(
          ...['trigger', 'create', '--integration', integrationId],
          ...['--event', 'release', '--content-type', contentType],
        );
      const drafts = () => json('post', 'list', '--organization', 'acme', '--status', 'draft');
      // From source, the first draft reads files.
      await draftAs('changelog');
      await json('delivery', 'replay', id);
      expect(await until(drafts, (posts) => posts.length > 0)).toHaveLength(1);
      await draftAs('linkedin_post');

      for (let n = 0; n < LIMIT * 2; n++) {
        sockets.push(
          await Bun.connect({
            hostname: '127.0.0.1',
            port: Number(new URL(server.url).port),
            socket: { data: () => undefined, error: () => undefined },
          }),
        );
      }
      // The kernel keeps silent connections to itself for a while.
      const used = async () => readdirSync(`/proc/${server.pid}/fd`).length;
      await until(used, (count) => count >= LIMIT);

      await json('delivery', 'replay', id);
      expect(await until(drafts, (posts) => posts.length > 1)).toHaveLength(2);

      // The server counts its descriptors twice a second.
      await until(
        async () => server.log(),
        (log) => log.includes('too many open connections'),
      );
      for (const socket of sockets) socket.terminate();
      const ping = () =>
        fetch(`${server.url}/ping`, { keepalive: false }).then((response) => response.status);
      expect(await until(ping, (status) => status === 200)).toBe(200);
      expect(await server.stop()).toBe(0);
    } finally {
      await server.stop('SIGKILL');
      folder.remove();
    }
  },
  60_000,
);

test.skipIf(prlimit === null)(
  'the soft limit of open files becomes the hard one',
  async () => {
    const folder = temporaryFolder();
    // Bun raises it at the start of each process.
    const words = [prlimit ?? '', '--nofile=256:4096', ...program, 'serve'];
    const server = await startProcess(words, { dataDir: folder.path });
    try {
      const limits = readFileSync(`/proc/${server.pid}/limits`, 'utf8');
      expect(limits).toMatch(/^Max open files +4096 +4096 /m);
      expect(await server.stop()).toBe(0);
    } finally {
      await server.stop('SIGKILL');
      folder.remove();
    }
  },
  60_000,
);
