import type { EventType, ShippedEvent } from '../events/model.ts';
import type { ContentType } from '../posts/model.ts';
import type { IntegrationType } from '../providers/index.ts';

/** The events of one type. */
export type Shipped<Type extends EventType> = Extract<ShippedEvent, { type: Type }>;

/** What a draft is made from: the events that it tells of, and nothing else. The same material gives the same text. */
export interface Material {
  /** `owner/name`, or null for an issue tracker. */
  repository: string | null;
  branch: string | null;
  /** Whether `branch` is the repository's default one, which goes without saying. */
  isDefaultBranch: boolean;
  /** The release that the draft is of, or that closed it. */
  release: Shipped<'release'> | null;
  /** The tag before it. */
  previousTag: string | null;
  pushes: Shipped<'push'>[];
  pullRequests: Shipped<'pull_request'>[];
  issues: Shipped<'issue'>[];
  project: Shipped<'project'> | null;
  update: Shipped<'project_update'> | null;
  /** Where a rolling draft of an issue tracker belongs. */
  team: { id: string; name: string } | null;
  inProject: { id: string; name: string } | null;
}

/** What to make of the material. */
export interface Recipe {
  triggerId: string;
  platform: IntegrationType;
  event: EventType;
  contentType: ContentType;
  /** Liquid; null is the built-in one. */
  titleTemplate: string | null;
  bodyTemplate: string | null;
}

/** A draft as it is to be written. */
export interface DraftText {
  title: string;
  markdown: string;
  content: string;
  sourceMetadata: Record<string, unknown>;
}

/** Makes a draft's text. Rejects with `TemplateError`, or when it takes too long. */
export type Compose = (recipe: Recipe, material: Material) => Promise<DraftText>;

/** A newer text beside a post that a person has edited or published. */
export interface Suggestion {
  postId: string;
  title: string;
  markdown: string;
  content: string;
  /** ISO 8601. */
  suggestedAt: string;
  /** From the post as it is to the suggestion: the title, an empty line, and the Markdown, line by line. */
  changes: SuggestedLine[];
}

export interface SuggestedLine {
  kind: 'same' | 'removed' | 'added';
  line: string;
}
