import { join } from 'node:path';
import { icons as lucide } from '@iconify-json/lucide/icons.json';
import { Blob, Face } from 'harfbuzzjs';
import subsetFont from 'subset-font';
import { root } from './server.ts';

// Makes the typefaces and icons that the dashboard embeds, from npm packages that only development needs.
// `bun run assets` writes them; a test compares them with the packages.

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index)).join('');

const ascii = range(0x20, 0x7e);
const latin = ascii + range(0xa0, 0xff);
const punctuation = '–—‘’‚“”„†•…‹›€™←↑→↓−×⌘';

/** `weights`: a number makes a typeface of that weight alone. */
const faces = [
  { name: 'inter', text: latin + punctuation, weights: { min: 400, max: 700 } },
  { name: 'source-serif-4', text: latin + punctuation, weights: { min: 400, max: 700 } },
  { name: 'source-serif-4', text: latin + punctuation, weights: 400, style: 'italic' },
  { name: 'jetbrains-mono', text: ascii + punctuation, weights: { min: 400, max: 600 } },
];

/** Features that the style sheet uses, or that place marks and letters. */
const features = ['kern', 'tnum', 'case', 'ccmp', 'locl', 'mark', 'mkmk'];

/** Each typeface as the name of its file and its bytes. Other scripts fall back to typefaces of the system. */
export function makeFonts(): Promise<[name: string, bytes: Uint8Array][]> {
  return Promise.all(
    faces.map(async ({ name, text, weights, style = 'normal' }): Promise<[string, Uint8Array]> => {
      const path = join(
        root,
        `node_modules/@fontsource-variable/${name}/files/${name}-latin-wght-${style}.woff2`,
      );
      const bytes = Buffer.from(await Bun.file(path).arrayBuffer());
      const options = {
        targetFormat: 'woff2',
        variationAxes: { wght: weights },
        keepFeatures: features,
      } as const;
      const suffix = style === 'normal' ? '' : `-${style}`;
      return [`${name}${suffix}.woff2`, await subsetFont(bytes, text, options)];
    }),
  );
}

/** Scripts of titles on social images, beside Latin-1, which `source-serif-4.woff2` has. */
const cardScripts = ['latin-ext', 'vietnamese', 'greek', 'cyrillic'] as const;
const serifFile = (script: string) =>
  join(
    root,
    `node_modules/@fontsource-variable/source-serif-4/files/source-serif-4-${script}-wght-normal.woff2`,
  );

/** Its letters change their shape with their neighbors, so it keeps all features. */
const arabicFile = join(
  root,
  'node_modules/@fontsource-variable/noto-naskh-arabic/files/noto-naskh-arabic-arabic-wght-normal.woff2',
);

const cardFaces: { script: string; path: string; keepFeatures?: string[] }[] = [
  ...cardScripts.map((script) => ({ script, path: serifFile(script), keepFeatures: features })),
  { script: 'arabic', path: arabicFile },
];

/** Titles need one weight. */
const cardWeight = 600;

/** The typefaces of social images, as the name of the file and its bytes. */
export function makeCardFonts(): Promise<[name: string, bytes: Uint8Array][]> {
  return Promise.all(
    cardFaces.map(async ({ script, path, keepFeatures }): Promise<[string, Uint8Array]> => {
      const bytes = Buffer.from(await Bun.file(path).arrayBuffer());
      const all = await charactersOf(bytes);
      const options = {
        targetFormat: 'woff2',
        variationAxes: { wght: cardWeight },
        ...(keepFeatures && { keepFeatures }),
      } as const;
      return [`card-${script}.woff2`, await subsetFont(bytes, all, options)];
    }),
  );
}

/** All characters that the typefaces of social images draw, as ranges of code points. */
export async function readCardRanges(): Promise<[first: number, last: number][]> {
  const files = [join(fontFolder, 'source-serif-4.woff2'), ...cardFaces.map(({ path }) => path)];
  const texts = await Promise.all(
    files.map((path) => Bun.file(path).arrayBuffer().then(Buffer.from).then(charactersOf)),
  );
  // Joiners and directions show nothing by themselves, and often stand between emoji that are left out.
  const shown = [...new Set(texts.join(''))].filter((each) => !/\p{Cf}/u.test(each));
  const codes = shown.map((each) => each.codePointAt(0) ?? 0).sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const code of codes) {
    const last = ranges.at(-1);
    if (last?.[1] === code - 1) last[1] = code;
    else ranges.push([code, code]);
  }
  return ranges;
}

/** The characters of a typeface. */
async function charactersOf(font: Buffer): Promise<string> {
  const unpacked = await subsetFont(font, range(0x20, 0x33ff), { targetFormat: 'sfnt' });
  return String.fromCodePoint(...new Face(new Blob(unpacked), 0).collectUnicodes());
}

/** The icons of the dashboard: names of Lucide. */
const iconNames = [
  'zap',
  'arrow-left',
  'arrow-right',
  'book-open',
  'check',
  'chevron-down',
  'chevron-right',
  'chevrons-up-down',
  'circle-user',
  'copy',
  'ellipsis',
  'bot',
  'file-text',
  'globe',
  'inbox',
  'info',
  'keyboard',
  'list-checks',
  'list-filter',
  'log-out',
  'menu',
  'plug',
  'plus',
  'search',
  'settings',
  'terminal',
  'triangle-alert',
  'x',
  'heading',
  'bold',
  'italic',
  'code',
  'link',
  'list',
  'list-ordered',
  'text-quote',
  'columns-2',
  'maximize',
] as const;

/** The content of each icon's `<svg>`. The component sets the stroke. */
export function readIcons(): Record<string, string> {
  return Object.fromEntries(
    iconNames.map((name) => {
      const unwrapped = lucide[name].body.replace(/^<g [^>]*>(.*)<\/g>$/, '$1');
      return [name, unwrapped.replace(/ fill="none" stroke=.*?stroke-width="2"/g, '')];
    }),
  );
}

export const fontFolder = join(root, 'src/http/look/fonts');
const cardRanges = join(root, 'src/readers/public/card-ranges.json');
const iconModule = join(root, 'src/dashboard/view/icon-shapes.ts');

if (import.meta.main) {
  const fonts = [...(await makeFonts()), ...(await makeCardFonts())];
  for (const [name, bytes] of fonts) await Bun.write(join(fontFolder, name), bytes);
  await Bun.write(cardRanges, JSON.stringify(await readCardRanges()));
  const head = '// Icons of Lucide (ISC License, lucide.dev), made by `bun run assets`.';
  await Bun.write(
    iconModule,
    `${head}\n\nexport const iconShapes = ${JSON.stringify(readIcons())} as const;\n`,
  );
}
