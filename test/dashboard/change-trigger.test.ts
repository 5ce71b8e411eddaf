import { beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readValues, writeValues } from '../../src/dashboard/pages/triggers/form.tsx';
import { getTrigger, kinds, type TriggerFilters } from '../../src/drafting/triggers/model.ts';
import { createTrigger, type NewTrigger } from '../../src/drafting/triggers/service.ts';
import { contentTypes } from '../../src/posts/model.ts';
import { providerOf } from '../../src/providers/index.ts';
import { hostile, isHarmed, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { connectGithub, connectLinear } from '../support/deliveries.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;
let visit: VisitPage;
let integrationId: string;

beforeEach(async () => {
  app = await appWithOrganization();
  visit = await pageVisitor(app);
  ({ integrationId } = await connectGithub(app, 'org_a'));
});

/** A trigger, with the path of its page and how it is now. */
async function made(given: Partial<NewTrigger> = {}) {
  const defaults = { integrationId, event: 'release', contentType: 'changelog' } as const;
  const trigger = await createTrigger(app.deps, { ...defaults, ...given });
  return {
    path: `/dashboard/org_a/integrations/${trigger.integrationId}/triggers/${trigger.id}`,
    stored: () => app.db.read((tx) => getTrigger(tx, trigger.id)),
  };
}

const asText = (html: string | null) =>
  (html ?? '')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** The fields of the form as a browser sends them when nobody changes anything. */
async function formAt(path: string): Promise<Record<string, string>> {
  const fields: Record<string, string> = {};
  let name = '';
  const form = `form[action="${path}"]`;
  const read = new HTMLRewriter()
    .on(`${form} input`, {
      element(input) {
        const isLeftOut = input.getAttribute('type') === 'checkbox' && !input.hasAttribute('checked');
        if (!isLeftOut) fields[input.getAttribute('name') ?? ''] = asText(input.getAttribute('value'));
      },
    })
    .on(`${form} option[selected]`, {
      element(option) {
        fields.contentType = asText(option.getAttribute('value'));
      },
    })
    .on(`${form} textarea`, {
      element(textarea) {
        name = textarea.getAttribute('name') ?? '';
        fields[name] = '';
      },
      text(chunk) {
        fields[name] += chunk.text;
      },
    });
  await read.transform(await visit(path)).text();
  for (const template of ['titleTemplate', 'bodyTemplate']) {
    fields[template] = asText(fields[template] ?? '')
      .replace(/^\n/, '')
      .replaceAll('\n', '\r\n');
  }
  return fields;
}

describe('changing a trigger', () => {
  test('stores the fields as typed', async () => {
    const { path, stored } = await made({ filters: { tag: ['v1.*'] }, titleTemplate: 'Old' });
    app.clock.advance(1000);
    const saved = await visit(path, {
      contentType: 'linkedin_post',
      tag: '',
      branch: 'main, release/*',
      noPrereleases: 'yes',
      publish: 'yes',
      titleTemplate: ' ',
      bodyTemplate: 'One\r\n\r\n{{ release.notes }}',
    });
    expect([saved.status, saved.headers.get('location')]).toEqual([303, path]);
    expect(await stored()).toMatchObject({
      filters: { branch: ['main', 'release/*'], prereleases: false },
      contentType: 'linkedin_post',
      titleTemplate: null,
      bodyTemplate: 'One\n\n{{ release.notes }}',
      publish: true,
      updatedAt: '2026-11-20T12:00:01.000Z',
    });
    const html = await (await visit(path)).text();
    expect(html).toContain('branch main, release/*; no pre-releases');
    // The built-in templates are those of the type that it makes now.
    expect(html).toContain('placeholder="{% if release.isNamed %}');
  });

  test.each<[string, Partial<NewTrigger>]>([
    ['a plain one', {}],
    ['one with everything', { filters: { branch: ['main', 'release/*'], prereleases: false, tag: ['v*'] } }],
    ['values that hold commas and quotes', { filters: { tag: ['a, b', '"c"', 'd "e"', 'f,"g"', ' h '] } }],
    ['one that publishes', { publish: true, contentType: 'linkedin_post' }],
    [
      'templates of several lines',
      {
        titleTemplate: '\n{% if release %}\n{{ release.name }}{% endif %}\n',
        bodyTemplate: '\n\n  &amp; <b>\n',
      },
    ],
  ])('saving the form as it is changes nothing: %s', async (_, given) => {
    const { path, stored } = await made(given);
    const before = await stored();
    expect((await visit(path, await formAt(path))).status).toBe(303);
    expect(await stored()).toEqual(before);
  });

  test('saving the form as it is changes nothing, whatever the event and the type', async () => {
    const linear = await connectLinear(app, 'org_a');
    for (const event of Object.keys(kinds)) {
      const isGithub = Object.hasOwn(providerOf('github').triggerEvents, event);
      for (const contentType of contentTypes) {
        const { path, stored } = await made({
          integrationId: isGithub ? integrationId : linear.integrationId,
          event,
          contentType,
        });
        const before = await stored();
        expect((await visit(path, await formAt(path))).status).toBe(303);
        expect(await stored()).toEqual(before);
      }
    }
  });

  test.each<[string, Record<string, string>, string]>([
    ['a title that does not parse', { titleTemplate: '{{ x' }, 'titleTemplate'],
    ['a body with an unknown name', { bodyTemplate: '{{ relase.name }}' }, 'bodyTemplate'],
    ['a body that means harm', { bodyTemplate: `${hostile}{{ nothing }}` }, 'bodyTemplate'],
    ['a filter that is too long', { tag: 'x'.repeat(300) }, 'tag'],
    ['a filter that is far too long', { tag: 'x,'.repeat(100_000) }, 'tag'],
    ['too many values', { branch: Array.from({ length: 30 }, (__, at) => `v${at}`).join() }, 'branch'],
  ])('%s is refused next to its field, and the form keeps its text', async (_, given, field) => {
    const { path } = await made({ titleTemplate: 'Stored', filters: { branch: ['stored'] } });
    const before = await allRows(app.db);
    const kept = { tag: 'kept tag', branch: 'kept branch', titleTemplate: 'Kept title' };
    const typed = { contentType: 'linkedin_post', noPrereleases: 'yes', ...kept, ...given };
    const refused = await visit(path, typed);
    const html = await refused.text();
    expect(refused.status).toBe(400);
    expect(html.match(/id="field-\w+-error"/g)).toEqual([`id="field-${field}-error"`]);
    for (const [name, words] of Object.entries(kept)) expect(html.includes(words)).toBe(!(name in given));
    expect(html).not.toContain('>\nStored<');
    expect(html).toMatch(/<option[^>]* selected[^>]*>LinkedIn post</);
    expect(html).toMatch(/<input[^>]*name="noPrereleases"[^>]* checked/);
    expect(isHarmed(html)).toBe(false);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('to the rule of another is refused, and so is publishing a rolling draft', async () => {
    await made({ filters: { tag: ['v*'] } });
    const { path } = await made();
    const push = await made({ event: 'push' });
    const before = await allRows(app.db);
    const same = await visit(path, { contentType: 'changelog', tag: 'v*' });
    expect([same.status, await same.text()]).toEqual([
      409,
      expect.stringContaining('has the same rule. Change that trigger'),
    ]);
    const publish = await visit(push.path, { publish: 'yes' });
    expect([publish.status, await publish.text()]).toEqual([
      400,
      expect.stringContaining("can't be published at once"),
    ]);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('keeps the type when the form has an unknown one', async () => {
    const { path, stored } = await made({ contentType: 'linkedin_post' });
    for (const contentType of ['', 'blog', hostile]) await visit(path, { contentType });
    expect((await stored()).contentType).toBe('linkedin_post');
  });

  test('is for owners: a member sees the templates, and no form', async () => {
    const { path, stored } = await made({ bodyTemplate: 'Own body' });
    const before = await stored();
    const member = await pageVisitor(app, { role: 'member' });
    const html = await (await member(path)).text();
    expect(html).toContain('<pre class="wrap">Own body</pre>');
    expect(html).not.toContain('name="bodyTemplate"');
    expect((await member(path, { contentType: 'linkedin_post' })).status).toBe(403);
    expect(await stored()).toEqual(before);
  });

  test('shows hostile filters and templates as text', async () => {
    const filters: TriggerFilters = { tag: [hostile, `${hostile}, "`], branch: [hostile] };
    const { path } = await made({ filters, titleTemplate: hostile, bodyTemplate: `</textarea>${hostile}` });
    const html = await (await visit(path)).text();
    expect(html).toContain('&lt;/textarea>');
    expect(isHarmed(html)).toBe(false);
  });
});

describe('the values of a filter as one line', () => {
  test('are read back unchanged', () => {
    const value = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', ',', ' ', 'a') }));
    const values = fc.array(
      value.filter((each) => each.trim() !== ''),
      { maxLength: 20 },
    );
    fc.assert(fc.property(values, (given) => expect(readValues(writeValues(given))).toEqual(given)));
  });

  test.each<[string, string[]]>([
    ['', []],
    [' , ,, ', []],
    ['a, b ,c', ['a', 'b', 'c']],
    ['"a, b", c', ['a, b', 'c']],
    ['"a ""b""" , "c"', ['a "b"', 'c']],
    ['"a" b, c', ['"a" b', 'c']],
    ['"a, b', ['"a', 'b']],
    ['a "b, c"', ['a "b', 'c"']],
    ['""', []],
  ])('%p is %p', (line, values) => {
    expect(readValues(line)).toEqual(values);
  });
});
