import { describe, expect, test } from 'bun:test';
import { providers } from '../../src/providers/index.ts';
import { loadSubjects } from '../support/provider-kit.ts';
import { managingTests } from './conformance-managing.ts';
import { readingTests } from './conformance-reading.ts';
import { receivingTests } from './conformance-receiving.ts';
import { recoveryTests } from './conformance-recovery.ts';
import { replayTests } from './conformance-replay.ts';

// One table of tests that every provider passes. Skipped rows are those that a provider declares it has no part for.

const subjects = await loadSubjects();

test('every provider is in the table', () => {
  expect(subjects.map(({ provider }) => provider.id)).toEqual(providers.map(({ id }) => id));
});

for (const subject of subjects) {
  describe(subject.provider.name, () => {
    receivingTests(subject);
    replayTests(subject);
    managingTests(subject);
    readingTests(subject);
    recoveryTests(subject);
  });
}
