import { expect, test } from 'bun:test';
import type { WriteOptions } from '../../db/engine.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { randomIds } from '../../src/lib/text.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { connectGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';

// Two processes that receive the deliveries of one repository.

async function setUp() {
  const together = openTogether();
  const keys: WriteOptions['key'][] = [];
  const [one, other] = together.databases.map((db) => {
    const recording: typeof db = {
      ...db,
      write(work, options: WriteOptions = {}) {
        keys.push(options.key);
        return db.write(work, options);
      },
    };
    return createTestApp({ db: recording, ids: randomIds });
  });
  if (one === undefined || other === undefined) throw new Error('two are opened');
  await one.addOrganization('org_a');
  const connected = await connectGithub(one, 'org_a');
  const { integrationId } = connected;
  for (const contentType of ['changelog', 'linkedin_post'] as const)
    await createTrigger(one.deps, { integrationId, event: 'release', contentType });
  return {
    ...together,
    one,
    other,
    connected,
    /** The keys of the writes since the last call. */
    keys: () => keys.splice(0),
  };
}

const release = (tag: string, version = 0) =>
  changed(
    samplePayload('github', 'release', { repository: 'acme/rocket', now: new Date(Date.UTC(2026, 0, 1)) }) ??
      {},
    {
      action: version === 0 ? 'published' : 'edited',
      'repository.id': 42,
      'release.tag_name': tag,
      'release.name': `${tag}, version ${version}`,
      'release.target_commitish': `branch of ${tag}`,
      'release.updated_at': new Date(Date.UTC(2026, 0, 2, 0, version)).toISOString(),
    },
  );

test('a delivery that both get at the same time is processed once', async () => {
  const { one, other, connected } = await setUp();
  const sent = githubRequest(connected, release('v1'), { event: 'release', delivery: 'the-same' });
  const responses = await Promise.all([one, other, one, other].map((app) => app.request(...sent)));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const statuses = (await logOf(one)).map(({ status }) => status).sort();
  expect(statuses).toEqual(['duplicate', 'duplicate', 'duplicate', 'processed']);
});

test('the versions of an event keep their order, and other events need not wait for them', async () => {
  const { one, connected, keys } = await setUp();
  const deliver = (payload: object) =>
    one.request(...githubRequest(connected, payload, { event: 'release' }));
  await deliver(release('v1'));
  // This delivery may change the repository for all others.
  expect(keys().at(-1)).toContain(`integration ${connected.integrationId}`);
  for (const payload of [release('v1', 1), release('v1', 2), release('v2')]) await deliver(payload);
  const [first, second, third] = keys();
  expect(first).toBeString();
  expect(second).toBe(first);
  expect(third).toBeString();
  expect(third).not.toBe(first);
});

test('deliveries of many events and versions, sent to both in any order, make the drafts of the newest', async () => {
  const { one, other, connected } = await setUp();
  const tags = Array.from({ length: 10 }, (_, tag) => `v${tag}`);
  const payloads = [0, 3, 1, 2].flatMap((version) => tags.map((tag) => release(tag, version)));
  const responses = await Promise.all(
    payloads.map((payload, number) =>
      (number % 2 === 0 ? one : other).request(...githubRequest(connected, payload, { event: 'release' })),
    ),
  );
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await runAll(other)).toBe(20);
  const titles = (await postsOf(one)).map(({ title }) => title);
  expect(titles.sort()).toEqual(tags.flatMap((tag) => [`${tag}, version 3`, `${tag}, version 3`]));
});
