import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeLock } from '../../db/sqlite/lock.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { lockFile } from '../../src/server/data-folder.ts';
import { rowsIn } from '../support/backups.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { connectRepository } from '../support/fleet.ts';
import { changed } from '../support/payloads.ts';
import { rounds } from '../support/rounds.ts';
import { program, type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const SENDERS = 6;
const ROUNDS = rounds(2, 8);
/** Deliveries in a round. More would leave a backup without a processor while other tests run. */
const PER_ROUND = 300;

let server: ServerProcess | undefined;

afterAll(async () => {
  await server?.stop('SIGKILL');
  folder.remove();
});

test('a backup under load restores to exactly what was acknowledged before it began, and nothing half', async () => {
  const dataDir = join(folder.path, 'data');
  const json = (...words: string[]) => cliJson(dataDir, words);
  const hooks = await connectRepository({ json });
  await json('trigger', 'create', '--integration', hooks.integrationId, '--event', 'release');
  server = await startTidings(dataDir);
  const { url } = server;

  const sent = new Set<string>();
  const acknowledged = new Set<string>();
  let isOver = false;
  let allowed = PER_ROUND;

  async function deliver(id: string): Promise<void> {
    const number = id.replaceAll(/\D/g, '');
    const sample = samplePayload('github', 'release', { repository: 'a/b', now: new Date() }) ?? {};
    const names = { 'release.id': Number(number), 'release.tag_name': `v${number}`, 'release.name': id };
    sent.add(id);
    const payload = changed(sample, { ...names, 'release.body': '- A change' });
    expect(await hooks.deliver(url, { id, event: 'release', payload })).toBe(200);
    acknowledged.add(id);
  }

  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    for (let n = 0; ; n++) {
      await until(
        async () => sent.size,
        (size) => size < allowed || isOver,
        300_000,
      );
      if (isOver) return;
      await deliver(`d-${sender}${String(n).padStart(6, '0')}`);
    }
  });
  for (let round = 0; round < ROUNDS; round++) {
    const enough = acknowledged.size + 50;
    allowed = sent.size + PER_ROUND;
    await until(
      async () => acknowledged.size,
      (size) => size > enough,
    );
    const before = new Set(acknowledged);
    const file = join(folder.path, `${round}.backup`);
    // Another process, as a person would start it.
    const child = Bun.spawn([...program, 'backup', file, '--with-key', '--json', '--data-dir', dataDir], {
      env: { PATH: Bun.env.PATH },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const told = JSON.parse(await new Response(child.stdout).text());
    expect(await child.exited).toBe(0);
    const sentByThen = new Set(sent);
    expect(acknowledged.size).toBeGreaterThan(before.size);

    const other = join(folder.path, `other-${round}`);
    await cliJson(other, ['restore', file, '--unverified']);
    const rows = await rowsIn(other);
    const processed = (rows.deliveries ?? []).map(({ reference_id, status }) => ({
      id: String(reference_id),
      status,
    }));
    const taken = new Set(processed.map(({ id }) => id));
    expect(processed.every(({ status }) => status === 'processed')).toBe(true);
    // All that was acknowledged before it began; nothing that was not sent; each once, with its claim and its event.
    expect([...before].filter((id) => !taken.has(id))).toEqual([]);
    expect([...taken].filter((id) => !sentByThen.has(id))).toEqual([]);
    expect(processed.length).toBe(taken.size);
    expect(new Set(rows.delivery_claims?.map(({ delivery_id }) => delivery_id))).toEqual(taken);
    expect(new Set(rows.events?.map(({ delivery_id }) => delivery_id))).toEqual(taken);
    expect(told.tables).toMatchObject({
      deliveries: taken.size,
      events: taken.size,
      delivery_claims: taken.size,
    });
  }
  isOver = true;
  await Promise.all(senders);
}, 300_000);

test.skipIf(process.platform !== 'linux')('a backup leaves the processors to the server', async () => {
  const dataDir = join(folder.path, 'nice');
  await cliJson(dataDir, ['organization', 'create', '--name', 'Acme']);
  // As a restore does: the backup waits.
  const release = takeLock(lockFile(dataDir), 'restore');
  const words = ['backup', join(folder.path, 'nice.backup'), '--data-dir', dataDir];
  const child = Bun.spawn([...program, ...words], { env: { PATH: Bun.env.PATH }, stdout: 'ignore' });
  try {
    // The 19th field, behind a name in parentheses (proc_pid_stat(5)).
    const niceness = async () =>
      Number(readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[16]);
    await until(niceness, (value) => value === 10);
  } finally {
    release?.();
  }
  expect(await child.exited).toBe(0);
});
