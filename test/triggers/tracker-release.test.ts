import { beforeEach, expect, test } from 'bun:test';
import { createTrigger, type NewTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { connectLinear, linearRequest } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { changed, type Payload } from '../support/payloads.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// Releases of an issue tracker.

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  app = await appWithOrganization();
  connected = await connectLinear(app, 'org_a');
});

const trigger = (given: Partial<NewTrigger> = {}) => {
  const { integrationId } = connected;
  return createTrigger(app.deps, { integrationId, event: 'Release', contentType: 'changelog', ...given });
};

async function deliver(payload: Payload): Promise<void> {
  const [path, init] = linearRequest(connected, payload, { event: String(payload.type) });
  expect((await app.request(path, init)).status).toBe(200);
  await runAll(app);
}

const sample = (event: string) => samplePayload('linear', event, { now: app.clock.now() }) ?? {};
const released = (changes: Payload = {}) => changed(sample('Release'), changes);
const later = (seconds: number) => new Date(app.clock.now().getTime() + seconds * 1000).toISOString();

test('a completed release is a draft of its issues, each as it was completed', async () => {
  const { id: triggerId } = await trigger();
  await deliver(changed(sample('Issue'), {}));
  await deliver(released());
  expect(await postsOf(app)).toMatchObject([
    {
      title: 'Rocket 2.4.0',
      status: 'draft',
      createdAt: app.clock.now().toISOString(),
      sourceMetadata: { platform: 'linear', version: '2.4.0', triggerId },
      markdown: [
        '### Fixed\n',
        '- Fuel gauge ([ENG-412](https://linear.app/acme/issue/ENG-412/fuel-gauge))\n',
        '### Other\n',
        '- Quiet mode between 22:00 and 06:00 ([ENG-398](https://linear.app/acme/issue/ENG-398/quiet-mode))',
      ].join('\n'),
    },
  ]);
});

test.each([['before'], ['after']])('its notes, %s it, are its text', async (when) => {
  await trigger();
  const [note, whole] = [sample('ReleaseNote'), released()];
  for (const each of when === 'before' ? [note, whole] : [whole, note]) await deliver(each);
  const posts = await postsOf(app);
  expect(posts.map(({ title }) => title)).toEqual(['Quieter engines']);
  expect(posts[0]?.markdown).toContain('- Engines start **40 % softer** at night');
});

test('notes alone, and a release that is not completed, make nothing', async () => {
  await trigger();
  await deliver(sample('ReleaseNote'));
  await deliver(released({ 'data.stage.type': 'started' }));
  await deliver(released({ action: 'remove' }));
  await deliver(released({ 'data.trashed': true }));
  expect(await postsOf(app)).toEqual([]);
});

test('an edit changes the draft, and makes none', async () => {
  await trigger();
  const edit = { updatedFrom: { name: 'x' }, 'data.name': 'Rocket two', 'data.updatedAt': later(5) };
  await deliver(released(edit));
  expect(await postsOf(app)).toEqual([]);
  await deliver(released());
  expect((await postsOf(app)).map(({ title }) => title)).toEqual(['Rocket two']);
});

test('an issue that is completed later changes the draft', async () => {
  await trigger();
  await deliver(released());
  await deliver(changed(sample('Issue'), { 'data.title': 'A better fuel gauge' }));
  expect((await postsOf(app))[0]?.markdown).toContain('- A better fuel gauge ([ENG-412]');
});

test('filters choose by version and pipeline', async () => {
  await trigger({ filters: { tag: ['3.*'] } });
  await trigger({ filters: { branch: ['iOS*'] } });
  await deliver(released());
  expect(await postsOf(app)).toEqual([]);
  await deliver(released({ 'data.id': 'other', 'data.pipeline.name': 'iOS app' }));
  expect(await postsOf(app)).toHaveLength(1);
});

test('a LinkedIn post names the release', async () => {
  await trigger({ contentType: 'linkedin_post' });
  await deliver(released({ 'data.name': '2.4.0' }));
  expect((await postsOf(app))[0]?.content).toStartWith('2.4.0 is out');
});
