import { readFileSync } from 'node:fs';
import { type Rendered, rendered } from '../../http/respond.ts';

// Files that pages load. Their names change with their content, so browsers keep them forever.

export interface Asset {
  path: string;
  type: string;
  content: Rendered;
}

/** All of them, for the routes. */
export const assets: Asset[] = [];

function asset(name: string, type: string, body: Buffer<ArrayBuffer>): Asset {
  const made = {
    path: `/dashboard/~/${Bun.hash(body).toString(36)}-${name}`,
    type,
    content: rendered(body, undefined, 9),
  };
  assets.push(made);
  return made;
}

/** `file`: a path, which an import gives with `{ type: 'file' }`; also in the binary. */
export const fontAsset = (name: string, file: string) => asset(name, 'font/woff2', readFileSync(file));

type Imports = Readonly<Record<string, Asset>>;

/** `imports`: other files by the names under which the style sheet uses them, in quotes. */
export const styleAsset = (name: string, css: string, imports: Imports = {}) =>
  asset(name, 'text/css; charset=utf-8', Buffer.from(resolve(shorten(css), imports)));

/** Without comments and indentation, which a browser downloads for nothing. */
const shorten = (css: string) => css.replace(/\/\*.*?\*\//gs, '').replace(/\n\s+/g, '\n');

/** `imports`: other scripts by the names under which this one imports them, in quotes. */
export const scriptAsset = (name: string, script: string, imports: Imports = {}) =>
  asset(name, 'text/javascript; charset=utf-8', Buffer.from(resolve(script, imports)));

function resolve(text: string, imports: Imports): string {
  return Object.entries(imports).reduce(
    (resolved, [specifier, { path }]) =>
      resolved.replaceAll(`'${specifier}'`, `'${path}'`).replaceAll(`"${specifier}"`, `"${path}"`),
    text,
  );
}
