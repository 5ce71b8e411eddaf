import { cutGraphemes, toPlainText } from '../lib/markdown/plain-text.ts';
import { safeMarkdown } from '../lib/markdown/render.ts';
import { cutText, MAX_BODY_LENGTH } from '../lib/text.ts';
import { bulletOf, type ContentType, contentTypeRules } from '../posts/model.ts';
import { byTime } from './changes/reached.ts';
import { versionOf } from './links.ts';
import { builtInTemplates } from './starters.ts';
import type { Composition, DraftText, Material, OwnTemplates, Recipe } from './store.ts';
import { checkTemplate, renderBody, renderTitle } from './template.ts';
import { changesIn, OPTIONAL_VARIABLES, variablesOf } from './variables.ts';

/** Changes that a draft names as left out. */
const MAX_LEFT_OUT = 100;

/**
 * The same recipe and material give the same text. Throws `TemplateError`. Hostile material may take long, so the server
 * composes in a thread (`thread.ts`).
 */
export function composeDraft(recipe: Recipe, material: Material): Composition {
  const found = changesIn(material, recipe.entries);
  const { changes, leftOut } = found;
  const shown = leftOut.slice(0, MAX_LEFT_OUT);
  const { roundup } = material;
  const isAboutChanges = [material.pushes, material.pullRequests, material.issues].some(
    (each) => each.length > 0,
  );
  const isSilent = roundup ? roundup.whenEmpty === 'skip' : recipe.event !== 'release' && isAboutChanges;
  if (isSilent && changes.length === 0) return { text: null, leftOut: shown };
  const variables = variablesOf(material, found);
  const builtIn = builtInTemplates(recipe.event, recipe.contentType);
  const title = renderTitle(recipe.titleTemplate ?? builtIn.title, variables);
  const body = safeMarkdown(renderBody(recipe.bodyTemplate ?? builtIn.body, variables));
  const text: DraftText = {
    title,
    ...bodyOf(recipe.contentType, body),
    sourceMetadata: metadataOf(recipe, material, variables),
  };
  return { text, leftOut: shown };
}

/** Throws `TemplateError` when a template of the trigger's own could not be used. */
export function checkOwnTemplates({ titleTemplate, bodyTemplate }: OwnTemplates, sample: Material): void {
  // A variable that the sample lacks never exists for the event: a release has no team.
  const known = Object.fromEntries(
    Object.entries(variablesOf(sample)).filter(
      ([name, value]) => value !== null || OPTIONAL_VARIABLES.includes(name),
    ),
  );
  if (titleTemplate !== null) checkTemplate('title', titleTemplate, known);
  if (bodyTemplate !== null) checkTemplate('body', bodyTemplate, known);
}

function bodyOf(contentType: ContentType, body: string) {
  const maxLength = contentTypeRules[contentType].pastedInto?.maxLength;
  const cut = (text: string) =>
    maxLength === undefined ? cutText(text, MAX_BODY_LENGTH) : cutGraphemes(text, maxLength);
  const markdown = cut(body);
  return { markdown, content: cut(toPlainText(markdown, bulletOf(contentType))) };
}

/** The origin of the post, without unknown parts. */
function metadataOf(
  { triggerId, platform }: Recipe,
  material: Material,
  { url, authors }: Record<string, unknown>,
): Record<string, unknown> {
  const { release, project, update, repository, pushes, pullRequests, issues } = material;
  const main = release ?? project ?? update;
  const newest = [...pushes, ...pullRequests, ...issues].sort(byTime).at(-1);
  const metadata = {
    platform,
    repository,
    version: release === null ? null : versionOf(release.data.tag),
    author: main?.data.author || (authors as string[]).slice(0, 10).join(', ') || null,
    url,
    deliveryId: (main ?? newest)?.deliveryId || null,
    triggerId,
    roundupId: material.roundup?.id,
  };
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value != null));
}
