import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { rowsIn } from '../support/backups.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { program, type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const SENDERS = 6;
const ROUNDS = 4;

let server: ServerProcess | undefined;

afterAll(async () => {
  await server?.stop('SIGKILL');
  folder.remove();
});

test('a backup under load restores to exactly what was acknowledged before it began, and nothing half', async () => {
  const dataDir = join(folder.path, 'data');
  const json = (...words: string[]) => cliJson(dataDir, words);
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const words = ['--organization', 'acme', '--repository', 'a/b'];
  const { integrationId, secret, webhookUrl } = await json('integration', 'connect', 'github', ...words);
  await json(
    'trigger',
    'create',
    '--integration',
    integrationId,
    '--event',
    'release',
    '--content-type',
    'changelog',
  );
  server = await startTidings(dataDir);
  const url = `${server.url}${new URL(webhookUrl).pathname}`;

  const sent = new Set<string>();
  const acknowledged = new Set<string>();
  let isOver = false;

  async function deliver(id: string): Promise<void> {
    const number = id.replaceAll(/\D/g, '');
    const body = JSON.stringify({
      action: 'published',
      release: {
        id: Number(number),
        tag_name: `v${number}`,
        name: id,
        body: '- A change',
        html_url: 'https://github.com/a/b',
        draft: false,
        prerelease: false,
        created_at: '2026-11-20T12:00:00Z',
        published_at: '2026-11-20T12:00:00Z',
        target_commitish: 'main',
      },
      repository: { full_name: 'a/b', html_url: 'https://github.com/a/b', default_branch: 'main' },
    });
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'release',
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${hmacSha256(secret, body)}`,
    };
    sent.add(id);
    const response = await fetch(url, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    acknowledged.add(id);
  }

  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    for (let n = 0; !isOver; n++) await deliver(`d-${sender}${String(n).padStart(6, '0')}`);
  });
  for (let round = 0; round < ROUNDS; round++) {
    const enough = acknowledged.size + 50;
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
