/**
 * The system's error as a line that says what to do: a full disk, a database that somebody else
 * keeps busy, or a damaged one. Null for every other error.
 */
export function describeSystemTrouble(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOSPC' || code === 'SQLITE_FULL') {
    return 'The disk is full, and what was to be written is not there. Make room, and run the command again';
  }
  if (code.startsWith('SQLITE_BUSY')) {
    return 'The database is busy: another process has been writing to it for 5 seconds. Run the command again';
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return 'The database is damaged (database disk image is malformed). Restore a backup with --force, which keeps the file as it is beside the new one';
  }
  return null;
}
