/** @jsxRuntime automatic @jsxImportSource preact */
import type { ContentType, PostStatus } from '../../../posts/model.ts';
import type { Origin } from '../../../posts/origin.ts';

export const typeNames: Readonly<Record<ContentType, string>> = {
  changelog: 'Changelog',
  linkedin_post: 'LinkedIn post',
};

export const statusNames: Readonly<Record<PostStatus, string>> = { draft: 'Draft', published: 'Published' };

export function StatusTag({ status }: { status: PostStatus }) {
  return <span class={`tag ${status}`}>{statusNames[status]}</span>;
}

/** Version, repository and platform of a post's origin; null without any. */
export function originWords({ platform, repository, version }: Origin): string | null {
  const what =
    version !== null && repository !== null ? `${version} of ${repository}` : (version ?? repository);
  if (what === null) return platform;
  return platform === null ? what : `${what} on ${platform}`;
}

export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}

/** `title must not be empty` as a sentence beside its field. */
export function asSentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${message.endsWith('.') ? '' : '.'}`;
}

/** A title that fits into a sentence. */
export function shortTitle(title: string): string {
  return `“${title.length > 80 ? `${title.slice(0, 79).toWellFormed()}…` : title.toWellFormed()}”`;
}
