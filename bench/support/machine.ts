import { cpus, release } from 'node:os';

/** The context of a figure. */
export interface Machine {
  processor: string;
  cores: number;
  system: string;
  bun: string;
  /** What is measured: the commit, with a `+` if files differ from it. Null outside a Git checkout. */
  commit: string | null;
  /** True if servers and load each had a core of their own. */
  pinned: boolean;
}

export function describeMachine(pinned: boolean): Machine {
  const cores = cpus();
  return {
    processor: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    system: `${process.platform} ${release()} ${process.arch}`,
    bun: Bun.version,
    commit: readCommit(),
    pinned,
  };
}

export function machineLine({ processor, cores, system, bun, commit, pinned }: Machine): string {
  const cpu = pinned ? 'servers on one core, load on another' : 'servers and load share the cores';
  const version = commit === null ? '' : `, commit ${commit}`;
  return `${processor}, ${cores} cores (${cpu}), ${system}, Bun ${bun}${version}`;
}

function readCommit(): string | null {
  const cwd = Bun.fileURLToPath(import.meta.resolve('../..'));
  const git = (...words: string[]) => Bun.spawnSync(['git', ...words], { cwd, stderr: 'ignore' });
  if (Bun.which('git') === null) return null;
  const { success, stdout } = git('rev-parse', '--short', 'HEAD');
  if (!success) return null;
  return stdout.toString().trim() + (git('diff', '--quiet', 'HEAD').success ? '' : '+');
}
