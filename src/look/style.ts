import alertStyle from './alerts.css' with { type: 'text' };
import { fontAsset, withAssets } from './assets.ts';
import baseStyle from './base.css' with { type: 'text' };
import inter from './fonts/inter.woff2' with { type: 'file' };
import mono from './fonts/jetbrains-mono.woff2' with { type: 'file' };
import serif from './fonts/source-serif-4.woff2' with { type: 'file' };
import serifItalic from './fonts/source-serif-4-italic.woff2' with { type: 'file' };
import resetStyle from './reset.css' with { type: 'text' };
import tokenStyle from './tokens.css' with { type: 'text' };

export const interFont = fontAsset('inter.woff2', inter);

/** Colors, typefaces and text, which the dashboard and the API reference share. */
export const sharedStyle = withAssets([tokenStyle, resetStyle, baseStyle, alertStyle].join('\n'), {
  'inter.woff2': interFont,
  'source-serif-4.woff2': fontAsset('source-serif-4.woff2', serif),
  'source-serif-4-italic.woff2': fontAsset('source-serif-4-italic.woff2', serifItalic),
  'jetbrains-mono.woff2': fontAsset('jetbrains-mono.woff2', mono),
});
