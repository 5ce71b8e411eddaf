import { type Static, Type } from '@sinclair/typebox';
import {
  bodyOf,
  lineOf,
  MaybeBoolean,
  MaybeNumber,
  MaybeText,
  personOf,
  textOf,
  urlOf,
} from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed, words } from '../../results.ts';
import { Account, MaybeRepository } from './fields.ts';

/** A release that everybody can see: just published, or edited afterwards. */
export interface ReleaseData {
  /** Stays the same when the tag or the name is edited. */
  id: number | null;
  tagName: string;
  /** The title that people gave it; null when it has none but its tag. */
  name: string | null;
  /** The notes, in Markdown, at most 200,000 characters; null when there are none. */
  body: string | null;
  isPrerelease: boolean;
  /** Always false: drafts are not processed. */
  isDraft: boolean;
  /** The login of whoever made the release. */
  author: string | null;
  url: string | null;
  /** ISO 8601. */
  publishedAt: string | null;
  /** ISO 8601; null where GitHub does not say. */
  updatedAt: string | null;
  /** The branch, or the commit, that the tag was made from. */
  targetBranch: string | null;
  defaultBranch: string | null;
}

const Release = Type.Object({
  id: MaybeNumber,
  tag_name: Type.String({ minLength: 1 }),
  name: MaybeText,
  body: MaybeText,
  draft: MaybeBoolean,
  prerelease: MaybeBoolean,
  author: Account,
  html_url: MaybeText,
  published_at: MaybeText,
  updated_at: MaybeText,
  target_commitish: MaybeText,
});

/**
 * docs.github.com/webhooks/webhook-events-and-payloads#release. `published` comes once for each release that
 * becomes visible; `released` and `prereleased` tell of the same and would make duplicates.
 */
export const release = defineEvent(
  Type.Object({ action: Type.String({ minLength: 1 }), release: Release, repository: MaybeRepository }),
  ({ action, release, repository }) => {
    const title = `${kindOf(release)} ${release.tag_name} ${words(action)}`;
    if (action !== 'published' && action !== 'edited') {
      return ignored(
        title,
        `Only releases that are published or edited are processed, not the action ${action}`,
      );
    }
    if (release.draft) return ignored(title, 'A draft is processed once it is published');
    return processed(title, { type: 'release', action, data: toData(release, repository) });
  },
);

function kindOf({ draft, prerelease }: Static<typeof Release>): string {
  if (draft) return 'Draft release';
  return prerelease ? 'Pre-release' : 'Release';
}

function toData(
  release: Static<typeof Release>,
  repository: Static<typeof MaybeRepository> | undefined,
): ReleaseData {
  return {
    id: release.id ?? null,
    tagName: textOf(release.tag_name),
    name: lineOf(release.name),
    body: bodyOf(release.body),
    isPrerelease: release.prerelease === true,
    isDraft: release.draft === true,
    author: personOf(release.author?.login),
    url: urlOf(release.html_url),
    publishedAt: lineOf(release.published_at),
    updatedAt: lineOf(release.updated_at),
    targetBranch: lineOf(release.target_commitish),
    defaultBranch: lineOf(repository?.default_branch),
  };
}
