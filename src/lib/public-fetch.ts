import { lookup as resolveName } from 'node:dns/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { unlessAborted } from './time.ts';

// Requests to addresses that strangers name, without becoming their way into the network of this server: each name is
// resolved once, its addresses are checked, and the connection goes to the checked one.

/** The address must not be asked, or answered with something that cannot be used. Trying again does not help. */
export class RefusedDownload extends Error {
  override readonly name = 'RefusedDownload';
}

export interface PublicConnectOptions {
  /** For everything together. */
  timeoutMs: number;
  /** Ends the request. */
  signal?: AbortSignal | undefined;
  /** Hosts that may be asked over plain http. */
  plainHosts?: ReadonlySet<string> | undefined;
  privateHosts?: ReadonlySet<string> | undefined;
  /** For tests. */
  resolve?: (host: string) => Promise<string[]>;
  isAllowed?: (address: string) => boolean;
}

export interface PublicFetchOptions extends PublicConnectOptions {
  maxBytes: number;
  /** Headers for this hop, such as a token for its own host. */
  headersFor?: (url: URL) => Record<string, string>;
}

export interface PublicPost {
  body: string;
  headers: Readonly<Record<string, string>>;
}

export interface PublicResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body, or its start. */
  text: string;
}

const MAX_REDIRECTS = 3;

/** Reserved for other uses than hosts on the internet (the IANA registries of special-purpose addresses). */
const reserved = new BlockList();
for (const range of [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24',
  '203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
].flatMap((line) => line.split(' '))) {
  const [network = '', bits] = range.split('/');
  reserved.addSubnet(network, Number(bits), 'ipv4');
}
/** Of IPv6, global unicast alone is public; these parts of it hold an IPv4 address or are for documentation. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');
for (const range of ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '2620:4f:8000::/48']) {
  const [network = '', bits] = range.split('/');
  reserved.addSubnet(network, Number(bits), 'ipv6');
}

/** True for an address of a host on the internet. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !reserved.check(address, 'ipv4');
  if (isIP(address) !== 6) return false;
  return globalUnicast.check(address, 'ipv6') && !reserved.check(address, 'ipv6');
}

/** True if only this machine or network can reach the URL. */
export function isLocal(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? /^localhost$|\.(localhost|local|internal)$/.test(host) : !isPublicAddress(host);
}

/** The whole content of an address. Follows redirects, each checked as the first. Throws `RefusedDownload` and others. */
export function fetchPublic(address: string, options: PublicFetchOptions): Promise<Buffer> {
  return within(options, async (signal) => {
    let url = parse(address);
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const headers = { accept: 'image/*', ...options.headersFor?.(url) };
      const response = await open(url, { method: 'GET', headers }, options, signal);
      const { statusCode = 0, headers: found } = response;
      if (statusCode === 200) return await readWhole(response, options.maxBytes, signal);
      response.destroy();
      if (statusCode < 300 || statusCode >= 400 || found.location === undefined) {
        throw new Error(`${url.hostname} answered with status ${statusCode}`);
      }
      url = parse(found.location, url);
    }
    throw new RefusedDownload('it redirects too often');
  });
}

/**
 * Posts a body and returns the response with the first `maxBytes` of its body, whatever its status. Follows no redirect.
 * Throws `RefusedDownload` and others.
 */
export function postPublic(
  address: string,
  { body, headers }: PublicPost,
  options: PublicConnectOptions & { maxBytes: number },
): Promise<PublicResponse> {
  return within(options, async (signal) => {
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    const request = { method: 'POST', headers: { ...headers, ...length }, body };
    const response = await open(parse(address), request, options, signal);
    const chunks: Buffer[] = [];
    // A body that breaks off counts as far as it came: the status is known.
    await collect(response, chunks, options.maxBytes, signal).catch(() => undefined);
    const text = Buffer.concat(chunks).subarray(0, options.maxBytes).toString('utf8');
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  });
}

/**
 * Sends a request and returns the whole response, whatever its status. Follows no redirect. Throws `RefusedDownload` and
 * others.
 */
export function requestPublic(
  address: string,
  request: Partial<PublicPost> & { method: string },
  options: PublicConnectOptions & { maxBytes: number },
): Promise<PublicResponse> {
  return within(options, async (signal) => {
    const response = await open(parse(address), request, options, signal);
    const text = (await readWhole(response, options.maxBytes, signal)).toString('utf8');
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  });
}

/** Gives `work` a signal for its timeout and for the caller's. */
async function within<Result>(
  { timeoutMs, signal }: PublicConnectOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const end = new AbortController();
  const late = new Error(`no response within ${timeoutMs / 1000} seconds`);
  const timer = setTimeout(() => end.abort(late), timeoutMs);
  try {
    return await work(AbortSignal.any([end.signal, ...(signal === undefined ? [] : [signal])]));
  } finally {
    clearTimeout(timer);
    end.abort();
  }
}

function parse(address: string, base?: URL): URL {
  const url = URL.parse(address, base?.href);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new RefusedDownload('it is not an http or https address');
  if (url.username !== '' || url.password !== '')
    throw new RefusedDownload('its address contains a password');
  return url;
}

async function open(
  url: URL,
  { method, headers, body }: Partial<PublicPost> & { method: string },
  options: PublicConnectOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { plainHosts, privateHosts, isAllowed = isPublicAddress, resolve = resolveAll } = options;
  const isPlain = url.protocol === 'http:';
  if (isPlain && plainHosts?.has(url.hostname) !== true)
    throw new RefusedDownload('it is not an https address');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await unlessAborted(signal, resolve(host)) : [host];
  const [checked] = addresses;
  const mayBePrivate = privateHosts?.has(url.hostname) === true;
  // One private address among others is a sign of an attack.
  if (checked === undefined || !(mayBePrivate || addresses.every(isAllowed))) {
    throw new RefusedDownload(`${url.hostname} is not on the public internet`);
  }
  const family = isIP(checked);
  const { promise, resolve: done, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (isPlain ? requestHttp : requestHttps)(
    url,
    {
      method,
      agent: false,
      signal,
      headers: { 'user-agent': 'tidings', ...headers },
      // Not by name again: a second answer could be another address.
      lookup: (_name, { all }, found) =>
        all ? found(null, [{ address: checked, family }]) : found(null, checked, family),
    },
    done,
  );
  request.on('error', (error) => reject(signal.aborted ? signal.reason : error));
  request.end(body);
  return promise;
}

async function resolveAll(host: string): Promise<string[]> {
  return (await resolveName(host, { all: true })).map(({ address }) => address);
}

async function readWhole(response: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const isDeclaredLarger = Number(response.headers['content-length'] ?? 0) > maxBytes;
  if (isDeclaredLarger) response.destroy();
  else await collect(response, chunks, maxBytes, signal);
  const body = Buffer.concat(chunks);
  if (!isDeclaredLarger && body.length <= maxBytes) return body;
  throw new RefusedDownload(`it is larger than ${Math.floor(maxBytes / 1024 / 1024)} MB`);
}

/** Collects a body in `chunks`, until it is longer than `maxBytes`. */
async function collect(
  response: IncomingMessage,
  chunks: Buffer[],
  maxBytes: number,
  signal: AbortSignal,
): Promise<void> {
  const read = async () => {
    let length = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) break;
    }
  };
  await unlessAborted(signal, read()).finally(() => response.destroy());
}

/** Clients with the same group share limits: an IPv6 customer has at least a /64, and counts as one client. */
export function addressGroup(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const before = head.split(':').filter(Boolean);
  const after = tail?.split(':').filter(Boolean) ?? [];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Returns a redirect as the response. Following one would send credentials to a server that nobody configured. */
export function fetchWithoutRedirects(
  input: Request | URL | string,
  init?: Omit<RequestInit, 'redirect'>,
): Promise<Response> {
  return fetch(input, { ...init, redirect: 'manual' });
}
