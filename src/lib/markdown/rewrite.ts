import * as html from './html.ts';
import {
  bounded,
  FOOTNOTE,
  labelsIn,
  type NodeRef,
  type Parsed,
  parseActive,
  parseInHtml,
  type SyntaxNode,
  type Tree,
} from './parse.ts';

/** The paragraph, link or block of HTML in which a tag stands. */
interface Place {
  from: number;
  to: number;
  isHtml: boolean;
}

/** `edits` and `links`: how many were made before it. */
type Anchor = { edit: html.Edit; href: string | null; place: Place; edits: number; links: number };

/** Removes what could be active. Repeat it until nothing changes. */
export function rewrite(markdown: string, keepsTags: boolean): string {
  // All that is edited contains one of these.
  if (!/[<[`~]/.test(markdown)) return bounded(markdown);
  return new Rewriter(parseActive(markdown), keepsTags).run();
}

class Rewriter {
  private edits: html.Edit[] = [];
  private readonly tags: html.PairedTag[] = [];
  /** By scope, the one around it. Scope 0 is the whole text, the others are blocks. */
  private readonly parents = [0];
  private readonly scopes = [0];
  /** Scope of the block of HTML that is read as Markdown: its tags reach beyond it. */
  private htmlScope: number | null = null;
  private readonly htmlBlocks: { edit: html.Edit; edits: html.Edit[] }[] = [];
  private readonly findEnd: ReturnType<typeof html.endTagFinder>;
  private anchor: Anchor | null = null;
  private links = 0;
  private labels: ReadonlySet<string> | null = null;
  private imageEnd = 0;
  private removedEnd = 0;
  /** Closes the fence that is open at the end. */
  private closing = '';
  /** The source with spaces for the marks of quotes, which may stand in the middle of a tag. */
  private text: string;

  private readonly source: string;
  private readonly tree: Tree;

  constructor(
    { source, tree }: Parsed,
    private readonly keepsTags: boolean,
  ) {
    this.source = source;
    this.tree = tree;
    this.text = withoutQuoteMarks(source, tree);
    this.findEnd = html.endTagFinder(source);
  }

  run(): string {
    this.visit(this.tree, 0);
    const open = html.pairTags(this.tags, this.parents);
    for (const { edit, edits } of this.htmlBlocks) {
      edit.text = withoutBlankLines(this.write(edits, edit.from, edit.to));
    }
    const text = this.write(this.edits, 0, this.source.length) + this.closing;
    return trimLike(this.source, open.length === 0 ? text : `${text}\n\n${open.join('\n')}`);
  }

  /** Walks a tree whose text begins at `offset` of the source. */
  private visit(tree: Tree, offset: number): void {
    tree.iterate({
      enter: (node) => {
        const isCut = !node.type.isTop && node.from + offset < this.removedEnd;
        const descends = isCut ? node.to + offset > this.removedEnd : this.read(node, offset);
        if (descends && isScope(node.type)) this.scopes.push(this.parents.push(this.scope) - 1);
        return descends;
      },
      leave: ({ type }) => {
        if (isScope(type)) this.scopes.pop();
      },
    });
  }

  private get scope(): number {
    return this.scopes.at(-1) ?? 0;
  }

  /** Edits what a node stands for. Returns whether the nodes within it are to be read too. */
  private read(node: NodeRef, offset: number): boolean {
    const from = node.from + offset;
    const to = node.to + offset;
    switch (node.name) {
      case 'HTMLBlock':
      case 'CommentBlock':
      case 'ProcessingInstructionBlock':
        this.readHtmlBlock(from, to);
        return false;
      case 'Comment':
      case 'ProcessingInstruction':
        this.replace(from, to, '');
        return false;
      case 'HTMLTag': {
        const outer = node.node.parent ?? node;
        this.readMarkup(from, to, { from: outer.from + offset, to: outer.to + offset, isHtml: false });
        return false;
      }
      case 'Less':
        this.replace(from, from, '\\');
        return false;
      case 'Autolink': {
        const address = this.source.slice(from + 1, to - 1);
        if (!html.isSafeAddress(address) || address.includes('<')) this.replace(from, from, '\\');
        return false;
      }
      case 'Link':
      case 'Image':
      case 'LinkReference':
        this.readLink(node.node, offset);
        return true;
      case 'FencedCode':
        this.closeFence(node.node, offset);
        return false;
      default:
        return !/^(?:CodeBlock|InlineCode|Escape)$/.test(node.name);
    }
  }

  private replace(from: number, to: number, text: string): html.Edit {
    const edit = { from, to, text };
    this.edits.push(edit);
    return edit;
  }

  private remove(from: number, to: number): void {
    this.replace(from, to, '');
    this.removedEnd = to;
  }

  private write(edits: readonly html.Edit[], from: number, to: number): string {
    const pieces: string[] = [];
    let at = from;
    for (const edit of edits.toSorted((one, other) => one.from - other.from)) {
      if (edit.from < at) continue;
      pieces.push(this.source.slice(at, edit.from), edit.text);
      at = edit.to;
    }
    return pieces.join('') + this.source.slice(at, to);
  }

  private readHtmlBlock(from: number, to: number): void {
    const text = this.text.slice(from, to);
    const special = html.SPECIAL.exec(text)?.[0].length;
    const markup = FIRST_MARKUP.exec(text)?.[0] ?? '';
    const tag = html.readTag(markup);
    const { name = '', isEnd = false } = tag ?? {};
    if (special !== undefined) this.removeBlock(from, from + special);
    else if (html.OPAQUE.has(name)) {
      const end = isEnd ? null : this.findEnd(name, from);
      if (end === null) this.readAsMarkdown(from, text);
      else this.removeBlock(from, end);
    } else if (!html.isKept(name) || !this.keepsTags) {
      this.readAsMarkdown(from, text);
      this.dedent(from, to);
    } else if (this.isWord(tag, from, from + markup.length)) this.readAsMarkdown(from, text);
    else this.readKeptBlock(from, to, text);
  }

  private readAsMarkdown(from: number, text: string): void {
    this.htmlScope = this.scope;
    this.visit(parseInHtml(text), from);
    this.htmlScope = null;
  }

  /** True for a line that begins with a tag that somebody writes about. */
  private isWord(tag: html.Tag | null, from: number, to: number): boolean {
    if (tag === null || tag.isEnd || html.needsParent(tag.name)) return false;
    return this.isAmongWords(tag, from, to, from) && this.findEnd(tag.name, from) === null;
  }

  /** Looks at a hundred characters before and after: a line may have a hundred thousand tags. */
  private isAmongWords(tag: html.Tag, from: number, to: number, lineStart = 0): boolean {
    const near = this.text.slice(Math.max(lineStart, from - 100), from);
    const before = near.slice(near.lastIndexOf('\n') + 1);
    return html.isAmongWords(tag, before, this.text.slice(to, to + 100));
  }

  /** Removes a stretch, and its lines with it when they hold nothing else. */
  private removeBlock(from: number, to: number): void {
    const start = this.lineStart(from);
    const rest = /^[ \t]*(?:\n|$)/.exec(this.source.slice(to, to + 200));
    const isAlone = rest !== null && this.source.slice(start, from).trim() === '';
    this.remove(isAlone ? start : from, isAlone ? to + rest[0].length : to);
  }

  /** Lines of HTML are often indented, which would make code of them where they become Markdown. */
  private dedent(from: number, to: number): void {
    const width = Math.min(from - this.lineStart(from), 100);
    const indented = new RegExp(`\\n([ >]{0,${width}})([ \\t]+)`, 'g');
    for (const { index, 1: prefix = '', 2: indent = '' } of this.source.slice(from, to).matchAll(indented)) {
      const start = from + index + 1 + prefix.length;
      this.replace(start, start + indent.length, '');
    }
  }

  private lineStart(at: number): number {
    return this.source.lastIndexOf('\n', at - 1) + 1;
  }

  private readKeptBlock(from: number, to: number, text: string): void {
    const outer = this.edits;
    this.edits = [];
    const place = { from, to, isHtml: true };
    for (const { index, 0: markup } of text.matchAll(html.MARKUP)) {
      const at = from + index;
      if (at >= this.removedEnd) this.readMarkup(at, at + markup.length, place);
    }
    // A site that lets no raw HTML through may read links here.
    for (const { index, 1: mark = '', 2: address = '' } of text.matchAll(LINK_IN_HTML)) {
      const at = from + index + 1;
      const isSafe = html.isSafeAddress(html.withoutEscapes(address));
      if (!isSafe) this.replace(at, at + 1, `&#${mark.charCodeAt(0)};`);
    }
    const edit = { from, to, text: '' };
    this.htmlBlocks.push({ edit, edits: this.edits });
    this.edits = outer;
    this.edits.push(edit);
  }

  private escape(at: number, { isHtml }: Place): void {
    if (isHtml) this.replace(at, at + 1, '&lt;');
    else this.replace(at, at, '\\');
  }

  private readMarkup(from: number, to: number, place: Place): void {
    const markup = this.text.slice(from, to);
    const tag = html.readTag(markup);
    if (/^<[!?]./.test(markup)) this.replace(from, to, '');
    else if (tag === null) this.escape(from, place);
    else if (html.OPAQUE.has(tag.name)) {
      const end = tag.isEnd ? null : this.findEnd(tag.name, from);
      if (end !== null && end <= place.to) this.remove(from, end);
      else this.escape(from, place);
    } else if (from < this.imageEnd) this.replace(from, to, '');
    else if (tag.name === 'img' && !tag.isEnd && tag.attributes.size > 0)
      this.replace(from, to, html.writeImage(tag, place.isHtml));
    else if (tag.name === 'a') this.readAnchor(tag, from, to, place);
    else if (html.VOID.has(tag.name)) {
      const stays = this.keepsTags ? html.voidTag(tag, this.source.slice(from, to)) : ' ';
      this.replace(from, to, stays);
    } else if (html.PARTS.has(tag.name) && (tag.name === 'wbr' || !this.isAmongWords(tag, from, to)))
      this.replace(from, to, '');
    else {
      const isKept = html.isKept(tag.name) && this.keepsTags;
      const edit = this.replace(from, to, isKept ? `<${tag.isEnd ? '/' : ''}${tag.name}>` : '');
      this.pair(tag, edit, place, isKept);
    }
  }

  private pair(tag: html.Tag, edit: html.Edit, { isHtml }: Place, isKept: boolean): void {
    const { name, isEnd } = tag;
    const written = this.source.slice(edit.from, edit.to);
    const gap = html.gapOf(tag, isKept, this.source.charAt(edit.from - 1), this.source.charAt(edit.to));
    if (!isKept) edit.text = gap;
    const isAmongWords = this.isAmongWords(tag, edit.from, edit.to);
    const alone = isHtml ? `&lt;${written.slice(1)}` : `\\${written}`;
    const scope = isKept ? this.scope : (this.htmlScope ?? this.scope);
    this.tags.push({ edit, name, isEnd, scope, isKept, isInHtml: isHtml, isAmongWords, alone, gap });
  }

  /** Makes a link of an anchor that holds words or an image and no other link. */
  private readAnchor(tag: html.Tag, from: number, to: number, place: Place): void {
    const { anchor } = this;
    const { isEnd, attributes } = tag;
    const edit = this.replace(from, to, '');
    this.pair(tag, edit, place, false);
    this.anchor = null;
    if (!isEnd) {
      const href = attributes.get('href')?.trim() ?? '';
      const isLink = anchor === null && html.isWebAddress(href);
      this.anchor = { edit, href: isLink ? href : null, place, edits: this.edits.length, links: this.links };
      return;
    }
    if (anchor?.href == null || anchor.links !== this.links) return;
    if (anchor.place.from !== place.from || anchor.place.to !== place.to) return;
    const content = this.write(this.edits.slice(anchor.edits), anchor.edit.to, from);
    if (content.trim() === '' || content.includes('\n\n')) return;
    this.links++;
    anchor.edit.text = place.isHtml ? `<a href="${html.escapeHtml(anchor.href)}">` : '[';
    edit.text = place.isHtml ? '</a>' : `](${html.toDestination(anchor.href)})`;
  }

  private readLink(node: SyntaxNode, offset: number): void {
    const url = node.getChild('URL');
    const title = node.getChild('LinkTitle');
    const [open, close] = node.getChildren('LinkMark');
    const to = node.to + offset;
    if (node.name === 'Image') this.imageEnd = Math.max(this.imageEnd, to);
    if (url !== null || node.getChild('LinkLabel') !== null) this.links++;
    if (url === null) {
      // No link by the rules, but a lenient parser could make one of it.
      const [, address = ''] = /^\(\s*<?([^\s>]*)/.exec(this.source.slice(to, to + 500)) ?? [];
      if (!html.isSafeAddress(html.withoutEscapes(address))) this.replace(to, to, '\\');
      return;
    }
    const written = this.text.slice(url.from + offset, url.to + offset);
    const address = html.cleanAddress(written);
    const from = node.from + offset;
    if (node.name === 'LinkReference' && this.isSentence(from, url.from + offset, written, address)) {
      this.replace(from, from, '\\');
    } else if (node.name === 'LinkReference') {
      this.replace(url.from + offset, url.to + offset, address ?? '#');
    } else if (address === null && open !== undefined && close !== undefined) {
      this.replace(open.from + offset, open.to + offset, '');
      this.replace(close.from + offset, to, '');
    } else {
      this.replace(url.from + offset, url.to + offset, address ?? '');
      const isRisky = title !== null && /[`<]/.test(this.text.slice(title.from + offset, title.to + offset));
      if (isRisky) this.replace(url.to + offset, to - 1, '');
    }
  }

  /** `[Note]: important` has no address, and no reader would see it. `[//]: #` is a comment, and a footnote has words. */
  private isSentence(from: number, urlFrom: number, written: string, address: string | null): boolean {
    const label = this.text.slice(from, urlFrom);
    if (label.startsWith('[^') && address === null) return true;
    FOOTNOTE.lastIndex = from;
    if (!ONE_WORD.test(written) || FOOTNOTE.test(this.text)) return false;
    // Without those of definitions.
    this.labels ??= new Set(labelsIn(this.source.replaceAll(']:', '')));
    const [name = ''] = labelsIn(label);
    return label.startsWith('[^') || !this.labels.has(name);
  }

  private closeFence(node: SyntaxNode, offset: number): void {
    const [open, close] = node.getChildren('CodeMark');
    const isLast = this.source.slice(node.to + offset).trim() === '';
    if (open === undefined || close !== undefined || !isLast) return;
    const from = open.from + offset;
    if (open.to - open.from > MAX_FENCE) {
      this.replace(from, from, '\\');
      return;
    }
    const prefix = this.source.slice(this.lineStart(from), from).replaceAll(/[^>\s]/g, ' ');
    const lineEnd = this.source.endsWith('\n') ? '' : '\n';
    this.closing = lineEnd + prefix + this.source.slice(from, open.to + offset);
  }
}

/** Or a version, perhaps with punctuation at its end. */
const ONE_WORD = /^(?:[^<>/.#?:@&=]+|v?\d[\d.]*)[.,;:!?]*$/;

/** The beginning of a longer one is text, so that its end does not make the text much longer. */
const MAX_FENCE = 1_000;

const LINK_IN_HTML = /\]([(:])\s{0,100}<?([^\s>)]{0,500})/g;
const FIRST_MARKUP = new RegExp(`^(?:${html.MARKUP.source})`, 'i');

function isScope(type: SyntaxNode['type']): boolean {
  return (type.is('Block') && !type.isTop) || type.name === 'TableCell';
}

function withoutQuoteMarks(source: string, tree: Tree): string {
  if (!source.includes('>')) return source;
  const pieces: string[] = [];
  let at = 0;
  tree.iterate({
    enter({ name, from, to }) {
      if (name !== 'QuoteMark') return;
      pieces.push(source.slice(at, from), ' ');
      at = to;
    },
  });
  return pieces.join('') + source.slice(at);
}

/** A blank line would end the block of HTML, and make code of the indented lines after it. One at its end stays. */
function withoutBlankLines(html: string): string {
  if (/^<pre/i.test(html)) return html;
  const lines = html.split('\n');
  const kept = lines.filter((line) => /[^\s>]/.test(line));
  if (kept.length === lines.length) return html;
  const last = lines.at(-1) ?? '';
  return kept.join('\n').trimStart() + (kept.at(-1) === last ? '' : `\n${last}`);
}

/** Removes the blank lines that a comment left at the beginning or the end. */
function trimLike(source: string, text: string): string {
  let start = 0;
  let end = text.length;
  if (!source.startsWith('\n')) while (text[start] === '\n') start++;
  if (!source.endsWith('\n')) while (end > start && text[end - 1] === '\n') end--;
  return text.slice(start, end);
}
