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
