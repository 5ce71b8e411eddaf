import { describe, expect, test } from 'bun:test';
import { requireGoodPassword } from '../../src/people/passwords.ts';

const ann = { email: 'ann.miller@rockets.example', organizations: ['Acme Launchpad'] };

const COMMON = 'It is a common password or close to one.';
const OWN = 'It contains your address, your organization or "tidings".';
const REPEATS = 'It repeats the same characters.';
const KEYS = 'It is a row of keys.';

describe('a password that is easy to guess is refused', () => {
  test.each([
    ['aaaaaaaaaa', REPEATS],
    ['x'.repeat(200), REPEATS],
    ['abcabcabcabc', REPEATS],
    ['1212121212', REPEATS],
    ['          ', REPEATS],
    ['abcdefghijklm', 'It is a sequence.'],
    ['1234567890', COMMON],
    ['0987654321', COMMON],
    ['password12', COMMON],
    ['PASSWORD123', COMMON],
    ['P@ssw0rd123', COMMON],
    ['basketball', COMMON],
    ['qwertyuiop', COMMON],
    ['1qaz2wsx3edc', COMMON],
    ['letmein12345', COMMON],
    ['zxcvbnm,./', KEYS],
    ['2026-01-31', 'It is a date.'],
    ['ann.miller@rockets.example', OWN],
    ['ANN.MILLER@rockets.example', OWN],
    ['ann.miller1', OWN],
    ['rockets.example', OWN],
    ['rockets1234', OWN],
    ['Acme Launchpad', OWN],
    ['acme launchpad1', OWN],
    ['tidings123', OWN],
    ['Tidings2026!', OWN],
  ])('%s', async (password, reason) => {
    expect(
      await requireGoodPassword(password, ann).catch(({ status, message }) => [status, message]),
    ).toEqual([400, `password is too easy to guess. ${reason} Use a few unrelated words.`]);
  });
});

describe('a password of a wrong length is refused', () => {
  test.each(['', 'k4#vQ9!xL', `${'k4#vQ9!xLz'.repeat(20)}x`])('%s', async (password) => {
    expect(requireGoodPassword(password, ann)).rejects.toThrow('password must have 10 to 200 characters');
  });
});

test.each([
  'correct horse battery',
  'a longer sentence',
  'k4#vQ9!xLz',
  'dunwich-otter-41',
  'my dog has fleas',
  'ротор поёт утром',
  '猫は毎朝港で魚を待つのだ',
  `${'k4#vQ9!xLz'.repeat(4)}${'a'.repeat(160)}`,
])('%s is accepted', async (password) => {
  expect(await requireGoodPassword(password, ann)).toBeUndefined();
});

test('an address without a domain and organizations without a name are no rule', async () => {
  expect(
    await requireGoodPassword('correct horse battery', { email: '', organizations: [''] }),
  ).toBeUndefined();
});
