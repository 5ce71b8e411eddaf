import { expect, test } from 'bun:test';
import { describeMissed, describeResponse } from '../../src/integrations/words.ts';

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
  [{ code: 'logged', status: 'failed', reason: 'The disk is full' }, 'The disk is full'],
  [{ code: 'logged', status: 'rejected', reason: null }, 'The log has it as rejected'],
  [{ code: 'no_response', message: 'timed out' }, 'timed out'],
  [
    { code: 'not_logged', statusCode: 403, message: 'Invalid HTTP Response: 403' },
    'Answered 403 and not in the log: Tidings or a proxy in front of it rejected the request',
  ],
  [
    { code: 'not_logged', statusCode: 200, message: 'OK' },
    'Answered 200 OK and not in the log: another server answered, or the data was restored from a backup',
  ],
] as const)('the reason for a missed delivery: %o', (cause, words) => {
  expect(describeMissed(cause)).toBe(words);
});
