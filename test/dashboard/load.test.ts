import { expect, test } from 'bun:test';
import { loadPages } from '../../src/dashboard/routes.ts';
import { letOthersIn } from '../../src/lib/time.ts';

test('other work gets a turn after each module of pages that loads', async () => {
  // Loading a module from disk may give turns by itself.
  await loadPages();
  let turns = 0;
  let isLoading = true;
  const others = (async () => {
    for (; isLoading; turns++) await letOthersIn();
  })();
  const pages = await loadPages();
  isLoading = false;
  await others;
  const subjects = new Set(pages.map(({ path }) => path.split('/')[3]));
  expect(subjects.size).toBeGreaterThan(5);
  expect(turns).toBeGreaterThan(subjects.size);
});
