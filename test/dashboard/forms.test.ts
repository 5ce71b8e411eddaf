import { beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { createPasswordLink, createSetupLink, invite } from '../../src/people/links.ts';
import { addAnn, EMAIL, form, signedIn, type Visit, visitor } from '../support/dashboard.ts';
import { connectGithub } from '../support/deliveries.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, createTestApp, type TestApp } from '../support/test-app.ts';

/** Values that no form takes; other text fields are sent empty, and choices without an option. */
const BAD: Readonly<Record<string, string>> = {
  email: 'nobody',
  password: 'short',
  repository: 'no/such place',
  expiry: 'date',
  last: '99',
  tag: 'x'.repeat(300),
  titleTemplate: '{{ x',
  bodyTemplate: '{{ no.such }}',
};

interface PageForm {
  action: string;
  /** All fields that a browser sends, with bad values in those that a person fills in. */
  fields: Record<string, string>;
}

/** The forms of a page that a person fills in. */
async function formsOf(html: string): Promise<PageForm[]> {
  const forms: (PageForm & { isFilledIn: boolean })[] = [];
  const current = () => forms.at(-1) as PageForm & { isFilledIn: boolean };
  const rewriter = new HTMLRewriter()
    .on('form[method="post"]', {
      element: (each) =>
        void forms.push({ action: each.getAttribute('action') ?? '', fields: {}, isFilledIn: false }),
    })
    .on(['input', 'select', 'textarea'].map((tag) => `form[method="post"] ${tag}[name]`).join(', '), {
      element(each) {
        const [name, type] = [each.getAttribute('name') ?? '', each.getAttribute('type') ?? 'text'];
        if (type === 'hidden') {
          current().fields[name] = each.getAttribute('value') ?? '';
        } else if (type !== 'checkbox') {
          current().isFilledIn = true;
          if (type !== 'radio') current().fields[name] = BAD[name] ?? '';
        }
      },
    });
  await rewriter.transform(new Response(html)).text();
  return forms.filter(({ isFilledIn }) => isFilledIn);
}

/** How a refused form is shown: its title, its summary's links, and the fields that are marked. */
async function refusalOf(html: string) {
  const found = { title: '', hasFocus: false, links: [] as string[], invalid: [] as string[] };
  const ids = new Set<string>();
  const described: string[] = [];
  const rewriter = new HTMLRewriter()
    .on('title', {
      text({ text }) {
        found.title += text;
      },
    })
    .on('[data-problem]', {
      element(each) {
        found.hasFocus = each.hasAttribute('autofocus') && each.getAttribute('tabindex') === '-1';
      },
    })
    .on('[data-problem] a', {
      element: (each) => void found.links.push((each.getAttribute('href') ?? '').slice(1)),
    })
    .on('[aria-invalid="true"][id]', {
      element(each) {
        found.invalid.push(each.getAttribute('id') ?? '');
        described.push(...(each.getAttribute('aria-describedby') ?? '').split(' '));
      },
    })
    .on('[id]', { element: (each) => void ids.add(each.getAttribute('id') ?? '') });
  await rewriter.transform(new Response(html)).text();
  return { ...found, missing: described.filter((id) => !ids.has(id)) };
}

/** Sends every form of a page with bad values. Returns the number of forms. */
async function sendBadly(app: TestApp, visit: Visit, path: string): Promise<number> {
  const forms = await formsOf(await (await visit(path)).text());
  for (const { action, fields } of forms) {
    const before = await allRows(app.db);
    const response = await visit(action, form(fields));
    const { title, hasFocus, links, invalid, missing } = await refusalOf(await response.text());
    const about = `${path}: ${action}`;
    expect({ about, status: response.status }).toEqual({ about, status: 400 });
    expect({ about, title, hasFocus, missing }).toEqual({
      about,
      title: expect.stringMatching(/^Error: /),
      hasFocus: true,
      missing: [],
    });
    expect({ about, links }).not.toEqual({ about, links: [] });
    expect({ about, links }).toEqual({ about, links: invalid });
    const { throttles: _, ...kept } = await allRows(app.db);
    const { throttles: __, ...stored } = before;
    expect(kept).toEqual(stored);
  }
  return forms.length;
}

describe('a refused form', () => {
  let app: TestApp;
  let owner: Visit;

  beforeEach(async () => {
    app = await appWithOrganization();
    owner = await signedIn(app, { organizationId: 'org_a' });
  });

  test.each<[string, number]>([
    ['/dashboard/~/account', 4],
    ['/dashboard/org_a/settings', 2],
    ['/dashboard/org_a/settings/keys', 1],
    ['/dashboard/org_a/settings/members', 1],
    ['/dashboard/org_a/posts/~/new', 1],
  ])('of %s links its fields and changes nothing', async (path, count) => {
    expect(await sendBadly(app, owner, path)).toBe(count);
  });

  test('of an integration and its triggers links its fields and changes nothing', async () => {
    const { integrationId } = await connectGithub(app, 'org_a');
    const trigger = { integrationId, event: 'release', contentType: 'changelog' } as const;
    const { id } = await createTrigger(app.deps, trigger);
    const base = `/dashboard/org_a/integrations/${integrationId}`;
    expect(await sendBadly(app, owner, `${base}/add`)).toBe(1);
    expect(await sendBadly(app, owner, `${base}/token`)).toBe(1);
    expect(await sendBadly(app, owner, `${base}/triggers/new?event=release`)).toBe(1);
    expect(await sendBadly(app, owner, `${base}/triggers/${id}`)).toBe(1);
  });

  test('of a link for one person links its fields and keeps the link', async () => {
    const stranger = visitor(app);
    await addAnn(app);
    const { path } = await createPasswordLink(app.deps, EMAIL);
    expect(await sendBadly(app, stranger, path)).toBe(1);
    expect(await sendBadly(app, stranger, await invite(app.deps, 'org_a', 'member'))).toBe(1);
  });

  test('of the setup links its fields and keeps the link', async () => {
    const fresh = await createTestApp();
    const path = (await createSetupLink(fresh.deps)) ?? '';
    expect(await sendBadly(fresh, visitor(fresh), path)).toBe(1);
  });

  test('of the sign-in has a summary without a field: it tells nobody which one is wrong', async () => {
    await addAnn(app);
    const response = await visitor(app)('/dashboard/~/sign-in', form({ email: EMAIL, password: 'wrong' }));
    const { title, hasFocus, links } = await refusalOf(await response.text());
    expect([response.status, title, hasFocus, links]).toEqual([401, 'Error: Sign in · Tidings', true, []]);
  });

  test('of the list of integrations links its fields', async () => {
    expect(await sendBadly(app, owner, '/dashboard/org_a/integrations')).toBeGreaterThan(1);
  });
});
