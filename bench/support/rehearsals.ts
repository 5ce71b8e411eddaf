import { BenchError } from './bench-error.ts';
import type { DashboardPage } from './dashboard-pages.ts';
import { median } from './statistics.ts';
import type { Asked } from './waits.ts';

/** Medians, in milliseconds. */
export interface RehearsalFigures {
  page: string;
  /** Until its first byte, and until its first post. */
  firstByteMs: number;
  firstResultMs: number;
  totalMs: number;
}

/** How soon the page of a rehearsal shows its first post, opened several times. */
export async function timeRehearsal(
  { name }: DashboardPage,
  asked: Asked,
  times: number,
): Promise<RehearsalFigures> {
  const all: Awaited<ReturnType<typeof openRehearsal>>[] = [];
  for (let time = 0; time < times; time++) all.push(await openRehearsal(asked));
  const medianOf = (pick: (one: (typeof all)[number]) => number) => median(all.map(pick));
  return {
    page: `rehearsal: ${name}`,
    firstByteMs: medianOf(({ firstByteMs }) => firstByteMs),
    firstResultMs: medianOf(({ firstResultMs }) => firstResultMs),
    totalMs: medianOf(({ totalMs }) => totalMs),
  };
}

async function openRehearsal({ url, headers }: Asked) {
  const startedAt = performance.now();
  const { body, status } = await fetch(url, { headers });
  if (status !== 200 || body === null) throw new BenchError(`${status} at ${url}`);
  const decoder = new TextDecoder();
  let html = '';
  let firstByteMs = Number.NaN;
  let firstResultMs = Number.NaN;
  for await (const chunk of body) {
    const ms = performance.now() - startedAt;
    html += decoder.decode(chunk, { stream: true });
    if (Number.isNaN(firstByteMs)) firstByteMs = ms;
    // The preview above it has a post too.
    const [, rehearsed = ''] = html.split('id="rehearsal"');
    if (Number.isNaN(firstResultMs) && rehearsed.includes('<article')) firstResultMs = ms;
  }
  if (Number.isNaN(firstResultMs)) throw new BenchError(`the rehearsal at ${url} shows no post`);
  return { firstByteMs, firstResultMs, totalMs: performance.now() - startedAt };
}
