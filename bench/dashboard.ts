import { join } from 'node:path';
import { fillDashboardFolder } from './support/dashboard-folder.ts';
import { dashboardPages } from './support/dashboard-pages.ts';
import { quantile } from './support/numbers.ts';
import { atMost, benchmark } from './support/run.ts';
import { startServer, tidings } from './support/server.ts';
import { timeRequests } from './support/waits.ts';

// How long the pages of the dashboard take when there is a great deal to show, each opened several times, one request
// after the other.

export const dashboard = benchmark({
  goals: {
    slowest: atMost(50, 'ms', 'p95 of the slowest page, 1,000,000 log entries and 100,000 posts'),
  },
  async measure(bench) {
    const path = join(bench.folder, 'data');
    const amounts = bench.isQuick
      ? { entries: 100_000, posts: 10_000 }
      : { entries: 1_000_000, posts: 100_000 };
    const folder = await fillDashboardFolder(path, amounts);
    const server = await startServer(bench, tidings(path));
    const headers = { cookie: folder.cookie };
    let slowest = { value: 0, about: '' };
    for (const page of dashboardPages(folder)) {
      // The very first one finds nothing prepared, nor in SQLite's memory.
      const times = bench.isQuick ? 11 : 31;
      const [, ...took] = await timeRequests(bench, { url: server.url + page, headers }, times);
      const value = quantile(took, 0.95);
      if (value > slowest.value) slowest = { value, about: page.replace(/^\/dashboard\/\w+\//, '') };
    }
    return { slowest };
  },
});
