/** The URL and the headers of each `curl` line, as a shell would read them. */
export function curlLines(text: string): { url: string; headers: Record<string, string> }[] {
  return Array.from(
    text.matchAll(/^ *curl -H "([^:]+): ([^"]+)" "([^"]+)"$/gm),
    ([, name = '', value = '', url = '']) => ({ url, headers: { [name]: value } }),
  );
}
