import type { EventType } from '../events/model.ts';
import { sampleMaterial } from './samples.ts';
import { checkTemplate } from './template.ts';
import { variablesOf } from './variables.ts';

/** Variables that the built-in templates read for every event, even if the sample lacks them. */
const OPTIONAL = ['summary', 'compareUrl', 'url'];

/** Throws `TemplateError` when a template of the trigger's own could not be used. */
export function checkTemplates({
  event,
  titleTemplate,
  bodyTemplate,
}: {
  event: EventType;
  titleTemplate: string | null;
  bodyTemplate: string | null;
}): void {
  // A variable that the sample lacks never exists for the event: a release has no team.
  const known = Object.fromEntries(
    Object.entries(variablesOf(sampleMaterial(event))).filter(
      ([name, value]) => value !== null || OPTIONAL.includes(name),
    ),
  );
  if (titleTemplate !== null) checkTemplate('title', titleTemplate, known);
  if (bodyTemplate !== null) checkTemplate('body', bodyTemplate, known);
}
