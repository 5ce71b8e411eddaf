import { ForTag, type Template, TypeGuards } from 'liquidjs';
import { Problem } from './problem.ts';
import { childrenOf, valuesOf } from './values.ts';
import { ANYTHING, FORLOOP, findMissing, sampleOf } from './variables.ts';

/** The names that a template itself makes, with assign, capture and increment, wherever it does. */
export function assignedIn(templates: Template[]): string[] {
  return templates.flatMap((template) => [
    ...Array.from(template.localScope?.() ?? [], (token) => token.content),
    ...assignedIn(childrenOf(template)),
  ]);
}

/** Throws `Problem` for a variable that neither `known` nor the template has, in branches that are not taken too. */
export function requireKnown(templates: Template[], known: Record<string, unknown>): void {
  const assigned = Object.fromEntries(assignedIn(templates).map((name) => [name, ANYTHING]));
  visit(templates, { ...known, ...assigned });
}

function visit(templates: Template[], names: Record<string, unknown>): void {
  for (const template of templates) {
    for (const value of valuesOf(template)) {
      if (!TypeGuards.isPropertyAccessToken(value)) continue;
      const missing = findMissing(value, names);
      if (missing !== null) throw new Problem(missing, value);
    }
    visit(
      childrenOf(template),
      template instanceof ForTag ? { ...names, ...namesIn(template, names) } : names,
    );
  }
}

/** What a loop's body has: a sample of the things that it goes over. */
function namesIn({ variable, collection }: ForTag, names: Record<string, unknown>): Record<string, unknown> {
  const list = TypeGuards.isPropertyAccessToken(collection) ? sampleOf(collection, names) : ANYTHING;
  const item: unknown = Array.isArray(list) && list.length > 0 ? list[0] : ANYTHING;
  return { [variable]: item, forloop: FORLOOP };
}
