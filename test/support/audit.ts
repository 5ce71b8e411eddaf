import { root } from './server.ts';

// `bun run audit`: asks the registry for advisories about the packages that Tidings ships with. With `--release`, it
// also fails when the registry has no answer.

/** A registry that does not answer holds up no check for longer. */
const TIMEOUT_MS = 60_000;

export interface Audit {
  /** `affected`: an advisory of high or critical severity exists. `unknown`: the registry did not say. */
  advisories: 'none' | 'affected' | 'unknown';
  /** The text to print. */
  text: string;
}

/** Runs `bun audit` on production dependencies. */
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
    return unknown(`the registry did not answer within ${timeoutMs / 1000} s`);
  }
  const error = /^error: (.*)$/m.exec(trouble)?.[1];
  if (error !== undefined) return unknown(reasonOf(error));
  if (exitCode !== 0) return { advisories: 'affected', text: found };
  return { advisories: 'none', text: 'Dependency audit: no advisories of high severity' };
}

function unknown(reason: string): Audit {
  return { advisories: 'unknown', text: `Dependency audit: advisories are unknown, because ${reason}` };
}

/** A clean clone passes without an answer of the registry; a release does not. */
export function isPassed({ advisories }: Audit, isRelease: boolean): boolean {
  return advisories === 'none' || (advisories === 'unknown' && !isRelease);
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
  const result = await audit();
  process.stdout.write(`${result.text}\n`);
  process.exitCode = isPassed(result, process.argv.includes('--release')) ? 0 : 1;
}
