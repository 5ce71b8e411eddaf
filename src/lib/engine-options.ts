/**
 * Options that JavaScriptCore and Bun read when a process starts. The engine takes the memory of the machine for its own,
 * and collects garbage late where there is much; the size limits nothing. Its last compiler (FTL) takes memory and makes
 * nothing faster here. Bun allows 256 requests to other servers at a time, and queues the rest.
 */
const OPTIONS = {
  BUN_JSC_forceRAMSize: '134217728',
  BUN_JSC_useFTLJIT: '0',
  BUN_CONFIG_MAX_HTTP_REQUESTS: '1024',
};

/** How many requests to other servers Bun allows in this process. */
export const maxRequests = Number(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS) || 256;

/**
 * Starts this program again in the same process with the options that the environment lacks, unless it has all of them.
 * What the environment says already stays.
 */
export function restartWithEngineOptions(): void {
  const { execve } = process;
  if (execve === undefined || Object.keys(OPTIONS).every((name) => process.env[name] !== undefined)) return;
  // A compiled program adds its own name in front of the words.
  const words = Bun.argv.slice(Bun.main.startsWith('/$bunfs/') ? 2 : 1);
  execve(process.execPath, [process.argv0, ...process.execArgv, ...words], { ...OPTIONS, ...process.env });
}
