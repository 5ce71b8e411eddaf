import { root } from './server.ts';

// `bun run audit`: asks the registry for advisories about the packages that Tidings ships with.

/** A registry that does not answer holds up no check for longer. */
const TIMEOUT_MS = 60_000;

export interface Audit {
  /** True if an advisory of high or critical severity exists. */
  isAffected: boolean;
  /** The text to print. */
  text: string;
}

/** Runs `bun audit` on production dependencies. Without advisories from the registry nothing fails. */
export async function audit(
  environment: Record<string, string | undefined> = process.env,
  timeoutMs = TIMEOUT_MS,
): Promise<Audit> {
  const bun = Bun.spawn([process.execPath, 'audit', '--production', '--audit-level=high'], {
    cwd: root,
    env: { ...environment, NO_COLOR: '1' },
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: timeoutMs,
  });
  const [found, trouble] = await Promise.all([
    new Response(bun.stdout).text(),
    new Response(bun.stderr).text(),
  ]);
  const exitCode = await bun.exited;
  if (bun.signalCode !== null) {
    return skipped(`the registry did not answer within ${timeoutMs / 1000} s`);
  }
  const error = /^error: (.*)$/m.exec(trouble)?.[1];
  if (error !== undefined) return skipped(reasonOf(error));
  if (exitCode !== 0) return { isAffected: true, text: found };
  return { isAffected: false, text: 'Dependency audit: no advisories of high severity' };
}

function skipped(reason: string): Audit {
  return { isAffected: false, text: `Dependency audit skipped: ${reason}` };
}

/** Without the address of the registry, which may be nobody else's business. */
function reasonOf(error: string): string {
  const ending = / - (\S+)$/.exec(error)?.[1];
  if (ending === undefined) return 'the registry sent something else than advisories';
  return /^\d+$/.test(ending)
    ? `the registry offers no advisories (status ${ending})`
    : `the registry cannot be reached (${ending})`;
}

if (import.meta.main) {
  const { isAffected, text } = await audit();
  process.stdout.write(`${text}\n`);
  process.exitCode = isAffected ? 1 : 0;
}
