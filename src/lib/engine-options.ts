/**
 * How the server runs JavaScriptCore, which reads its options when a process starts. It takes the memory of the machine for
 * its own, and collects garbage late where there is much. The size limits nothing. Its last compiler (FTL) takes memory and
 * makes nothing faster here.
 */
const OPTIONS = { BUN_JSC_forceRAMSize: '134217728', BUN_JSC_useFTLJIT: '0' };

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
