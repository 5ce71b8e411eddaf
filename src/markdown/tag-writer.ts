import { isSafeAddress, isWebAddress, toDestination } from './address.ts';
import { Ends, isKept, OPAQUE, STRUCTURE, type Tag, TagReader, VOID } from './html.ts';
import { specialEnd } from './html-blocks.ts';
import type { Pieces } from './pieces.ts';

export interface Mode {
  /** Whether it is raw HTML, in which Markdown is not read. */
  isHtml: boolean;
  keepsTags: boolean;
}

interface Anchor {
  at: number;
  href: string | null;
  /** How many brackets were open, and how many links were made, where it began. */
  brackets: number;
  links: number;
}

const AUTOLINK = /<(?:([a-z][a-z\d+.-]{1,31}):[^\s<>]*|[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d.-]+)>/iy;

/** Rewrites what begins with `<` in a text that is gone through from its beginning to its end. */
export class TagWriter {
  protected at = 0;
  /** How far the text was written. */
  protected written = 0;
  /** The brackets that are open, and the pieces that they are. */
  protected readonly brackets: { at: number; isImage: boolean }[] = [];
  /** How many links were made. */
  protected links = 0;
  private readonly tags: TagReader;
  private readonly ends: Ends;
  private anchor: Anchor | null = null;

  constructor(
    protected readonly text: string,
    private readonly scope: number,
    protected readonly pieces: Pieces,
    protected readonly mode: Mode,
  ) {
    this.tags = new TagReader(text);
    this.ends = new Ends(text);
  }

  /** Writes what was left as it is, and then a text in place of what stands up to `end`. */
  protected replace(end: number, text: string): number {
    if (this.at > this.written) this.pieces.add(this.text.slice(this.written, this.at));
    this.at = end;
    this.written = end;
    return this.pieces.add(text);
  }

  protected readLess(): void {
    const { text, at } = this;
    const end = specialEnd(text, at, this.ends);
    const tag = end === null ? this.tags.read(at) : null;
    if (end !== null) this.replace(end, '');
    else if (tag !== null) this.readTag(tag);
    else if (!this.skipAutolink()) this.escape();
  }

  /** Goes past `<https://…>`, which is a link in Markdown, though not in raw HTML. */
  private skipAutolink(): boolean {
    AUTOLINK.lastIndex = this.at;
    const [link, scheme] = AUTOLINK.exec(this.text) ?? [];
    if (this.mode.isHtml || link === undefined || (scheme !== undefined && !isSafeAddress(`${scheme}:`)))
      return false;
    this.at += link.length;
    return true;
  }

  /** Makes a `<` the character that it is, where it could be read as the beginning of a tag. */
  private escape(): void {
    if (this.mode.isHtml) this.replace(this.at + 1, '&lt;');
    else if (/[a-z/!?]/i.test(this.text[this.at + 1] ?? '')) this.replace(this.at + 1, '\\<');
    else this.at++;
  }

  private readTag(tag: Tag): void {
    const { name, isEnd } = tag;
    if (OPAQUE.has(name)) this.dropOpaque(tag);
    else if (name === 'img' && !isEnd) this.writeImage(tag);
    else if (name === 'a') this.writeAnchor(tag);
    else if (!isEnd && !STRUCTURE.has(name) && this.isType(tag)) this.escape();
    else if (!isKept(name) || !this.mode.keepsTags) this.replace(tag.end, name === 'br' ? ' ' : '');
    else if (VOID.has(name)) this.replace(tag.end, this.voidTag(tag));
    else {
      const at = this.replace(tag.end, `<${isEnd ? '/' : ''}${name}>`);
      this.pieces.tags.push({ at, name, isEnd, scope: this.scope, unpaired: '' });
    }
  }

  /** Browsers read `</br>` as a line break, too. */
  private voidTag({ name, isEnd, end }: Tag): string {
    const source = this.text.slice(this.at, end);
    if (isEnd) return name === 'br' ? '<br>' : '';
    return source === `<${name}/>` || source === `<${name} />` ? source : `<${name}>`;
  }

  /** Whether it is rather a type's argument, as in `List<Button>`. */
  private isType({ name, attributes }: Tag): boolean {
    const isGlued = /[\p{L}\p{N}_]/u.test(this.text[this.at - 1] ?? '');
    return (
      isGlued && attributes.size === 0 && !VOID.has(name) && this.ends.afterEndTag(name, this.at) === null
    );
  }

  private dropOpaque(tag: Tag): void {
    const end = tag.isEnd ? tag.end : this.ends.afterEndTag(tag.name, this.at);
    if (end === null) this.escape();
    else this.replace(end, '');
  }

  private writeImage({ attributes, end }: Tag): void {
    const src = attributes.get('src')?.trim() ?? '';
    const alt = (attributes.get('alt') ?? '').replaceAll(/[\s\p{Cc}]+/gu, ' ');
    if (!isWebAddress(src)) this.replace(end, this.mode.isHtml ? escapeHtml(alt) : escapeLabel(alt));
    else if (this.mode.isHtml) this.replace(end, `<img src="${escapeHtml(src)}" alt="${escapeHtml(alt)}">`);
    else this.replace(end, `![${escapeLabel(alt)}](${toDestination(src)})`);
  }

  private writeAnchor({ isEnd, attributes, end }: Tag): void {
    if (isEnd) {
      this.closeAnchor(end);
      return;
    }
    const href = attributes.get('href')?.trim() ?? '';
    const at = this.replace(end, '');
    const state = { at, brackets: this.brackets.length, links: this.links };
    this.anchor = this.anchor === null ? { ...state, href: isWebAddress(href) ? href : null } : null;
  }

  private closeAnchor(end: number): void {
    const { anchor } = this;
    this.anchor = null;
    const at = this.replace(end, '');
    if (anchor?.href == null || anchor.links !== this.links || anchor.brackets !== this.brackets.length)
      return;
    const content = this.pieces.list.slice(anchor.at + 1, at).join('');
    if (content.trim() === '' || content.includes('\n\n')) return;
    this.links++;
    this.pieces.set(anchor.at, this.mode.isHtml ? `<a href="${escapeHtml(anchor.href)}">` : '[');
    this.pieces.set(at, this.mode.isHtml ? '</a>' : `](${toDestination(anchor.href)})`);
  }
}

function escapeLabel(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>&|~!]/g, '\\$&');
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
