import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { pages } from '../../src/dashboard/routes.ts';
import { createEveryForm, type EveryForm } from '../support/every-form.ts';
import { formOf } from '../support/form-of.ts';
import { allRows } from '../support/rows.ts';

// Every form that edits what is stored carries the version that it was opened with.

const IN = '/dashboard/:organizationId';
const TRIGGER = `${IN}/integrations/:integrationId/triggers/:triggerId`;

interface Edit {
  /** The page with the form. Default: the form's own path. */
  page?: string;
  field: string;
  values: readonly [one: string, other: string];
  /** Another field of the form. Default: the form has one field. */
  also?: readonly [field: string, value: string];
}

const edits: Readonly<Record<string, Edit>> = {
  [`${IN}/posts/:postId`]: { field: 'markdown', values: ['Mine *a*', 'Yours *b*'], also: ['title', 'Both'] },
  [`${IN}/posts/:postId/schedule`]: {
    page: `${IN}/posts/:postId`,
    field: 'publishAt',
    values: ['2031-01-01T09:00', '2032-02-02T09:00'],
  },
  [`${IN}/posts/:postId/date`]: {
    page: `${IN}/posts/:postId`,
    field: 'createdAt',
    values: ['2021-01-01T09:00', '2022-02-02T09:00'],
  },
  [`${IN}/media/:mediaId`]: { field: 'alt', values: ['A cat', 'A dog'] },
  [TRIGGER]: {
    field: 'bodyTemplate',
    values: ['Mine', 'Yours'],
    also: ['tag', 'v2.*'],
  },
  [`${IN}/triggers/roundups/:roundupId`]: {
    field: 'name',
    values: ['What Ann made', 'What Bob made'],
    also: ['time', '10:30'],
  },
  [`${IN}/publishing`]: {
    field: 'description',
    values: ['What Ann says.', 'What Bob says.'],
    also: ['title', 'News'],
  },
  [`${IN}/publishing/agents`]: { field: 'isMcpOn', values: ['on', ''] },
  [`${IN}/settings/assistant`]: { field: 'voice', values: ['Dry', 'Warm'], also: ['dailyRequests', '7'] },
  [`${IN}/settings`]: { field: 'name', values: ['Acme One', 'Acme Two'], also: ['plan', 'pro'] },
};

/** Forms that overwrite no text or choice that a person has seen. */
const others: Readonly<Record<string, RegExp>> = {
  'make something new':
    /\/(?:new|triggers|roundups|now|organizations|invitations|duplicate|wording|media|hooks|keys|import|logo|compare|link|passkeys|codes)$/,
  'connect, or set a new secret, which no page shows':
    /\/integrations\/(?:[\w-]+|[\w-]+\/(?:choose|connect|app|poll)|~\/[\w/-]+|:integrationId\/(?!(?:enable|disable|remove|test|refresh|triggers)$)[\w-]+)$|\/(?:rotate|password|password-link)$/,
  'say what then is: on, off, an owner, gone':
    /\/(?:mute|enable|disable|revoke|remove|unlink|role|invitations\/withdraw|stop|end|sign-out-everywhere|(?:media|hooks|keys)\/:\w+\/delete|settings\/delete|organizations\/restore)$/,
  'are buttons that carry the version, which other files test':
    /\/(?:roundups\/:roundupId\/delete|triggers\/:triggerId\/delete|posts\/:postId\/(?:delete|schedule\/cancel|date\/reset)|versions\/:versionId\/restore|trash\/(?:restore|erase|empty)|import\/:historyId\/publish)$/,
  'show or send something': /\/(?:preview|confirm|test|retry|replay|resend|trigger|refresh)$/,
  'are of this browser alone': /\/appearance$/,
  'carry a hash of the text, or take a request back': /\/approval(?:\/decline|\/withdraw)?$/,
  'carry the version by `updatedAt`': /\/posts\/:postId\/suggestions?(?:\/:suggestionId)?$/,
  'carry the version of each row, which another file tests': /\/posts\/~\/selected$/,
  'are the script of the editor, which another file tests': /\/autosave$/,
};

// Its database lives as long as the file.
const world = await createEveryForm();
let owner: Awaited<ReturnType<EveryForm['addOwner']>>;

beforeAll(async () => {
  owner = await world.addOwner();
});
afterAll(() => world[Symbol.asyncDispose]());

test('each form of the dashboard either edits, and is tested below, or overwrites nothing', () => {
  const forms = pages.filter(({ method, access }) => method === 'POST' && access !== 'anyone');
  const kindsOf = (path: string) => [
    ...(edits[path] === undefined ? [] : ['edits']),
    ...Object.entries(others).flatMap(([kind, each]) => (each.test(path) ? [kind] : [])),
  ];
  const unclear = forms.map(({ path }) => [path, ...kindsOf(path)]).filter(({ length }) => length !== 2);
  expect(unclear).toEqual([]);
});

describe.each(Object.entries(edits))('%s', (path, { page = path, field, values, also }) => {
  const filled = (text: string) =>
    text.replaceAll(/:(\w+)/g, (_, name: string) =>
      name === 'postId' ? 'seen' : (world.has[name] ?? 'org_a'),
    );

  const open = async () => formOf(await (await owner(filled(page))).text(), filled(path));
  const send = (body: URLSearchParams) => owner(filled(path), { method: 'POST', body });
  const typed = (form: URLSearchParams, name: string, value: string) => {
    const body = new URLSearchParams(form);
    if (value === '' && !form.has(name)) return body;
    body.set(name, value);
    if (value === '') body.delete(name);
    return body;
  };

  test('a conflict shows both, and nothing is written before the person has seen it', async () => {
    const opened = await open();
    const [one, other] = values;
    if (opened.get(field) === one) await send(typed(await open(), field, other));
    const mine = await open();
    const theirs = await open();
    const isToggle = other === '';
    const first = isToggle ? (mine.has(field) ? '' : 'on') : one;
    expect((await send(typed(mine, field, first))).status).toBe(303);
    const before = await allRows(world.app.db);
    // With two states, two people who change one agree.
    const stale = typed(theirs, field, isToggle ? first : other);
    const answer = await send(stale);
    if (isToggle) return expect(answer.status).toBe(303);
    expect(answer.status).toBe(409);
    const html = await answer.text();
    for (const shown of ['was changed while you had it open', 'data-discard', '<del>', '<ins>'])
      expect(html.includes(shown)).toBe(true);
    expect(Object.keys(difference(before, await allRows(world.app.db)))).toEqual([]);
    // A copy that is restored later is based on the old version: the conflict shows again.
    expect(html.includes(`data-base="${stale.get('seen')}"`)).toBe(true);
    expect((await send(stale)).status).toBe(409);
    const decided = formOf(html, filled(path));
    expect(decided.get(field)).toBe(other);
    expect((await send(decided)).status).toBe(303);
    expect((await open()).get(field)).toBe(other);
  });

  if (also !== undefined) {
    test('two people who change different fields both keep their change', async () => {
      const mine = await open();
      const theirs = await open();
      const [name, value] = also;
      const mineValue = mine.get(field) === values[0] ? values[1] : values[0];
      expect((await send(typed(mine, field, mineValue))).status).toBe(303);
      expect((await send(typed(theirs, name, value))).status).toBe(303);
      const now = await open();
      expect([now.get(field), now.get(name)]).toEqual([mineValue, value]);
    });
  }
});

function difference(one: Record<string, unknown>, other: Record<string, unknown>) {
  return Object.fromEntries(
    Object.entries(one).filter(([table, rows]) => !Bun.deepEquals(rows, other[table])),
  );
}
