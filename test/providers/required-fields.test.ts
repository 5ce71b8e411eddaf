import { describe, expect, test } from 'bun:test';
import { github } from '../../src/providers/github/provider.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { linear } from '../../src/providers/linear/provider.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { changed, type Payload, readEvent, refusalOf } from '../support/payloads.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const sampleOf = ({ id }: Provider, event: string): Payload =>
  (id === 'github'
    ? samplePayload('github', event, { repository: 'acme/rocket', now })
    : samplePayload('linear', event, { now })) ?? {};

const required: [provider: Provider, event: string, fields: string[]][] = [
  [
    github,
    'push',
    ['ref', 'commits', 'commits.0.id', 'commits.0.message', 'repository', 'repository.default_branch'],
  ],
  [github, 'release', ['action', 'release', 'release.tag_name']],
  [
    github,
    'pull_request',
    ['action', 'pull_request', 'pull_request.number', 'pull_request.title', 'pull_request.merged'],
  ],
  [github, 'create', ['ref', 'ref_type']],
  [github, 'issues', ['action', 'issue', 'issue.number', 'issue.title']],
  [github, 'milestone', ['action', 'milestone', 'milestone.number', 'milestone.title']],
  [github, 'star', ['action', 'sender', 'sender.login']],
  [
    linear,
    'Issue',
    ['action', 'type', 'data', 'data.id', 'data.identifier', 'data.title', 'data.state', 'data.state.type'],
  ],
  [linear, 'Attachment', ['action', 'type', 'data', 'data.id', 'data.issueId', 'data.url']],
  [linear, 'Project', ['action', 'type', 'data', 'data.id', 'data.name']],
  [
    linear,
    'ProjectUpdate',
    ['action', 'type', 'data', 'data.id', 'data.project', 'data.project.id', 'data.project.name'],
  ],
  [
    linear,
    'InitiativeUpdate',
    ['action', 'type', 'data', 'data.id', 'data.initiative', 'data.initiative.id', 'data.initiative.name'],
  ],
];

describe.each(required.map(([provider, ...rest]) => [provider.name, provider, ...rest] as const))(
  '%s',
  (_, provider, event, fields) => {
    const sample = sampleOf(provider, event);

    test.each(fields)(`${event} needs %s, and says so`, (field) => {
      expect(refusalOf(provider, event, changed(sample, { [field]: undefined }))).toBe(`${field} is missing`);
      expect(refusalOf(provider, event, changed(sample, { [field]: { not: 'this' } }))).toStartWith(field);
      expect(refusalOf(provider, event, changed(sample, { [field]: null }))).toStartWith(`${field} `);
    });

    test(`${event} needs nothing else`, () => {
      const bare = prune(sample, fields);
      expect(readEvent(provider, event, bare).outcome).toBe('processed');
    });

    test(`${event} takes null for everything else`, () => {
      for (const field of Object.keys(sample).filter((each) => !fields.includes(each))) {
        expect(refusalOf(provider, event, changed(sample, { [field]: null }))).toBeNull();
      }
    });
  },
);

test('a field of the wrong kind names itself and says what it must be', () => {
  const wrong = (event: string, changes: Payload) =>
    refusalOf(github, event, changed(sampleOf(github, event), changes));
  expect(wrong('release', { 'release.name': 5 })).toBe('release.name must be text or null');
  expect(wrong('release', { 'release.draft': 'no' })).toBe('release.draft must be true, false or null');
  expect(wrong('release', { 'release.tag_name': '' })).toBe('release.tag_name must not be empty');
  expect(wrong('issues', { 'issue.labels': {} })).toBe(
    'issue.labels must be a list of things with names or null',
  );
  expect(wrong('push', { 'commits.1': 'x' })).toBe('commits.1 is wrong: expected object, not "x"');
});

/** A copy that holds only these fields. */
function prune(value: unknown, fields: readonly string[], path = ''): Payload {
  const isKept = (at: string) => fields.some((field) => field === at || field.startsWith(`${at}.`));
  const entries = Object.entries(value as Payload).flatMap(([key, inner]) => {
    const at = path === '' ? key : `${path}.${key}`;
    if (Array.isArray(inner) && isKept(at))
      return [[key, inner.slice(0, 1).map((each) => prune(each, fields, `${at}.0`))]];
    if (!isKept(at)) return [];
    return [[key, typeof inner === 'object' && inner !== null ? prune(inner, fields, at) : inner]];
  });
  return Object.fromEntries(entries);
}
