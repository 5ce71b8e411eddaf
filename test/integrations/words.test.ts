import { expect, test } from 'bun:test';
import {
  describeFinding,
  describeMissed,
  describeOutcome,
  describeResponse,
  type Outcome,
} from '../../src/integrations/words.ts';

test.each([
  [200, 'OK', '200 OK'],
  [403, 'Invalid HTTP Response: 403', '403'],
  // The summary of a hook has another code than the attempt.
  [422, 'Invalid HTTP Response: 404', '422 Invalid HTTP Response: 404'],
  [504, 'timed out', '504 timed out'],
  [null, 'failed to connect to host', 'failed to connect to host'],
])('the response %p %p reads %p', (statusCode, message, words) => {
  expect(describeResponse({ statusCode, message })).toBe(words);
});

test.each([
  [{ code: 'logged', reason: 'The disk is full' }, 'The disk is full'],
  [{ code: 'logged_without_reason', status: 'rejected' }, 'Logged as rejected'],
  [{ code: 'no_response', response: { statusCode: null, message: 'timed out' } }, 'timed out'],
  [
    { code: 'refused', response: { statusCode: 403, message: 'Invalid HTTP Response: 403' } },
    'Answered 403 and not in the log: Tidings or a proxy in front of it rejected the request',
  ],
  [
    { code: 'answered_by_other', response: { statusCode: 200, message: 'OK' } },
    'Answered 200 OK and not in the log: another server answered, or the data was restored from a backup',
  ],
] as const)('the reason for a missed delivery: %o', (cause, words) => {
  expect(describeMissed(cause)).toBe(words);
});

test('a value that looks like a placeholder stays as it is', () => {
  expect(describeFinding({ code: 'secret_refused', at: '2026-11-20', reason: '{at} {type}' })).toBe(
    'The newest delivery, at 2026-11-20, has a wrong signature. {at} {type}',
  );
});

const RESTORES = 'If the webhook is gone at the provider, Tidings restores it within a minute.';

test.each<[Outcome, string]>([
  [{ code: 'not_connected', left: [] }, 'Nothing was connected.'],
  [
    { code: 'not_added', left: ['acme/rocket'] },
    'Check the webhooks of acme/rocket: Tidings may not have deleted one. Nothing was added.',
  ],
  [{ code: 'not_removed', mayBeGone: false }, 'Nothing was removed.'],
  [{ code: 'not_removed', mayBeGone: true }, `Nothing was removed. ${RESTORES}`],
  [{ code: 'not_disconnected', deleted: [], mayBeGone: null }, 'Nothing was disconnected.'],
  [{ code: 'not_disconnected', deleted: [], mayBeGone: 'a/b' }, `Nothing was disconnected. ${RESTORES}`],
  [
    { code: 'not_disconnected', deleted: ['a/b'], mayBeGone: 'c/d' },
    'The integration is still connected. Tidings restores the deleted webhooks of a/b within a minute, and the webhook of c/d if it is gone.',
  ],
])('the outcome of a failed change: %o', (outcome, words) => {
  expect(describeOutcome(outcome)).toBe(words);
});
