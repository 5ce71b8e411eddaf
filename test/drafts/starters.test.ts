import { expect, test } from 'bun:test';
import { checkTemplates } from '../../src/drafting/check.ts';
import { startersOf } from '../../src/drafting/starters.ts';
import { listVariables } from '../../src/drafting/variable-list.ts';
import { contentTypes } from '../../src/posts/model.ts';
import { eventTypes } from '../../src/providers/events.ts';

test.each([...eventTypes])('every template to start a %s trigger from passes the check', async (event) => {
  const starters = startersOf(event);
  expect(new Set(starters.map(({ id }) => id)).size).toBe(starters.length);
  expect(new Set(starters.map(({ contentType }) => contentType))).toEqual(new Set(contentTypes));
  for (const { title, body } of starters) {
    await checkTemplates(event, { titleTemplate: title, bodyTemplate: body });
  }
});

test.each([...eventTypes])('every variable of a %s has a description and can be inserted', async (event) => {
  const variables = listVariables(event);
  expect(variables.filter(({ description }) => description === '')).toEqual([]);
  expect(variables.some(({ example }) => example !== '')).toBe(true);
  const names = variables.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const write = (prefix: string) =>
    variables
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ insert }) => insert)
      .join('\n');
  const top = variables.filter(({ name }) => !/^(?:group|change)\./.test(name)).map(({ insert }) => insert);
  const inLoops = names.includes('changes')
    ? `{% for group in groups %}${write('group.')}{% endfor %}{% for change in changes %}${write('change.')}{% endfor %}`
    : '';
  await checkTemplates(event, { titleTemplate: null, bodyTemplate: `Text ${top.join('\n')}${inLoops}` });
});

test('a release has its own variables and the changes, but none of an issue tracker', () => {
  const names = listVariables('release').map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(['release.name', 'repository.fullName', 'change.text', 'url']),
  );
  expect(names.filter((name) => /^(?:team|project|update)\b/.test(name))).toEqual([]);
});
