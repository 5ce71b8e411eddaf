import type { Change } from '../../../src/drafting/changes/groups.ts';
import type { Commit, EventData } from '../../../src/providers/events.ts';

// Defaults of fields that these tests do not use.

export function commit(given: Partial<Commit>): Commit {
  return { sha: 'a'.repeat(40), subject: 'x', breaking: null, author: null, url: null, ...given };
}

export function pullRequest(given: Partial<EventData['pull_request']>): EventData['pull_request'] {
  return {
    number: 1,
    title: 'x',
    breaking: null,
    labels: [],
    author: null,
    isDefaultBranch: true,
    mergeCommitSha: null,
    url: null,
    ...given,
  };
}

export function issue(given: Partial<EventData['issue']>): EventData['issue'] {
  return {
    id: 'id',
    identifier: 'ENG-1',
    title: 'x',
    labels: [],
    team: null,
    project: null,
    author: null,
    url: null,
    isCompleted: true,
    ...given,
  };
}

export function change(given: Partial<Change>): Change {
  return {
    text: 'X',
    scope: null,
    group: 'Other',
    isBreaking: false,
    breakingNote: null,
    references: [],
    authors: [],
    ...given,
  };
}
