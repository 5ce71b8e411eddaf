import { minify, shorten } from '../../../http/look/assets.ts';
import { rendered } from '../../../http/respond.ts';
import source from './widget.client.js' with { type: 'text' };
import css from './widget.css' with { type: 'text' };

const style = shorten(css)
  .replaceAll('\n', '')
  .replaceAll(/ (?=\{)|(?<=[;:]) /g, '')
  .replaceAll(';}', '}');

/** `widget.js`: the same for every organization, because it reads the feed beside it. */
export const widgetScript = rendered(
  Buffer.from(minify(source).replace(/(["'`])WIDGET_CSS\1/, () => JSON.stringify(style))),
  undefined,
  9,
);
