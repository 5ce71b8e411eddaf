import { expect, test } from 'bun:test';
import { changesOf } from '../../src/drafting/changes/reached.ts';
import { compareUrl, labelOfAddress, repositoryUrl } from '../../src/drafting/links.ts';
import type { Material } from '../../src/drafting/store.ts';
import { commit, pullRequest } from './changes/samples.ts';

const listed = (...given: Parameters<typeof changesOf>) => changesOf(...given).changes;

/** `~` stands between the repository and the page: `https://acme.test/git/acme/rocket~/pulls/14`. */
function linksOf(marked: string, repository: string) {
  const url = marked.replace('~', '');
  const event = { occurredAt: '', key: '14' };
  const [, kind = ''] = /~(?:\/-)?\/([a-z]+)/.exec(marked) ?? [];
  const push = { after: 'a', compareUrl: kind === 'compare' ? url : null, commits: [commit({ url })] };
  const isPush = kind === 'compare' || kind === 'commit';
  const material = {
    repository,
    release: kind === 'releases' ? { ...event, data: { tag: 'main', url } } : null,
    pushes: isPush ? [{ ...event, data: push }] : [],
    pullRequests: /^(?:pull|merge)/.test(kind) ? [{ ...event, data: pullRequest({ number: 14, url }) }] : [],
    previousTag: 'v1.0',
    branch: 'main',
  } as unknown as Material;
  return [repositoryUrl(material), compareUrl(material)];
}

const SHA = 'c02f9a6d1c02f9a6d1c02f9a6d1c02f9a6d1c02f';
const PAGES = [
  '/pull/14',
  '/pulls/14',
  `/commit/${SHA}`,
  '/releases/tag/main',
  // Tags and branches may have the names of pages, and of the repository.
  '/releases/tag/acme/NAME/pull/1/compare/x',
  `/compare/${SHA}...main`,
  '/compare/acme/NAME/compare/v1...acme/NAME/commit/abcdefa',
];

test.each([
  'rocket',
  'compare',
  'commit',
  'commits',
  'issues',
  'pull',
  'pulls',
  'releases',
  'tag',
  '-',
  '12',
])(
  'a repository %s has its page and the link to all changes, wherever its server and whoever its owner is',
  (name) => {
    const repositories = [
      `https://forge.test/acme/${name}`,
      `https://forge.test/${name}/${name}`,
      `https://acme.test/git/acme/${name}`,
      `https://acme.test/git/${name}/${name}`,
      `http://acme.test:3000/compare/acme/${name}`,
      `http://acme.test:3000/a/acme/${name}/acme/${name}`,
    ];
    for (const url of repositories) {
      const fullName = url.split('/').slice(-2).join('/');
      for (const page of PAGES) {
        const address = `${url}~${page.replaceAll('NAME', name)}`;
        expect([address, ...linksOf(address, fullName)]).toEqual([
          address,
          url,
          `${url}/compare/v1.0...main`,
        ]);
      }
    }
  },
);

test.each([
  ['https://gitlab.test/acme/group/rocket~/-/merge_requests/14', 'acme/group/rocket'],
  ['https://acme.test/gitlab/acme/group/compare~/-/merge_requests/14', 'acme/group/compare'],
  ['https://acme.test/gitlab/gitlab/gitlab~/-/compare/a...b', 'gitlab/gitlab'],
  [`https://acme.test/commit/acme/commit~/-/commit/${SHA}`, 'acme/commit'],
])('GitLab puts the pages below /-/: %s', (address, repository) => {
  const [url = ''] = address.split('~');
  expect(linksOf(address, repository)).toEqual([url, `${url}/-/compare/v1.0...main`]);
});

test.each([
  ['another repository', 'https://forge.test/acme/rocket2~/pull/14', 'acme/rocket'],
  ['another owner', 'https://forge.test/old-acme/rocket~/pull/14', 'acme/rocket'],
  ['a pattern', 'https://forge.test/acme/rocketxjs~/pull/14', 'acme/rocket.js'],
  ['no page', 'https://forge.test/acme/rocket~/pull/x', 'acme/rocket'],
])('an address of %s gives none', (_, address, repository) => {
  expect(linksOf(address, repository)).toEqual([null, null]);
});

test.each([
  ['https://github.com/pull/12/issues/3', '#3'],
  ['https://github.com/issues/12/pull/14/files', '#14'],
  ['https://acme.test/git/issues/12/pulls/14', '#14'],
  ['https://acme.test/git/acme/commit/commit/c02f9a6d1', 'c02f9a6'],
  ['https://github.com/commit/deadbee/commit/c02f9a6d1', 'c02f9a6'],
  [`https://forge.test/acme/rocket/commit/${'c'.repeat(64)}`, 'ccccccc'],
  ['https://acme.test/gitlab/acme/issues/-/merge_requests/9#note_1', '!9'],
  ['https://github.com/orgs/acme/discussions/7', '#7'],
  ['https://github.com/pull/12', null],
  ['https://github.com/acme/rocket/pull/12a', null],
])('the label of %s is %s', (url, label) => {
  expect(labelOfAddress(url)).toBe(label);
});

test.each([
  ['https://acme.test/git/acme/rocket', 'pulls'],
  ['https://acme.test/git/acme/commit', 'pulls'],
  ['https://github.com/acme/commit', 'pull'],
  ['https://github.com/acme/-', 'pull'],
])('a commit of %s refers to the pull request in its subject', (repository, pullPath) => {
  const pushed = commit({ subject: 'feat: x (#14)', url: `${repository}/commit/aaaaaaa`, pullPath });
  const pushes = [{ occurredAt: '', key: 'a', data: { after: 'a', compareUrl: null, commits: [pushed] } }];
  const [change] = listed({ pushes, pullRequests: [] });
  expect(change?.references).toEqual([{ label: '#14', url: `${repository}/${pullPath}/14` }]);
});
