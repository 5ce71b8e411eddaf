import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { samplePayload } from '../../src/providers/index.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { postSigned } from '../support/fleet.ts';
import { changed } from '../support/payloads.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const DELIVERIES = 200;
const RELEASES = 20;

let server: ServerProcess | undefined;

afterAll(async () => {
  await server?.stop('SIGKILL');
  folder.remove();
});

const dataDir = join(folder.path, 'data');
const json = (...words: string[]) => cliJson(dataDir, words);

// Both pass the checks on any machine, with the few changes of the sample.
const fails = '{{ release.name }}{% if changes.size > 10 %}{{ 1 | divided_by: 0 }}{% endif %}';
const takesTooLong =
  '{% for a in changes %}{% for b in changes %}{% assign x = changes | group_by: "text" %}{% endfor %}{% endfor %}';

test('triggers that fail and that take too long delay no answer and no draft of the others', async () => {
  server = await startTidings(dataDir);
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const connect = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b'];
  const { integrationId, secret, webhookUrl } = await json(...connect);
  const create = ['trigger', 'create', '--integration', integrationId, '--event', 'release'];
  const path = join(folder.path, 'body.liquid');
  await Bun.write(path, fails);
  const failing = await json(...create, '--template', path);
  await Bun.write(path, takesTooLong);
  const slow = await json(...create, '--template', path, '--prereleases', 'no');
  const healthy = await json(...create, '--content-type', 'linkedin_post');

  const notes = Array.from({ length: 300 }, (_, index) => `- Change ${index}`).join('\n');
  const url = `${server.url}${new URL(webhookUrl).pathname}`;
  async function deliver(n: number): Promise<number> {
    const now = new Date(Date.UTC(2026, 0, 1, n % RELEASES));
    const sample = samplePayload('github', 'release', { repository: 'a/b', now }) ?? {};
    const tag = `v1.${n % RELEASES}.0`;
    const payload = changed(sample, { 'release.tag_name': tag, 'release.body': notes });
    return (await postSigned(url, secret, { id: crypto.randomUUID(), event: 'release', payload })).status;
  }

  const statuses: number[] = [];
  for (let n = 0; n < DELIVERIES; n++) statuses.push(await deliver(n));
  expect(statuses).toEqual(Array.from({ length: DELIVERIES }, () => 200));

  type Made = { sourceMetadata: { version: string; triggerId: string } };
  const posts = await until(
    (): Promise<Made[]> => json('post', 'list', '--organization', 'acme', '--limit', '1000'),
    (found) => found.length >= RELEASES,
  );
  expect(new Set(posts.map(({ sourceMetadata: { triggerId } }) => triggerId))).toEqual(new Set([healthy.id]));
  expect(new Set(posts.map(({ sourceMetadata: { version } }) => version)).size).toBe(RELEASES);
  // The slow one is at work for some time yet; that does not keep the server from stopping.
  const left = await until(
    (): Promise<{ triggerId: string }[]> => json('trigger', 'runs'),
    (runs) => runs.length === 2,
  );
  expect(left.map(({ triggerId }) => triggerId).sort()).toEqual([failing.id, slow.id].sort());
  expect(await server.stop()).toBe(0);
  expect(await json('trigger', 'runs')).toHaveLength(2);
}, 300_000);
