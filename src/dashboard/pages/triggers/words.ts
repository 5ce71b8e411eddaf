import type { EventType } from '../../../events/model.ts';
import type { ContentType } from '../../../posts/model.ts';
import type { Trigger, TriggerFilters } from '../../../triggers/model.ts';
import { describeFilters } from '../../../triggers/words.ts';

/** What a trigger listens to, as people say it. */
export const eventWords: Readonly<Record<EventType, string>> = {
  release: 'Releases that are published',
  push: 'Pushes to a branch',
  pull_request: 'Pull requests that are merged',
  issue: 'Issues that are completed',
  project: 'Projects that are completed',
  project_update: 'Project updates that are posted',
};

export const contentWords: Readonly<Record<ContentType, string>> = {
  changelog: 'Changelog',
  linkedin_post: 'LinkedIn post',
};

/** Several of them. */
export const contentsWords: Readonly<Record<ContentType, string>> = {
  changelog: 'entries of the changelog',
  linkedin_post: 'posts for LinkedIn',
};

/** A filter that is a list: its label, and what may be written. */
export const filterWords: Readonly<Record<Exclude<keyof TriggerFilters, 'prereleases'>, [string, string]>> = {
  branch: ['Branches', 'Such as main, release/*. Empty: the default branch.'],
  label: ['Labels', 'One of these is enough. Empty: with or without labels.'],
  tag: ['Tags', 'Such as v2.*. Empty: every tag.'],
  team: ['Teams', "A team's key, name or id. Empty: every team."],
  project: ['Projects', "A project's name or id. Empty: every project."],
};

/** What a trigger lets through. */
export function whatOnly({ filters }: Pick<Trigger, 'filters'>): string {
  return Object.keys(filters).length === 0 ? 'no filter' : describeFilters(filters);
}

/** What may be written into a filter of a trigger on `event`. A release counts wherever it was made. */
export function filterHint(name: keyof typeof filterWords, event: string): string {
  const [, hint] = filterWords[name];
  const its =
    name === 'branch' && event === 'release' ? hint.replace('the default branch', 'every branch') : hint;
  return `${its} Several are separated by commas; what holds one stands in "quotes".`;
}

/** What a trigger makes, such as "Changelog, as a draft". */
export function makes({ contentType, publish }: Pick<Trigger, 'contentType' | 'publish'>): string {
  return `${contentWords[contentType]}, ${publish ? 'published at once' : 'as a draft'}`;
}
