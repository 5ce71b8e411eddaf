import type { Event, EventType } from '../events/model.ts';
import type { ContentType } from '../posts/model.ts';
import type { IntegrationType } from '../providers/index.ts';

export type Shipped<Type extends EventType> = Extract<Event, { type: Type }>;

/** The events of a draft, and nothing else. The same material gives the same text. */
export interface Material {
  /** `owner/name`, or null for an issue tracker. */
  repository: string | null;
  branch: string | null;
  /** `branch` is the repository's default one, which titles leave out. */
  isDefaultBranch: boolean;
  /** The release that the draft announces, or that closed it. */
  release: Shipped<'release'> | null;
  /** The tag before it. */
  previousTag: string | null;
  pushes: Shipped<'push'>[];
  pullRequests: Shipped<'pull_request'>[];
  issues: Shipped<'issue'>[];
  /** The completed issues that its commits and pull requests name. */
  linked: Shipped<'issue'>[];
  project: Shipped<'project'> | null;
  update: Shipped<'project_update'> | null;
  /** The team or project of a rolling draft. */
  team: { id: string; name: string } | null;
  inProject: { id: string; name: string } | null;
}

/** In Liquid; null is the built-in one. */
export interface OwnTemplates {
  titleTemplate: string | null;
  bodyTemplate: string | null;
}

/** How to compose the material. */
export interface Recipe extends OwnTemplates {
  triggerId: string;
  platform: IntegrationType;
  event: EventType;
  contentType: ContentType;
}

export interface DraftText {
  title: string;
  markdown: string;
  content: string;
  sourceMetadata: Record<string, unknown>;
}

/** Rejects with `TemplateError`, or when it takes too long. */
export type Compose = (recipe: Recipe, material: Material) => Promise<DraftText>;

/** A newer text beside a post that a person has edited or published. */
export interface Suggestion {
  postId: string;
  title: string;
  markdown: string;
  content: string;
  /** ISO 8601. */
  suggestedAt: string;
  /** From the post as it is to the suggestion, as `compareTexts` returns them. */
  changes: SuggestedLine[] | null;
}

export interface SuggestedLine {
  kind: 'same' | 'removed' | 'added';
  line: string;
}
