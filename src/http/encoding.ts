/** Whether an `Accept-Encoding` header takes gzip (RFC 9110 section 12.5.3): named, or by `*`, and not with weight 0. */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  const weights = new Map(
    (acceptEncoding ?? '').split(',').map((part) => {
      const [coding = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
      const weight = parameters.find((each) => each.startsWith('q='))?.slice(2) ?? '1';
      return [coding, Number(weight)];
    }),
  );
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}
