import { texts } from '../lib/markdown/texts.ts';
import { bulletOf, type ContentType, type Post } from './model.ts';

// A post's `content`: the plain text of its Markdown. That of a long text comes from a thread.

/** Rejects with `AppError` 503 when the thread cannot be had. */
export function contentFor(contentType: ContentType, markdown: string): Promise<string> {
  return texts.plain(markdown, bulletOf(contentType));
}

export type ContentOf = (contentType: ContentType, markdown: string) => string;

class NeedsContent extends Error {
  constructor(
    readonly contentType: ContentType,
    readonly markdown: string,
  ) {
    super('The text is too long to derive its content in a transaction');
  }
}

/** A transaction cannot wait for the thread: for a long text it is rolled back, and runs again with the content. */
export async function withContent<Result>(work: (contentOf: ContentOf) => Promise<Result>): Promise<Result> {
  let derived: { contentType: ContentType; markdown: string; content: string } | null = null;
  const contentOf: ContentOf = (contentType, markdown) => {
    const isDerived = derived?.contentType === contentType && derived.markdown === markdown;
    const content = isDerived ? derived?.content : texts.plainIfShort(markdown, bulletOf(contentType));
    if (content == null) throw new NeedsContent(contentType, markdown);
    return content;
  };
  for (;;) {
    try {
      return await work(contentOf);
    } catch (error) {
      if (!(error instanceof NeedsContent)) throw error;
      const { contentType, markdown } = error;
      derived = { contentType, markdown, content: await contentFor(contentType, markdown) };
    }
  }
}

export function isWithoutText({ content, markdown }: Pick<Post, 'content' | 'markdown'>): boolean {
  return content.replaceAll(/[\s\p{Cf}\u2800\u3164]/gu, '') === '' && !/!\[|<img/i.test(markdown);
}
