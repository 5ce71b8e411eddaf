import { cpus } from 'node:os';

/** What a figure needs beside it to mean anything. */
export interface Machine {
  processor: string;
  cores: number;
  system: string;
  bun: string;
  /** Whether servers and load each had a core to themselves. */
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
