/**
 * An answer that a provider got, for people: `200 OK`, `504 timed out`. A provider's words for a refusal hold nothing but
 * the status over again (`Invalid HTTP Response: 403`), which is said once. `statusCode` is null when nobody answered.
 */
export function sayAnswer(statusCode: number | null, words: string): string {
  if (statusCode === null) return words;
  return /^Invalid HTTP Response: \d+$/.test(words) && words.endsWith(String(statusCode))
    ? String(statusCode)
    : `${statusCode} ${words}`;
}
