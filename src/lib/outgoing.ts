/** Returns a redirect as the response. Following one would send credentials to a server that nobody configured. */
export function fetchWithoutRedirects(
  input: Request | URL | string,
  init?: Omit<RequestInit, 'redirect'>,
): Promise<Response> {
  return fetch(input, { ...init, redirect: 'manual' });
}
