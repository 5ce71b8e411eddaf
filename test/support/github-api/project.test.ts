import { expect, test } from 'bun:test';
import { githubSchemas } from '../github.ts';
import type { Happening } from './project.ts';
import { startReading } from './reading.ts';

const HAPPENINGS: Happening[] = [
  { push: ['chore: start'] },
  { push: [{ message: 'fix: ü', author: { name: 'Zoë', login: null }, paths: ['packages/api/a.ts'] }] },
  { push: ['feat: other'], drop: 1 },
  { push: ['feat: aside'], branch: 'side' },
  { merge: 12, title: 'feat: quiet', labels: ['feature'], body: 'Why' },
  { merge: 13, title: 'fix: leak', how: 'merge', commits: ['one', 'two'] },
  { merge: 14, title: 'docs', how: 'rebase', commits: ['one', 'two'], by: 'dependabot[bot]' },
  { close: 15, title: 'An idea' },
  { comment: 12 },
  { release: 'v1.0.0', name: 'One', notes: 'Notes' },
  { release: 'v2.0.0-rc.1', isPrerelease: true, target: 'side' },
  { release: 'v3.0.0', isDraft: true },
  { publish: 'v3.0.0' },
  { edit: 'v1.0.0', notes: 'Better' },
];

test('every delivery is as GitHub’s schema has it', async () => {
  const problemsOf = await githubSchemas();
  using world = await startReading(HAPPENINGS);
  const names: string[] = [];
  for (const { event, payload } of world.project.past.flat()) {
    names.push([event, payload.action].filter(Boolean).join(' '));
    expect([event, problemsOf(event, payload)]).toEqual([event, []]);
  }
  expect(new Set(names)).toEqual(
    new Set([
      'push',
      'pull_request closed',
      'release created',
      'release published',
      'release released',
      'release prereleased',
      'release edited',
    ]),
  );
});
