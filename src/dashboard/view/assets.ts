import { type Rendered, rendered } from '../../http/respond.ts';

// Files that pages load. Their names change with their content, so browsers keep them forever.

export interface Asset {
  path: string;
  type: string;
  content: Rendered;
}

/** All of them, for the routes. */
export const assets: Asset[] = [];

function asset(name: string, type: string, body: string): Asset {
  const made = {
    path: `/dashboard/~/${Bun.hash(body).toString(36)}-${name}`,
    type,
    content: rendered(Buffer.from(body), undefined, 9),
  };
  assets.push(made);
  return made;
}

export const styleAsset = (name: string, css: string) => asset(name, 'text/css; charset=utf-8', css);

/** `imports`: other scripts by the names under which this one imports them. */
export function scriptAsset(name: string, script: string, imports: Readonly<Record<string, Asset>> = {}) {
  const body = Object.entries(imports).reduce(
    (text, [specifier, { path }]) => text.replaceAll(`'${specifier}'`, `'${path}'`),
    script,
  );
  return asset(name, 'text/javascript; charset=utf-8', body);
}
