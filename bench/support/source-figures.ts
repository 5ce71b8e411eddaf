import { dirname, join, relative } from 'node:path';

export interface SourceFigures {
  lines: number;
  files: number;
  smallFiles: number;
  /** Files of more than 400 lines. */
  largeFiles: string[];
  /** Rooms that import each other, directly or through others. */
  circles: string[][];
  /** Files outside `src/providers/` that name a provider, migrations aside. */
  namingProviders: string[];
  /** Comments that open with "What", "Who", "Where", or "Whether". */
  riddles: number;
}

const SMALL = 30;
const LARGE = 400;

/** Measures `src/` and `db/` of a checkout; comments also in `test/` and `bench/`. */
export async function measureSource(root: string): Promise<SourceFigures> {
  const source = await readFiles(root, '{src,db}/**/*.{ts,tsx}');
  const lengths = source.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }));
  const all = [...source, ...(await readFiles(root, '{test,bench}/**/*.{ts,tsx}'))];
  return {
    lines: lengths.reduce((sum, { lines }) => sum + lines, 0),
    files: source.length,
    smallFiles: lengths.filter(({ lines }) => lines <= SMALL).length,
    largeFiles: lengths.filter(({ lines }) => lines > LARGE).map(({ path }) => path),
    circles: findCircles(source),
    namingProviders: source
      .filter(({ path, text }) => !path.startsWith('src/providers/') && namesProvider(text))
      .map(({ path }) => path),
    riddles: all.reduce((sum, { text }) => sum + countRiddles(text), 0),
  };
}

interface SourceFile {
  /** Relative to the root. */
  path: string;
  text: string;
}

async function readFiles(root: string, pattern: string): Promise<SourceFile[]> {
  const paths = await Array.fromAsync(new Bun.Glob(pattern).scan(root));
  return Promise.all(
    paths.sort().map(async (path) => ({ path, text: await Bun.file(join(root, path)).text() })),
  );
}

/** Migrations and the paths of files are names that stay; a word of prose or code is not. */
function namesProvider(text: string): boolean {
  return /github|linear(?!-gradient)|forgejo/i.test(text);
}

/** Opening lines of comments; a line that goes on with one does not count. */
function countRiddles(text: string): number {
  const opening = /^(?:What|Who|Where|Whether|Whatever|Whoever|Whose)\b/;
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line, index) => {
    const previous = lines[index - 1] ?? '';
    const comment = /^(?:\/\*\*? |\/\/ |\* )(.*)/.exec(line)?.[1];
    if (comment === undefined || !opening.test(comment)) return false;
    if (line.startsWith('//')) return !previous.startsWith('//');
    return line.startsWith('/*') || /^\/\*\*?$/.test(previous);
  }).length;
}

/** A folder of `src` is a room, as are `db` and each file beside the folders. */
function roomOf(path: string): string {
  const [top = '', room = ''] = path.split('/');
  return top === 'src' ? room.replace(/\.tsx?$/, '') : top;
}

function findCircles(files: readonly SourceFile[]): string[][] {
  const arrows = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    const from = roomOf(path);
    const targets = arrows.get(from) ?? new Set();
    arrows.set(from, targets);
    for (const [, specifier = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)) {
      const to = roomOf(relative('/', join('/', dirname(path), specifier)));
      if (to !== from) targets.add(to);
    }
  }
  const reach = new Map([...arrows.keys()].map((room) => [room, reachableFrom(room, arrows)]));
  const circles = new Map<string, string[]>();
  for (const [room, reached] of reach) {
    if (!reached.has(room)) continue;
    const circle = [...reached].filter((other) => reach.get(other)?.has(room)).sort();
    circles.set(circle.join(' '), circle);
  }
  return [...circles.values()];
}

function reachableFrom(room: string, arrows: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>();
  const waiting = [...(arrows.get(room) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...(arrows.get(next) ?? []));
  }
  return reached;
}
