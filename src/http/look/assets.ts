import { readFileSync } from 'node:fs';
import { type Rendered, rendered } from '../respond.ts';
import alertStyle from './alerts.css' with { type: 'text' };
import baseStyle from './base.css' with { type: 'text' };
import inter from './fonts/inter.woff2' with { type: 'file' };
import mono from './fonts/jetbrains-mono.woff2' with { type: 'file' };
import serif from './fonts/source-serif-4.woff2' with { type: 'file' };
import serifItalic from './fonts/source-serif-4-italic.woff2' with { type: 'file' };
import resetStyle from './reset.css' with { type: 'text' };
import tokenStyle from './tokens.css' with { type: 'text' };

// Files that pages load. Their names change with their content, so browsers keep them forever.

export interface Asset {
  path: string;
  type: string;
  content: Rendered;
}

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
const fontAsset = (name: string, file: string) => asset(name, 'font/woff2', readFileSync(file));

type Imports = Readonly<Record<string, Asset>>;

export const styleAsset = (name: string, css: string) =>
  asset(name, 'text/css; charset=utf-8', Buffer.from(shorten(css)));

/** Leaves out comments and indentation, which a browser does not need. */
export const shorten = (css: string) => css.replaceAll(/\/\*.*?\*\/|^\s+/gms, '');

/** Leaves out comments and white space alone, so that the browser runs what is in the source. */
const minifier = new Bun.Transpiler({
  loader: 'js',
  minifyWhitespace: true,
  deadCodeElimination: false,
  trimUnusedImports: false,
});

export const minify = (script: string) => minifier.transformSync(script);

/** `imports`: other scripts by the names under which this one imports them, in quotes. */
export const scriptAsset = (name: string, script: string, imports: Imports = {}) =>
  asset(name, 'text/javascript; charset=utf-8', Buffer.from(minify(withAssets(script, imports))));

/** `imports`: other files by the names under which the text uses them, in quotes. */
function withAssets(text: string, imports: Imports): string {
  return Object.entries(imports).reduce(
    (resolved, [specifier, { path }]) =>
      resolved.replaceAll(`'${specifier}'`, `'${path}'`).replaceAll(`"${specifier}"`, `"${path}"`),
    text,
  );
}

export const interFont = fontAsset('inter.woff2', inter);

/** Colors, typefaces and text, which the dashboard and the API reference share. */
export const sharedStyle = withAssets([tokenStyle, resetStyle, baseStyle, alertStyle].join('\n'), {
  'inter.woff2': interFont,
  'source-serif-4.woff2': fontAsset('source-serif-4.woff2', serif),
  'source-serif-4-italic.woff2': fontAsset('source-serif-4-italic.woff2', serifItalic),
  'jetbrains-mono.woff2': fontAsset('jetbrains-mono.woff2', mono),
});
