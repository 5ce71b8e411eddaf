import { threadQueue } from '../thread.ts';
import { toPlainText } from './plain-text.ts';
import { type HtmlOptions, renderMarkdown } from './render.ts';

// Reads anybody's Markdown of any length. A long text goes to a thread: the worst ones take a second.

/** In characters. The worst texts cost 20 ms here, and 50 when the process is new. */
const MAX_HERE = 4_000;

/** How long one text may take, in milliseconds: a busy machine needs several times as long. */
const TIME_LIMIT_MS = 10_000;

/** How long the thread is kept without work, in milliseconds: it weighs some megabytes. */
const IDLE_MS = 30_000;

export type Bullet = '-' | '•';
export type TextRequest = { html: string; options: HtmlOptions } | { plain: string; bullet: Bullet };
export type TextAnswer = { text: string } | { problem: string };

const failures = {
  stopping: 'The text was not read: the server is stopping',
  failed: 'The text could not be read',
  slow: 'The text took more than 10 s to read',
};

const queue = threadQueue<TextRequest, TextAnswer>({
  main: new URL('./texts-thread.ts', import.meta.url),
  limitMs: TIME_LIMIT_MS,
  idleMs: IDLE_MS,
});

async function ask(request: TextRequest): Promise<string> {
  const answer = await queue.ask(request, failures);
  if ('problem' in answer) throw new Error(`${failures.failed}: ${answer.problem}`);
  return answer.text;
}

/** Both reject with `AppError` 503 for a long text when the thread cannot be had, or takes too long. */
export const texts = {
  /** HTML that a page can hold. */
  async html(markdown: string, options: HtmlOptions = {}): Promise<string> {
    return markdown.length <= MAX_HERE ? renderMarkdown(markdown, options) : ask({ html: markdown, options });
  },
  /** Text that reads well by itself. */
  async plain(markdown: string, bullet: Bullet = '-'): Promise<string> {
    return texts.plainIfShort(markdown, bullet) ?? ask({ plain: markdown, bullet });
  },
  /** The same at once, for a transaction, which cannot wait. Null for a long text. */
  plainIfShort: (markdown: string, bullet: Bullet): string | null =>
    markdown.length <= MAX_HERE ? toPlainText(markdown, bullet) : null,
};
