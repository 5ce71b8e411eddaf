import type { EventType } from '../../../events/model.ts';
import type { ContentType } from '../../../posts/model.ts';
import type { Trigger, TriggerFilters } from '../../../triggers/model.ts';
import { describeFilters } from '../../../triggers/words.ts';

/** The events that a trigger listens to. */
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

/** Plural. */
export const contentsWords: Readonly<Record<ContentType, string>> = {
  changelog: 'entries of the changelog',
  linkedin_post: 'posts for LinkedIn',
};

/** The filters that are lists, each with its label and hint. */
export const filterWords: Readonly<Record<Exclude<keyof TriggerFilters, 'prereleases'>, [string, string]>> = {
  branch: ['Branches', 'Such as main, release/*. Empty: the default branch.'],
  label: ['Labels', 'One of these is enough. Empty: with or without labels.'],
  tag: ['Tags', 'Such as v2.*. Empty: every tag.'],
  team: ['Teams', "A team's key, name or id. Empty: every team."],
  project: ['Projects', "A project's name or id. Empty: every project."],
};

export function whatOnly({ filters }: Pick<Trigger, 'filters'>): string {
  return Object.keys(filters).length === 0 ? 'no filter' : describeFilters(filters);
}

/** Without a branch filter, releases of every branch match. */
export function filterHint(name: keyof typeof filterWords, event: string): string {
  const [, hint] = filterWords[name];
  const its =
    name === 'branch' && event === 'release' ? hint.replace('the default branch', 'every branch') : hint;
  return `${its} Separate with commas. Quote a value that contains a comma.`;
}

/** Such as "Changelog, as a draft". */
export function makes({ contentType, publish }: Pick<Trigger, 'contentType' | 'publish'>): string {
  return `${contentWords[contentType]}, ${publish ? 'published at once' : 'as a draft'}`;
}
