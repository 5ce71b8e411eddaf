import { expect, test } from 'bun:test';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { root } from './support/server.ts';

// Mistakes that would show only when an image is built.

const read = (name: string) => Bun.file(join(root, name)).text();
const found = (text: string, pattern: RegExp) =>
  Array.from(text.matchAll(pattern), ([, group = '']) => group);

test('the image is built with the Bun that package.json names', async () => {
  expect(found(await read('Dockerfile'), /oven\/(bun:\S+)/g)).toEqual([
    manifest.packageManager.replace('@', ':'),
  ]);
});

test('the image copies only files that .dockerignore allows', async () => {
  const copied = found(await read('Dockerfile'), /^COPY (?!--from)(.+) \S+$/gm).flatMap((names) =>
    names.split(' '),
  );
  const letThrough = found(await read('.dockerignore'), /^!(.+)$/gm);
  expect(copied.length).toBeGreaterThan(0);
  expect(copied.sort()).toEqual(letThrough.sort());
});

test('the image, the systemd unit and the benchmarks give the JavaScript engine the same options', async () => {
  const [image, unit, bench] = await Promise.all(
    ['Dockerfile', 'deploy/tidings.service', 'bench/support/server.ts'].map(async (name) =>
      found(await read(name), /(BUN_(?:JSC|CONFIG)_\w+(?:=|: ')\w+)/g).map((option) =>
        option.replace(": '", '='),
      ),
    ),
  );
  expect(image?.length).toBeGreaterThan(0);
  expect(unit).toEqual(image ?? []);
  expect(bench).toEqual(image ?? []);
});
