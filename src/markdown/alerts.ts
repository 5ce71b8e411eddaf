// GitHub's alerts: quotes that begin with `[!NOTE]`. docs.github.com, "Basic writing and formatting syntax".

const KINDS = 'note|tip|important|warning|caution';

const nameOf = (kind: string) => kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase();

const BLOCK = new RegExp(
  `<(/?)(?:blockquote|li)>(?:\\n<p>\\[!(${KINDS})\\](?:\\n|</p>\\n(?!</blockquote>)))?`,
  'gi',
);

/** Gives alerts their title and a class, at the top level alone, as GitHub does. */
export function withAlerts(html: string): string {
  if (!html.includes('[!')) return html;
  let depth = 0;
  return html.replaceAll(BLOCK, (written, slash: string, kind?: string) => {
    const isOutside = depth === 0;
    depth += slash === '/' ? -1 : 1;
    if (kind === undefined || !isOutside || !written.startsWith('<blockquote')) return written;
    const title = `<blockquote class="alert alert-${kind.toLowerCase()}">\n<p class="alert-title">${nameOf(kind)}</p>\n`;
    return written.endsWith('</p>\n') ? title : `${title}<p>`;
  });
}

const IN_PLAIN_TEXT = new RegExp(`^\\s*\\[!(${KINDS})\\][ \\t]*\\n(?=(\\n?)[\\s\\S])`, 'i');

/** `Note: …` for the plain text of a quote. */
export function plainAlert(text: string): string {
  return text.replace(IN_PLAIN_TEXT, (_, kind: string, blank: string) =>
    blank === '' ? `${nameOf(kind)}: ` : `${nameOf(kind)}:\n`,
  );
}
