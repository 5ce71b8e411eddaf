import { messageOf } from '../app-error.ts';
import { answerRequests } from '../thread.ts';
import type { TextAnswer, TextRequest } from './texts.ts';

// The thread that `texts.ts` starts.

answerRequests<TextRequest, TextAnswer>(async () => {
  const { renderMarkdown } = await import('./render.ts');
  const { toPlainText } = await import('./plain-text.ts');
  return (request) => {
    try {
      const isHtml = 'html' in request;
      const text = isHtml
        ? renderMarkdown(request.html, request.options)
        : toPlainText(request.plain, request.bullet);
      return { text };
    } catch (error) {
      return { problem: messageOf(error) };
    }
  };
});
