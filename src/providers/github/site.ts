/** The site of an API such as `https://api.github.com`, `https://HOST/api/v3` or `https://api.SUB.ghe.com`. */
export function webOf(baseUrl: string): string {
  const { origin, protocol, host } = new URL(baseUrl);
  return /^api\.(github\.com|[^.]+\.ghe\.com)$/.test(host) ? `${protocol}//${host.slice(4)}` : origin;
}
