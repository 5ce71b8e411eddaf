import { expect, test } from 'bun:test';
import { builtInTemplates } from '../../src/drafts/built-in.ts';
import { checkTemplates } from '../../src/drafts/check.ts';
import { TemplateError } from '../../src/drafts/template.ts';
import { type EventType, eventTypes } from '../../src/events/model.ts';
import { contentTypes } from '../../src/posts/model.ts';

test.each(eventTypes.flatMap((event) => contentTypes.map((contentType) => [event, contentType] as const)))(
  'the built-in templates of a %s as a %s can be copied and changed',
  (event, contentType) => {
    const { title, body } = builtInTemplates(event, contentType);
    expect(() => checkTemplates({ event, titleTemplate: title, bodyTemplate: body })).not.toThrow();
  },
);

test.each<[EventType, string]>([
  ['release', 'team.name'],
  ['push', 'update.body'],
  ['issue', 'release.name'],
  ['project', 'branch'],
  ['project_update', 'project.name'],
])('a %s never has %s', (event, variable) => {
  expect(() => checkTemplates({ event, titleTemplate: null, bodyTemplate: `{{ ${variable} }}` })).toThrow(
    TemplateError,
  );
});

test.each([
  ['', null, 'title template: it is empty; leave it out for the built-in one'],
  [null, ' \n', 'body template: it is empty; leave it out for the built-in one'],
])('an empty template is refused: %p, %p', (titleTemplate, bodyTemplate, message) => {
  expect(() => checkTemplates({ event: 'release', titleTemplate, bodyTemplate })).toThrow(message);
});
