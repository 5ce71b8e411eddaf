import { expect, test } from 'bun:test';
import { github } from '../../../src/providers/github/provider.ts';
import { sampleEvents, samplePayload } from '../../../src/providers/index.ts';
import { SAMPLE_REPOSITORY_ID } from '../../../src/providers/provider.ts';
import { githubSchemas } from '../../support/github.ts';
import { changed, readEvent } from '../../support/payloads.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const sample = (event: string) => samplePayload('github', event, { repository: 'acme/rocket', now }) ?? {};
const problemsOf = await githubSchemas();

test('there is a sample of each event that Tidings knows, and of no other', () => {
  expect(sampleEvents('github').toSorted()).toEqual(Object.keys(github.events).toSorted());
  for (const event of ['fork', 'toString', '']) {
    expect(samplePayload('github', event, { repository: 'acme/rocket', now })).toBeNull();
  }
});

test.each(sampleEvents('github'))('%s is as GitHub’s schema has it, and matters', (event) => {
  const payload = sample(event);
  expect(problemsOf(event, payload)).toEqual([]);
  expect(JSON.parse(JSON.stringify(payload))).toEqual(payload);
  expect(readEvent(github, event, payload).outcome).toBe(event === 'ping' ? 'ping' : 'processed');
  expect(github.repositoryOf(payload)).toEqual({ id: SAMPLE_REPOSITORY_ID, fullName: 'acme/rocket' });
});

test('the schemas do find what is wrong', () => {
  expect(problemsOf('release', changed(sample('release'), { 'release.tag_name': undefined }))).toEqual([
    "/release must have required property 'tag_name'",
  ]);
});

test('a sample is of the repository and the time that are asked for', () => {
  const text = JSON.stringify(
    samplePayload('github', 'release', { repository: 'ann/pad.js', now: new Date(0) }),
  );
  expect(text).toContain('https://github.com/ann/pad.js/releases/tag/v2.4.0');
  expect(text).toContain('1969-12-31T23:59:00Z');
  expect(text).not.toContain('acme');
});
