import script from './page.client.js' with { type: 'text' };
import css from './style.css' with { type: 'text' };

// The dashboard's one style sheet and one script, under names that change with them.

interface Asset {
  path: string;
  type: string;
  body: string;
}

function asset(name: string, extension: string, type: string, body: string): Asset {
  return { path: `/dashboard/~/${name}-${Bun.hash(body).toString(36)}.${extension}`, type, body };
}

export const styleSheet = asset('style', 'css', 'text/css; charset=utf-8', css);
export const clientScript = asset('client', 'js', 'text/javascript; charset=utf-8', script);
