import { expect, test } from 'bun:test';
import { sayAnswer } from '../../src/integrations/say-answer.ts';

test.each([
  [200, 'OK', '200 OK'],
  [403, 'Invalid HTTP Response: 403', '403'],
  // The summary of a hook has another code than the attempt.
  [422, 'Invalid HTTP Response: 404', '422 Invalid HTTP Response: 404'],
  [504, 'timed out', '504 timed out'],
  [null, 'failed to connect to host', 'failed to connect to host'],
])('%p %p is said as %p', (statusCode, words, said) => {
  expect(sayAnswer(statusCode, words)).toBe(said);
});
