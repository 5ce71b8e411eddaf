import type { Asset } from '../http/respond.ts';
import script from './page.client.js' with { type: 'text' };
import css from './style.css' with { type: 'text' };

// The dashboard's one style sheet and one script, under names that change with them.

interface NamedAsset extends Asset {
  path: string;
}

function asset(name: string, extension: string, type: string, body: string): NamedAsset {
  let zipped: Uint8Array<ArrayBuffer> | undefined;
  return {
    path: `/dashboard/~/${name}-${Bun.hash(body).toString(36)}.${extension}`,
    type,
    body,
    // Made when it is first asked for: starting should not wait for it.
    get zipped() {
      zipped ??= Bun.gzipSync(body, { level: 9 });
      return zipped;
    },
  };
}

export const styleSheet = asset('style', 'css', 'text/css; charset=utf-8', css);
export const clientScript = asset('client', 'js', 'text/javascript; charset=utf-8', script);
