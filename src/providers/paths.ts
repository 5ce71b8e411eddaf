import { type Static, Type } from '@sinclair/typebox';
import { invalidField } from '../lib/app-error.ts';
import { maybe } from './provider.ts';

// The files that a commit changes, for filters by path.

export const MaybeFiles = maybe(Type.Array(Type.String()), 'a list of files');

type Files = Static<typeof MaybeFiles>;

/** Of one commit. Of more files, the folders that hold them. */
const MAX_PATHS = 100;

/** Of all commits of a push. */
const MAX_PATHS_OF_PUSH = 5_000;

const MAX_PATH_LENGTH = 500;

export function pathCountFor(commitCount: number): number {
  return Math.max(1, Math.min(MAX_PATHS, Math.floor(MAX_PATHS_OF_PUSH / Math.max(1, commitCount))));
}

/**
 * Sorted, each once, at most `limit`: files, or with a slash at the end the folders that hold them, as deep as fits. The
 * root is an empty text.
 */
export function boundedPaths(paths: readonly string[], limit = MAX_PATHS): string[] {
  const all = new Set(paths.map((path) => path.slice(0, MAX_PATH_LENGTH)));
  for (let depth = 8; all.size > limit && depth >= 0; depth--) {
    const folders = [...all].map((path) => folderOf(path, depth));
    all.clear();
    for (const folder of folders) all.add(folder);
  }
  return [...all].sort();
}

/** The paths of a commit in a push. None for one that was read through an API, where commits come without their files. */
export function pathsOf(
  { added, modified, removed }: { added?: Files; modified?: Files; removed?: Files },
  limit: number,
): { paths?: string[] } {
  if (!added && !modified && !removed) return {};
  return { paths: boundedPaths([...(added ?? []), ...(modified ?? []), ...(removed ?? [])], limit) };
}

/** The folder of a file, at most `depth` levels below the root. */
function folderOf(path: string, depth: number): string {
  const folders = path.split('/').slice(0, -1).slice(0, depth);
  return folders.length === 0 ? '' : `${folders.join('/')}/`;
}

const NAME = Buffer.from('payload=');
const [AMPERSAND, PERCENT, PLUS, SPACE] = [38, 37, 43, 32];

/** Decoded fields, because each secret that may have signed a body reads it again. */
const decoded = new WeakMap<Uint8Array, Uint8Array>();

/** The field `payload` of a form; null without one. Takes as long as 25 MB of JSON, whatever else is in the form. */
export function payloadField(body: Uint8Array): Uint8Array | null {
  const known = decoded.get(body);
  if (known !== undefined) return known;
  const form = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = startsWithPayload(body) ? 0 : form.indexOf('&payload=') + 1;
  if (start === 0 && !startsWithPayload(body)) return null;
  const from = start + NAME.length;
  const end = form.indexOf(AMPERSAND, from);
  const field = decode(form.subarray(from, end === -1 ? form.length : end));
  decoded.set(body, field);
  return field;
}

export const startsWithPayload = (body: Uint8Array) => NAME.equals(body.subarray(0, NAME.length));

/** As `URLSearchParams` decodes, but to bytes and in a fifth of the time. */
function decode(encoded: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(encoded.length);
  let length = 0;
  for (let at = 0; at < encoded.length; at++) {
    const each = encoded[at] ?? 0;
    const byte = each === PERCENT ? digit(encoded[at + 1]) * 16 + digit(encoded[at + 2]) : -1;
    if (byte >= 0) at += 2;
    bytes[length++] = byte >= 0 ? byte : each === PLUS ? SPACE : each;
  }
  return bytes.subarray(0, length);
}

/** The value of a hexadecimal digit; far below zero for other characters. */
function digit(character = 0): number {
  if (character >= 48 && character <= 57) return character - 48;
  const letter = character | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1_000;
}

// The issues of a tracker that a commit or a pull request names, such as ENG-412. Which of them exist only the tracker
// knows: a branch `fix-12` looks the same.

/** Of one commit or pull request. */
const MAX_IDENTIFIERS = 20;

/** How much of a description to search, in characters. */
const MAX_TEXT_LENGTH = 50_000;

/** A part of every identifier, which most texts lack. */
const NUMBERED = /[A-Za-z0-9]-\d/;

const IDENTIFIER = /(?<![A-Za-z0-9-])[A-Za-z][A-Za-z0-9]{0,9}-\d{1,6}(?![A-Za-z0-9])/g;
const CAPITALS = /(?<![A-Za-z0-9-])[A-Z][A-Z0-9]{0,9}-\d{1,6}(?![A-Za-z0-9])/g;

/** The words with which Linear, GitHub and GitLab link an issue, and the issues that follow. */
const LINKED =
  /\b(?:close[sd]?|closing|fix(?:e[sd])?|fixing|resolve[sd]?|resolving|complete[sd]?|completing|implement(?:s|ed)?|implementing|refs?|references|part of|related to|relates to|contributes to|towards?):?\s{1,5}((?:(?:https?:\/\/\S{1,300}|#?[A-Za-z0-9-]{1,20})(?:\s{0,3}(?:,|&|\band\b)\s{0,3})?){1,20})/gi;

/** An issue's page. Linear writes it into the description of a pull request. */
const PAGE = /\bhttps:\/\/linear\.app\/[^/\s]{1,100}\/issue\/([A-Z][A-Z0-9]{0,9}-\d{1,6})\b/g;

/** The page of a pull request at GitHub, GitLab or Forgejo, with or without what follows its number. */
const REQUEST = /^(https?:\/\/[^\s?#]{1,1000}?)(?:\/-)?\/(?:pulls?|merge_requests)\/(\d{1,9})(?=[/?#]|$)/i;

/**
 * The pull request at an address, which is written in one way, and the address of its repository as given; null for
 * another page.
 */
export function requestAt(url: string): { url: string; repository: string; number: number } | null {
  const [page, repository = '', number] = REQUEST.exec(url) ?? [];
  return page === undefined ? null : { url: page.toLowerCase(), repository, number: Number(number) };
}

/**
 * In capitals, each once: those in the name of the branch, then those of the title, then those that the text links. A
 * text that only mentions an issue does not link it.
 */
export function identifiersIn(named: {
  branch?: string | null;
  title: string;
  text?: string | null;
}): string[] {
  const text = (named.text ?? '').slice(0, MAX_TEXT_LENGTH);
  if (![named.branch ?? '', named.title, text].some((each) => NUMBERED.test(each))) return [];
  const found = [
    ...matchesOf(IDENTIFIER, (named.branch ?? '').replaceAll(/[/_.]/g, ' ')),
    ...matchesOf(CAPITALS, named.title.slice(0, 1_000)),
    ...Array.from(text.matchAll(LINKED), ([, list = '']) => matchesOf(IDENTIFIER, withoutPages(list))).flat(),
    ...Array.from(text.matchAll(PAGE), ([, identifier = '']) => identifier),
  ];
  return [...new Set(found.map((each) => each.toUpperCase()))].slice(0, MAX_IDENTIFIERS);
}

/** The same as the field of an event, absent for none. */
export function namesIn(named: Parameters<typeof identifiersIn>[0]): { identifiers?: string[] } {
  const identifiers = identifiersIn(named);
  return identifiers.length > 0 ? { identifiers } : {};
}

const matchesOf = (pattern: RegExp, text: string) => Array.from(text.matchAll(pattern), ([match]) => match);

const withoutPages = (text: string) => text.replaceAll(/https?:\/\/\S+/g, ' ');

const MAX_LENGTH = 2_000;

/** `https://host/…` or `ssh://git@host:22/…`, `git@host:…`, or `host.example/owner/name` without a scheme. */
const URL_FORMS = [
  /^[a-z][a-z+.-]*:\/\/(?:[^@/\s]*@)?(?<host>[^/:@\s]+)(?::\d+)?(?:\/(?<path>\S*))?$/i,
  /^[^@/:\s]+@(?<host>[^/:@\s]+):(?<path>\S*)$/,
  /^(?<host>[\w-]+(?:\.[\w-]+)+)(?::\d+)?\/(?<path>[^/\s]+\/\S+)$/,
];

/**
 * The name of a repository that a person typed or pasted: `owner/name` from its URL, other text as it is. `host`: the site
 * of the repositories. `advice`: for a URL of another site. `isNested`: an owner may be a group in others, as in
 * `group/subgroup/name`. Throws `AppError` 400 for a URL of another site or of no repository, and repeats nothing of it,
 * since a URL can hold a token.
 */
export function repositoryName(text: string, host: string, { isNested = false, advice = '' } = {}): string {
  const given = text.trim();
  const hasHostOnly = given.toLowerCase().startsWith(`${host}/`);
  const url = hasHostOnly ? `https://${given}` : given;
  const parts = URL_FORMS.map((form) => form.exec(url.slice(0, MAX_LENGTH))?.groups).find(Boolean);
  if (parts === undefined) return given;
  // GitLab's pages of a project are below `/-/`.
  const path = (parts.path ?? '').replace(/[?#].*$/, '').replace(/\/-(?:\/.*)?$/, '');
  const names = path.split('/').filter(Boolean);
  const used = isNested ? names : names.slice(0, 2);
  const repository = used.join('/').replace(/\.git$/, '');
  if (used.length > 1 && !repository.endsWith('/') && isSite(parts.host ?? '', host)) return repository;
  throw invalidField('repository', `must be OWNER/NAME or the URL of a repository at ${host}${advice}`);
}

/** Some sites also use `www.` and, for SSH behind a firewall, `ssh.`. */
function isSite(actual: string, host: string): boolean {
  return actual.toLowerCase().replace(/^(?:www|ssh)\./, '') === host;
}
