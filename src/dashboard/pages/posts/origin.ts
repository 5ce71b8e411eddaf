import { type ContentType, contentTypes, type Post } from '../../../posts/model.ts';
import { providers } from '../../../providers/index.ts';

// How pages describe a post: its type, and where it came from.

const MAX_LENGTH = 200;
const MAX_URL_LENGTH = 2_000;

/**
 * The displayable part of a post's metadata, which is free-form and may come from an import: short plain text, an http
 * or https URL, and the provider's id of the delivery behind the post.
 */
export function originOf({ sourceMetadata }: Pick<Post, 'sourceMetadata'>) {
  const { platform, repository, version, author, url, deliveryId } = sourceMetadata ?? {};
  return {
    platform: providers.find(({ id }) => id === platform)?.name ?? textOf(platform),
    repository: textOf(repository),
    version: textOf(version),
    author: textOf(author),
    url: webAddress(url),
    deliveryId: textOf(deliveryId),
  };
}

function textOf(value: unknown): string | null {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH).toWellFormed()}…` : text || null;
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}

export const typeNames: Readonly<Record<ContentType, string>> = {
  changelog: 'Changelog',
  linkedin_post: 'LinkedIn post',
};

export const typeOptions = contentTypes.map((value) => ({ value, label: typeNames[value] }));

/** The origin of a post, such as `2.4.0 of acme/rocket`; null when it is unknown. */
export function describeOrigin(post: Pick<Post, 'sourceMetadata'>): string | null {
  const { platform, repository, version } = originOf(post);
  const source = [version, repository].filter((each) => each !== null).join(' of ');
  return [source, platform].filter(Boolean).join(' on ') || null;
}
