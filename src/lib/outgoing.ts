/**
 * `fetch` that returns a redirect as the response. Following one would repeat the body and its credentials to a server
 * that nobody configured, and would take that server's word for the answer.
 */
export function fetchWithoutRedirects(
  input: Request | URL | string,
  init?: Omit<RequestInit, 'redirect'>,
): Promise<Response> {
  return fetch(input, { ...init, redirect: 'manual' });
}
