/** What came of a delivery, in words: `403`, `200 OK`, or `failed to connect to host` where nobody answered. */
export function outcomeInWords(statusCode: number | null, words: string): string {
  if (statusCode === null) return words;
  // GitHub repeats the status: "Invalid HTTP Response: 403".
  return words === '' || words.endsWith(`: ${statusCode}`) ? String(statusCode) : `${statusCode} ${words}`;
}
