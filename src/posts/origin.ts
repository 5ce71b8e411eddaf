import { providers } from '../providers/index.ts';
import type { Post } from './model.ts';

/** The displayable part of a post's metadata. */
export interface Origin {
  platform: string | null;
  repository: string | null;
  version: string | null;
  author: string | null;
  /** http or https. */
  url: string | null;
  /** The provider's id of the delivery behind the post. */
  deliveryId: string | null;
}

const MAX_LENGTH = 200;
const MAX_URL_LENGTH = 2_000;

/** Leaves out everything but short plain text: metadata is free-form and may come from an import. */
export function originOf({ sourceMetadata }: Pick<Post, 'sourceMetadata'>): Origin {
  const platform = textOf(sourceMetadata, 'platform');
  return {
    platform: providers.find(({ id }) => id === platform)?.name ?? platform,
    repository: textOf(sourceMetadata, 'repository'),
    version: textOf(sourceMetadata, 'version'),
    author: textOf(sourceMetadata, 'author'),
    url: webAddress(sourceMetadata?.url),
    deliveryId: textOf(sourceMetadata, 'deliveryId'),
  };
}

function textOf(metadata: Post['sourceMetadata'], field: string): string | null {
  const value = metadata !== null && Object.hasOwn(metadata, field) ? metadata[field] : null;
  const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
  return text === ''
    ? null
    : text.length > MAX_LENGTH
      ? `${text.slice(0, MAX_LENGTH).toWellFormed()}…`
      : text;
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}
