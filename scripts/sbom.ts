import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Contrib, Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library';
import { entryPoints } from '../build.ts';

// What other people's work is in a release: the npm packages whose files the bundler takes, those that files of the
// repository are made from, Bun, and the C library of the image.

/** A part of the binary or the image that others made. */
export interface Part {
  name: string;
  version: string;
  /** An SPDX identifier or expression. */
  license: string;
  /** Where it is from, as a package URL. */
  purl: string;
  /** The texts that its license asks us to pass on. */
  texts: string[];
}

/** Packages that `bun run assets` and a macro read: typefaces, icons, and names of emoji. */
const EMBEDDED = [
  '@fontsource-variable/inter',
  '@fontsource-variable/jetbrains-mono',
  '@fontsource-variable/noto-naskh-arabic',
  '@fontsource-variable/source-serif-4',
  '@iconify-json/lucide',
  'gemoji',
];

const BUN: Part = {
  name: 'bun',
  version: Bun.version,
  license: 'MIT',
  purl: `pkg:npm/bun@${Bun.version}`,
  texts: [
    `Bun is licensed under the MIT license. It links JavaScriptCore (LGPL-2.0), TinyCC (LGPL-2.1), SQLite (public domain),
BoringSSL, ICU, zstd and other libraries. Their licenses, and how to link Bun with a changed JavaScriptCore, are at
https://github.com/oven-sh/bun/blob/bun-v${Bun.version}/LICENSE.md`,
  ],
};

/** The C library of the image, as Debian packages it. */
export const glibc = (version: string): Part => ({
  name: 'glibc',
  version,
  license: 'LGPL-2.1-or-later',
  purl: `pkg:deb/debian/libc6@${encodeURIComponent(version)}?distro=debian-12`,
  texts: [],
});

/** The parts of the binary, by name. Throws for a package without a license. */
export async function partsOfBinary(root: string): Promise<Part[]> {
  const { metafile } = await Bun.build({
    entrypoints: entryPoints.map((path) => join(root, path)),
    root,
    target: 'bun',
    splitting: true,
    metafile: true,
  });
  const bundled = Object.keys(metafile?.inputs ?? {}).flatMap((path) => packageOf(join(root, path)) ?? []);
  const folders = new Set([...bundled, ...EMBEDDED.map((name) => join(root, 'node_modules', name))]);
  const parts = await Promise.all([...folders].map(partIn));
  const byPurl = new Map([...parts, BUN].map((part) => [part.purl, part]));
  return [...byPurl.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

/** The folder of the package that has the file, or null. What a package carries inside has no manifest. */
function packageOf(path: string): string | null {
  const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (folder === undefined) return null;
  return existsSync(join(folder, 'package.json')) ? folder : packageOf(folder);
}

async function partIn(folder: string): Promise<Part> {
  const { name, version, license } = await Bun.file(join(folder, 'package.json')).json();
  const spdx: unknown = license?.type ?? license;
  if (typeof spdx !== 'string') throw new Error(`${name} ${version} declares no license`);
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)\b/i.test(file));
  const texts = await Promise.all(files.sort().map((file) => Bun.file(join(folder, file)).text()));
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return { name, version, license: spdx, purl, texts: texts.map((text) => text.trim()) };
}

/** The parts with their licenses, as text. */
export function notices(parts: readonly Part[]): string {
  const sections = parts.map(({ name, version, license, texts }) =>
    [`${name} ${version}`, `License: ${license}`, ...texts].join('\n\n'),
  );
  const line = `\n\n${'-'.repeat(78)}\n\n`;
  return `${['Tidings contains the work of others.', ...sections].join(line)}\n`;
}

/** A CycloneDX 1.6 document, as JSON. The same parts give the same bytes. */
export function sbom(
  {
    name,
    version,
    time,
    type,
  }: { name: string; version: string; time: Date; type: 'application' | 'container' },
  parts: readonly Part[],
): string {
  const licenses = new Contrib.License.Factories.LicenseFactory((text) => {
    if (!/ (?:AND|OR|WITH) /.test(text)) throw new Error('not an expression');
  });
  const component = (kind: Enums.ComponentType, part: Omit<Part, 'texts'>) =>
    new Models.Component(kind, part.name, {
      bomRef: part.purl,
      version: part.version,
      purl: part.purl,
      licenses: new Models.LicenseRepository([licenses.makeFromString(part.license)]),
    });
  const kinds = { application: Enums.ComponentType.Application, container: Enums.ComponentType.Container };
  const main = component(kinds[type], {
    name,
    version,
    license: 'MIT',
    purl: `pkg:generic/${name}@${version}`,
  });
  const bom = new Models.Bom({ metadata: new Models.Metadata({ timestamp: time, component: main }) });
  for (const part of parts) {
    const each = component(Enums.ComponentType.Library, part);
    bom.components.add(each);
    main.dependencies.add(each.bomRef);
  }
  const normalizers = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return new Serialize.JsonSerializer(normalizers).serialize(bom, { sortLists: true, space: 2 });
}
