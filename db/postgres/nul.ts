// PostgreSQL's text cannot hold U+0000, and SQLite's can. `migrations/0000_start.sql` reads the same escapes.

const ESCAPED_NUL = '\uFDD0\uFDD1';
const ESCAPED_ESCAPE = '\uFDD0\uFDD2';

/** Text as PostgreSQL stores it: without U+0000. */
export function escapeNul(text: string): string {
  return /[\0\uFDD0]/.test(text)
    ? text.replaceAll('\uFDD0', ESCAPED_ESCAPE).replaceAll('\0', ESCAPED_NUL)
    : text;
}

/** The text that was stored. */
export function unescapeNul(stored: string): string {
  return stored.includes('\uFDD0')
    ? stored.replaceAll(ESCAPED_NUL, '\0').replaceAll(ESCAPED_ESCAPE, '\uFDD0')
    : stored;
}
