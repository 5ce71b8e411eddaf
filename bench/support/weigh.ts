import { BenchError } from './bench-error.ts';
import type { DashboardPage } from './dashboard-pages.ts';

/** Bytes that a browser with an empty cache loads for one page, and their compressed size. */
export type FirstView = { name: string; plain: number; sent: number }[];

/** The page, its style sheet and its script. */
export async function weighFirstView(
  origin: string,
  { path }: DashboardPage,
  headers: Record<string, string>,
): Promise<FirstView> {
  const page = await fetch(origin + path, { headers });
  const html = await page.text();
  const linked = (name: string, pattern: RegExp) => {
    const found = html.match(pattern)?.[1];
    if (found === undefined) throw new BenchError(`the page at ${path} names no ${name}`);
    return { name, path: found };
  };
  const parts = [
    { name: 'HTML', path },
    linked('style sheet', /<link rel="stylesheet" href="([^"]+)"/),
    linked('script', /<script src="([^"]+)"/),
  ];
  return Promise.all(
    parts.map(async (part) => ({
      name: part.name,
      plain: await weigh(origin + part.path, { ...headers, 'accept-encoding': 'identity' }),
      sent: await weigh(origin + part.path, { ...headers, 'accept-encoding': 'gzip' }),
    })),
  );
}

/** The bytes of a body, as they came. */
async function weigh(url: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(url, { headers, decompress: false });
  const body = await response.bytes();
  if (!response.ok) throw new BenchError(`${response.status} at ${url}`);
  return body.byteLength;
}
