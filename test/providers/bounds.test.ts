import { expect, test } from 'bun:test';
import { messageOf } from '../../src/providers/commit-text.ts';
import { github } from '../../src/providers/github/provider.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { linear } from '../../src/providers/linear/provider.ts';
import { changed, type Payload, readEvent } from '../support/payloads.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const sample = (event: string) => samplePayload('github', event, { repository: 'acme/rocket', now }) ?? {};

function dataOf(event: string, payload: Payload): Payload {
  const result = readEvent(github, event, payload);
  return result.outcome === 'processed' ? result.processed.data : {};
}

test('long notes are cut, and say so', () => {
  const body = `${'x'.repeat(199_999)}\r\n`;
  const short = dataOf('release', changed(sample('release'), { 'release.body': body }));
  expect(short.body).toBe(`${'x'.repeat(199_999)}\n`);

  const long = dataOf('release', changed(sample('release'), { 'release.body': 'y'.repeat(300_000) }));
  expect(String(long.body)).toHaveLength(200_000);
  expect(long.body).toEndWith('y\n\n(Cut here: the whole text has 300,000 characters.)');
});

test('a push of 2048 long commits is kept; the more commits, the shorter each message', () => {
  const commit = { id: 'a'.repeat(40), message: `feat: x\n\n${'z'.repeat(20_000)}` };
  const lengthsOf = (count: number) => {
    const data = dataOf('push', changed(sample('push'), { commits: Array(count).fill(commit) }));
    return (data.commits as { message: string }[]).map(({ message }) => message.length);
  };
  expect(lengthsOf(100)).toEqual(Array(100).fill(10_000));
  expect(lengthsOf(2048)).toEqual(Array(2048).fill(488));
});

test('titles are one line of at most 200 characters, reasons of at most 500', () => {
  const merged = changed(sample('pull_request'), { 'pull_request.title': `A\n\tB ${'🚀'.repeat(500)}` });
  const { title } = readEvent(github, 'pull_request', merged);
  expect(title).toStartWith('Pull request #12 merged: A B 🚀🚀');
  expect(title).toEndWith('🚀…');
  expect(title.length).toBeWithin(198, 201);
  expect(title.isWellFormed()).toBe(true);
  expect(dataOf('pull_request', merged)).toMatchObject({ title: expect.stringMatching(/^A B 🚀+…$/u) });

  const side = readEvent(github, 'push', changed(sample('push'), { ref: `refs/heads/${'b'.repeat(5000)}` }));
  expect(side.outcome === 'ignored' && side.reason.length).toBe(500);
});

test('lists end after a hundred', () => {
  const labels = Array.from({ length: 500 }, (_, index) => ({ name: `label ${index}` }));
  expect(dataOf('issues', changed(sample('issues'), { 'issue.labels': labels })).labels).toHaveLength(100);
});

test.each(['javascript:alert(1)', 'data:text/html,x', '/relative', 'https://x.test/a b', ''])(
  'the address %p is nothing to link to',
  (url) => {
    expect(dataOf('release', changed(sample('release'), { 'release.html_url': url })).url).toBeNull();
    const payload = changed(samplePayload('linear', 'Issue', { now }) ?? {}, { 'data.url': url, url });
    expect(readEvent(linear, 'Issue', payload)).toMatchObject({ processed: { data: { url: null } } });
  },
);

test.each([
  ['feat: x\n\nCo-authored-by: Ben <ben@acme.test>', 'feat: x\n\nCo-authored-by: Ben'],
  [
    'x\n\nSigned-off-by: A B <a@b.test>\nReviewed-by: C <c@d.test>',
    'x\n\nSigned-off-by: A B\nReviewed-by: C',
  ],
  ['x\r\n\r\nco-authored-by: Ben <ben@acme.test>\r\n', 'x\n\nco-authored-by: Ben\n'],
  ['fix: parse <a@b.test> as an address', 'fix: parse <a@b.test> as an address'],
  ['chore: x\n\nCloses-by: <tag>', 'chore: x\n\nCloses-by: <tag>'],
])('trailers lose their addresses: %p', (message, kept) => {
  expect(messageOf(message, 10_000)).toBe(kept);
});
