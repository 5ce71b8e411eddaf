import { expect, test } from 'bun:test';
import { appWithGithub, claimCount, githubRequest, logOf } from '../support/deliveries.ts';
import { refuseWrites } from '../support/faults.ts';
import { bearer } from '../support/test-app.ts';

test('on a full disk deliveries fail without a claim and reads go on; with room they are accepted', async () => {
  const { app, connected } = await appWithGithub();
  const key = await app.addKey('org_a');
  await app.addPosts('org_a', {}, {});
  const deliver = async (delivery: string) => {
    const response = await app.request(
      ...githubRequest(connected, { zen: 'x'.repeat(20_000) }, { delivery }),
    );
    if (response.status !== 200) {
      expect(response.headers.get('retry-after')).toBe('5');
      expect(await response.json()).toEqual({ error: 'The database is not available' });
    }
    return response.status;
  };
  const emptyDisk = await refuseWrites(app.db, 'disk-full');
  const taken: string[] = [];
  let refused = '';
  for (let n = 0; refused === '' && n < 500; n++) {
    const status = await deliver(`d-${n}`);
    if (status === 200) taken.push(`d-${n}`);
    else refused = `d-${n}`;
    expect([200, 503]).toContain(status);
  }
  expect(refused).not.toBe('');
  expect(await claimCount(app)).toBe(taken.length);
  const response = await app.request('/v1/org_a/posts', bearer(key));
  expect(((await response.json()) as { posts: unknown[] }).posts).toHaveLength(2);

  await emptyDisk();
  expect(await deliver(refused)).toBe(200);
  const processed = (await logOf(app)).filter(({ status }) => status === 'processed');
  expect(processed.map(({ referenceId }) => referenceId).sort()).toEqual([...taken, refused].sort());
});
