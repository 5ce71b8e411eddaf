import { expect, test } from 'bun:test';
import { extractSchema, SCHEMA_FILE } from './linear-api/extract-schema.ts';

test('the schema matches the installed SDK', async () => {
  expect(await extractSchema()).toBe(await Bun.file(SCHEMA_FILE).text());
});
