import { expect, test } from 'bun:test';
import { webOf } from '../../../src/providers/github/api/client.ts';
import { problemOf } from '../../../src/providers/github/api/problems.ts';
import { fixedClock } from '../../support/clock.ts';

test.each([
  ['https://api.github.com', 'https://github.com'],
  ['https://github.example.com/api/v3', 'https://github.example.com'],
  ['https://github.example.com:8443/api/v3', 'https://github.example.com:8443'],
  ['https://api.acme.ghe.com', 'https://acme.ghe.com'],
  ['https://api.github.com.example.com', 'https://api.github.com.example.com'],
  ['http://127.0.0.1:3000/proxy', 'http://127.0.0.1:3000'],
])('people find the GitHub of %s at %s', (api, web) => {
  expect(webOf(api)).toBe(web);
});

test("github.com's failures name the page that tells of them, and keep what helps its support", () => {
  const headers = { 'x-github-request-id': 'C0FF:EE' };
  const error = Object.assign(new Error('x'), {
    response: { status: 503, headers, data: { message: 'No server' } },
  });
  const web = 'https://github.com';
  const asked = { place: null, shown: 'https://api.github.com', web, secrets: [''], clock: fixedClock() };
  const problem = problemOf(error, asked) as Error & { cause: Error };
  expect(problem.message).toBe(
    'GitHub failed with status 503. Try again later. https://www.githubstatus.com tells how it is.',
  );
  expect(problem.cause.message).toBe('GitHub answered 503: No server (request C0FF:EE)');
});

test('a mistake of ours stays what it is', () => {
  const mistake = new TypeError('undefined is not a function');
  const web = 'https://github.com';
  expect(problemOf(mistake, { place: null, shown: web, web, secrets: [], clock: fixedClock() })).toBe(
    mistake,
  );
});
