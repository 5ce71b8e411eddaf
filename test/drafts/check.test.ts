import { expect, test } from 'bun:test';
import { checkTemplates } from '../../src/drafting/check.ts';
import { builtInTemplates } from '../../src/drafting/starters.ts';
import { contentTypes } from '../../src/posts/model.ts';
import { type EventType, eventTypes } from '../../src/providers/events.ts';
import { refusalOf } from '../support/refusal.ts';

test.each(eventTypes.flatMap((event) => contentTypes.map((contentType) => [event, contentType] as const)))(
  'the built-in templates of a %s as a %s can be copied and changed',
  async (event, contentType) => {
    const { title, body } = builtInTemplates(event, contentType);
    await checkTemplates(event, { titleTemplate: title, bodyTemplate: body });
  },
);

test.each<[EventType, string]>([
  ['release', 'team.name'],
  ['push', 'update.body'],
  ['issue', 'release.name'],
  ['project', 'branch'],
  ['project_update', 'project.name'],
])('a %s never has %s', async (event, variable) => {
  expect(
    await refusalOf(checkTemplates(event, { titleTemplate: null, bodyTemplate: `{{ ${variable} }}` })),
  ).toEqual({
    status: 400,
    message: expect.stringContaining(
      `body template, line 1, column 4: there is no variable ${variable}. Choose from: `,
    ),
  });
});

test.each([
  ['', null, 'title template: it is empty; omit it to use the built-in one'],
  [null, ' \n', 'body template: it is empty; omit it to use the built-in one'],
])('an empty template is refused: %p, %p', async (titleTemplate, bodyTemplate, message) => {
  expect(await refusalOf(checkTemplates('release', { titleTemplate, bodyTemplate }))).toEqual({
    status: 400,
    message,
  });
});

test('a template that loops without end is refused', async () => {
  const bodyTemplate = '{% for a in (1..99999) %}{% for b in (1..99999) %}{% endfor %}{% endfor %}';
  expect(await refusalOf(checkTemplates('release', { titleTemplate: null, bodyTemplate }))).toEqual({
    status: 400,
    message: expect.stringContaining('it takes longer than 500 milliseconds'),
  });
});
