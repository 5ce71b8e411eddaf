import { expect } from 'bun:test';
import { rmSync } from 'node:fs';
import type { Terminal } from '../../src/cli/output.ts';
import { runCli } from '../../src/cli/program.ts';
import { newFolder } from './folder.ts';

export interface CliResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** A folder that is gone when the test file is done; made anew for each call. */
export function temporaryFolder(): { path: string; remove(): void } {
  const path = newFolder('test');
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs one command in this process, on a data folder, with nothing from the real environment and no terminal. */
export async function cli(
  dataDir: string,
  words: readonly string[],
  { environment = {}, ...terminal }: { environment?: Record<string, string> } & Partial<Terminal> = {},
): Promise<CliResult> {
  let stdout = '';
  let stderr = '';
  const exitCode = await runCli(words, {
    environment: { DATA_DIR: dataDir, LOG_LEVEL: 'silent', ...environment },
    terminal: {
      write: (text) => {
        stdout += text;
      },
      writeError: (text) => {
        stderr += text;
      },
      isInteractive: false,
      width: Number.POSITIVE_INFINITY,
      hasColor: false,
      errorHasColor: false,
      hasSymbols: true,
      ...terminal,
    },
  });
  return { exitCode, stdout, stderr };
}

/** The one JSON value that a command prints with `--json`. Fails the test when the command fails or says more. */
export async function cliJson(
  dataDir: string,
  words: readonly string[],
  options?: Parameters<typeof cli>[2],
) {
  const { exitCode, stdout, stderr } = await cli(dataDir, [...words, '--json'], options);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toEndWith('\n');
  return JSON.parse(stdout);
}
