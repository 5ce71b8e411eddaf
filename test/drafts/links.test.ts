import { expect, test } from 'bun:test';
import { changesOf } from '../../src/drafting/changes/reached.ts';
import { compareUrl, repositoryUrl } from '../../src/drafting/links.ts';
import type { Material } from '../../src/drafting/store.ts';
import { commit, pullRequest } from './changes/samples.ts';

const material = (url: string) =>
  ({
    release: null,
    pushes: [],
    pullRequests: [{ occurredAt: '', key: '14', data: pullRequest({ number: 14, url }) }],
    previousTag: 'v1.0',
    branch: 'main',
  }) as unknown as Material;

test.each([
  ['https://github.com/acme/rocket/pull/14', 'https://github.com/acme/rocket'],
  ['https://forge.test/acme/rocket/pulls/14', 'https://forge.test/acme/rocket'],
  ['https://acme.test/git/acme/rocket/pulls/14', 'https://acme.test/git/acme/rocket'],
  ['https://acme.test/git/acme/releases/pulls/14', 'https://acme.test/git/acme/releases'],
  ['https://acme.test/git/acme/commit/pulls/14', 'https://acme.test/git/acme/commit'],
  ['https://acme.test/git/acme/commit/commit/aaaaaaa', 'https://acme.test/git/acme/commit'],
  ['https://acme.test/git/acme/releases/releases/tag/v1', 'https://acme.test/git/acme/releases'],
  ['https://acme.test/git/acme/compare/pulls/14', 'https://acme.test/git/acme/compare'],
  ['https://acme.test/git/acme/compare/commit/aaaaaaa', 'https://acme.test/git/acme/compare'],
  ['https://acme.test/git/acme/compare/compare/aaaaaaa...bbbbbbb', 'https://acme.test/git/acme/compare'],
  ['https://acme.test/git/acme/compare/releases/tag/v1', 'https://acme.test/git/acme/compare'],
  ['https://acme.test/git/acme/pulls/pulls/14#issue', 'https://acme.test/git/acme/pulls'],
  ['https://github.com/acme/compare/compare/aaaaaaa^...bbbbbbb', 'https://github.com/acme/compare'],
  [
    'https://acme.test/gitlab/acme/group/rocket/-/merge_requests/14',
    'https://acme.test/gitlab/acme/group/rocket',
  ],
])('pull requests alone give the link to all changes: %s', (url, repository) => {
  expect(repositoryUrl(material(url))).toBe(repository);
  const page = url.includes('/-/') ? '/-/compare' : '/compare';
  expect(compareUrl(material(url))).toBe(`${repository}${page}/v1.0...main`);
});

test('a commit of Forgejo refers to the pull request in its subject', () => {
  const url = 'https://acme.test/git/acme/rocket/commit/aaaaaaa';
  const pushed = commit({ subject: 'feat: x (#14)', url, pullPath: 'pulls' });
  const pushes = [{ occurredAt: '', key: 'a', data: { after: 'a', compareUrl: null, commits: [pushed] } }];
  const [change] = changesOf({ pushes, pullRequests: [] });
  expect(change?.references).toEqual([{ label: '#14', url: 'https://acme.test/git/acme/rocket/pulls/14' }]);
});
