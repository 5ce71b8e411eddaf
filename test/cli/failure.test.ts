import { expect, test } from 'bun:test';
import { explain } from '../../src/cli/failure.ts';
import { AppError, notFound } from '../../src/lib/app-error.ts';
import { tidings } from '../../src/lib/build.ts';

test.each<[string, AppError, string]>([
  ['an unknown id', notFound('key', 'key_1'), 'Key key_1 not found. "key list" lists those that exist.'],
  [
    'a refusal of Unkey that may hide a missing permission',
    new AppError(502, 'Refused.', { code: 'unkey_refused', details: { status: 404 } }),
    `Refused. Run "${tidings} doctor".`,
  ],
  [
    'another refusal of Unkey',
    new AppError(502, 'Refused.', { code: 'unkey_refused', details: { status: 403 } }),
    'Refused.',
  ],
  ['an error without a code', new AppError(400, 'name is missing'), 'name is missing'],
])('%s is explained with the command that helps', (_, error, text) => {
  expect(explain(error)).toBe(text);
});
