import type { PublicationChange } from '../../src/readers/public/model.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { appWithOrganization, type TestApp, type WithOrganization } from './test-app.ts';

/** An app whose organization `org_acme` has its page on at `/changelog/acme`. */
export async function appWithPage({ organizations = [], ...overrides }: WithOrganization = {}) {
  const app = await appWithOrganization({ ...overrides, organizations: ['org_acme', ...organizations] });
  const change = (input: PublicationChange, organizationId = 'org_acme') =>
    changePublication(app.deps, organizationId, input);
  await change({ slug: 'acme', title: 'Acme news', isPageOn: true });
  return { app, change, open: opener(app) };
}

/** Opens a path below the page as a browser does. */
const opener =
  (app: TestApp) =>
  async (path = '', headers: Record<string, string> = {}) => {
    const url = `http://localhost/changelog/acme${path}`;
    const response = await app.fetch(new Request(url, { headers: { accept: 'text/html', ...headers } }));
    return { response, status: response.status, text: await response.text() };
  };

/** Values of an attribute of all elements that have it, unescaped. */
export function attributesOf(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(([, value = '']) =>
    value.replaceAll('&amp;', '&').replaceAll('&quot;', '"'),
  );
}

/** Levels of the headings in order, each with its words. */
export function headingsOf(html: string): string[] {
  return [...html.matchAll(/<h([1-6])[^>]*>([\s\S]*?)<\/h\1>/g)].map(
    ([, level, content = '']) => `${level} ${content.replaceAll(/<[^>]*>/g, '')}`,
  );
}
