import { BlockList, isIP } from 'node:net';
import type { Deps } from '../deps.ts';
import type { Check } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import type { Integration } from './model.ts';

const REACH_TIMEOUT_MS = 5_000;

/** Whether `PUBLIC_URL` is an address that a provider can use, and answers from here. */
export async function checkReach(
  { publicUrl, fetch }: Pick<Deps, 'publicUrl' | 'fetch'>,
  { type }: Pick<Integration, 'type'>,
): Promise<Check> {
  const name = 'reachability';
  const url = publicUrl();
  const said = await askPing(fetch, url);
  if (said !== null) {
    return {
      name,
      status: 'failed',
      message: `${url} cannot be reached from here: ${said}`,
      advice:
        'Start the server, and set PUBLIC_URL to the address that providers reach it at. Where this machine cannot reach its own public address, go by the last ping',
    };
  }
  if (isLocal(url)) {
    return {
      name,
      status: 'warning',
      message: `${url} answers, but is an address of this machine or network alone`,
      advice:
        'Providers reach it only from the same network. Set PUBLIC_URL to a public address, or use a tunnel while you develop (docs/webhooks.md)',
    };
  }
  if (providerOf(type).requiresHttps && !url.startsWith('https:')) {
    return {
      name,
      status: 'warning',
      message: `${url} answers, but ${providerOf(type).name} delivers over https alone`,
      advice: 'Put a proxy with TLS before it, and set PUBLIC_URL to its https address',
    };
  }
  return { name, status: 'ok', message: `${url} answers` };
}

/** Null when it answers as Tidings does; otherwise why not, in words. */
async function askPing(fetch: Deps['fetch'], url: string): Promise<string | null> {
  try {
    const response = await fetch(
      new Request(`${url}/ping`, { signal: AbortSignal.timeout(REACH_TIMEOUT_MS) }),
    );
    // What answers may be anything: no more of it is read than a pong has.
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    await reader?.cancel();
    const text = new TextDecoder().decode(value?.subarray(0, 100));
    if (response.ok && text === 'pong') return null;
    const location = response.headers.get('location');
    if (location !== null) return `it redirects to ${location}, and providers follow no redirects`;
    return `something else than Tidings answered, with ${response.status}`;
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError'
      ? `no answer within ${REACH_TIMEOUT_MS / 1000} seconds`
      : `nobody answers (${causeOf(error)})`;
  }
}

/** The system's code where there is one, such as `ECONNREFUSED`: what Bun says beside it helps nobody here. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

const privateAddresses = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  privateAddresses.addSubnet(network, prefix, 'ipv4');
}
privateAddresses.addAddress('::1', 'ipv6');
privateAddresses.addSubnet('fc00::', 7, 'ipv6');
privateAddresses.addSubnet('fe80::', 10, 'ipv6');

/** Whether the host is one that only this machine or network knows. */
export function isLocal(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(host);
  if (family === 0) return /^localhost$|\.(localhost|local|internal)$/.test(host);
  return privateAddresses.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
