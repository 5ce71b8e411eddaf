// Which representation of the content a client gets, and whether it has it already.

/**
 * What an `Accept-Encoding` header says about gzip (RFC 9110 section 12.5.3). `required`: the client excludes
 * `identity`. A client that excludes both still gets `identity`.
 */
export function gzipPreference(acceptEncoding: string | null): 'refused' | 'accepted' | 'required' {
  if (acceptEncoding === null) return 'refused';
  const weights: Record<string, number> = {};
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((each) => each.trim());
    weights[coding] = Number(parameters.find((each) => each.startsWith('q='))?.slice(2) ?? 1);
  }
  const { gzip = weights['*'] ?? 0, identity = weights['*'] } = weights;
  // Also false for a weight that is not a number.
  if (!(gzip > 0)) return 'refused';
  if (identity === 0) return 'required';
  return weights.identity !== undefined && weights.identity > gzip ? 'refused' : 'accepted';
}

/** The strong tag of the gzip representation of content whose own tag is `etag`. */
export function gzipEtag(etag: string): string {
  return `${etag.slice(0, -1)}-gzip"`;
}

/**
 * Whether an `If-None-Match` header names the content, in either representation. Weak comparison, as RFC 9110 section
 * 13.1.2 demands.
 */
export function matchesEtag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  const zipped = gzipEtag(etag);
  return ifNoneMatch.split(',').some((candidate) => {
    const tag = candidate.trim().replace(/^W\//, '');
    return tag === '*' || tag === etag || tag === zipped;
  });
}
