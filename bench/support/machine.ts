import { cpus } from 'node:os';

/** The context of a figure. */
export interface Machine {
  processor: string;
  cores: number;
  system: string;
  bun: string;
  /** True if servers and load each had a core of their own. */
  pinned: boolean;
}

export function describeMachine(pinned: boolean): Machine {
  const cores = cpus();
  return {
    processor: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    system: `${process.platform} ${process.arch}`,
    bun: Bun.version,
    pinned,
  };
}

export function machineLine({ processor, cores, system, bun, pinned }: Machine): string {
  const cpu = pinned ? 'servers on one core, load on another' : 'servers and load share the cores';
  return `${processor}, ${cores} cores (${cpu}), ${system}, Bun ${bun}`;
}
