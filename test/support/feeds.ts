import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import schema from 'jsonfeed-schema/schema-v1.1.json';
import { RelaxNGValidator, XmlDocument, XmlElement } from 'libxml2-wasm';
import { root } from './server.ts';

// Validators of feeds. Each throws with the problems of a document, and returns what a reader sees.

const schemaOf = (name: string) =>
  RelaxNGValidator.fromDoc(
    XmlDocument.fromString(readFileSync(join(root, `test/fixtures/feeds/${name}.rng`), 'utf8')),
  );
const atom = schemaOf('atom');
const rss = schemaOf('rss');
const ajv = new Ajv();
addFormats.default(ajv);
const isJsonFeed = ajv.compile(schema);

/** An entry as a reader sees it. */
interface SeenEntry {
  id: string;
  url: string | null;
  title: string;
  html: string;
}

const NAMESPACES = {
  atom: 'http://www.w3.org/2005/Atom',
  content: 'http://purl.org/rss/1.0/modules/content/',
};

function readXml(text: string, validator: RelaxNGValidator, paths: Record<keyof SeenEntry | 'list', string>) {
  using document = XmlDocument.fromString(text);
  validator.validate(document);
  return document.find(paths.list, NAMESPACES).map((node): SeenEntry => {
    const find = (path: string) =>
      node instanceof XmlElement ? (node.get(path, NAMESPACES)?.content ?? null) : null;
    return {
      id: find(paths.id)?.trim() ?? '',
      url: find(paths.url),
      title: find(paths.title)?.trim() ?? '',
      html: find(paths.html)?.trim() ?? '',
    };
  });
}

function readAtom(text: string): SeenEntry[] {
  return readXml(text, atom, {
    list: '//atom:entry',
    id: 'atom:id',
    url: 'atom:link[@rel="alternate"]/@href',
    title: 'atom:title',
    html: 'atom:content',
  });
}

function readRss(text: string): SeenEntry[] {
  return readXml(text, rss, {
    list: '//item',
    id: 'guid',
    url: 'link',
    title: 'title',
    html: 'content:encoded',
  });
}

function readJsonFeed(text: string): SeenEntry[] {
  const feed = JSON.parse(text);
  if (!isJsonFeed(feed)) throw new Error(ajv.errorsText(isJsonFeed.errors));
  if (feed.version !== 'https://jsonfeed.org/version/1.1') throw new Error(`version ${feed.version}`);
  return (feed.items as Record<string, string>[]).map(
    ({ id = '', url = null, title = '', content_html }) => ({
      id,
      url,
      title,
      html: content_html?.trim() ?? '',
    }),
  );
}

/** By the name of the file. */
export const readers = { 'feed.atom': readAtom, 'feed.rss': readRss, 'feed.json': readJsonFeed };
