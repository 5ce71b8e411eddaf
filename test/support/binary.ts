import { chownSync, copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './server.ts';

// The compiled binary, where there is nothing else: neither Bun nor Node nor this checkout.

/** A user without rights, as in the container. */
const USER = 65532;

/** Bun's engine asks `/proc` for its stack; nothing else is there but the libraries that the binary names. */
const INTO_BARE_ROOT = '"$1" --rbind /proc "$0/proc" && shift && exec "$@"';

export interface BareFolder {
  /** The folder that the binary sees as its working folder, by the path that this process knows. */
  readonly path: string;
  /** The folder's role for the binary, in words. */
  readonly kind: string;
  /** The command line that runs the binary there with these words. */
  command(words: readonly string[]): string[];
}

/** Builds the binary into a folder. Returns the path of the binary. Throws with what was said when it cannot be built. */
export function buildBinary(folder: string, words: readonly string[] = []): string {
  const { success, stderr } = Bun.spawnSync(
    [process.execPath, join(root, 'build.ts'), '--outdir', folder, ...words],
    {
      cwd: folder,
      stderr: 'pipe',
    },
  );
  if (!success) throw new Error(stderr.toString());
  return join(folder, 'tidings');
}

/**
 * Puts the binary into a new folder, alone. On Linux, as root or where users may have namespaces, the folder is the
 * root of its file system and holds the libraries that it names too; `kind` tells.
 */
export function bareFolder(binary: string, path: string): BareFolder {
  mkdirSync(join(path, 'data'), { recursive: true });
  copyFileSync(binary, join(path, 'tidings'));
  const isolation = isolationOf(path);
  if (isolation === null) {
    return {
      path,
      kind: 'an empty folder (this machine lets nobody change the root)',
      command: (words) => [join(path, 'tidings'), ...words],
    };
  }
  for (const library of librariesOf(binary)) {
    mkdirSync(join(path, dirname(library)), { recursive: true });
    copyFileSync(library, join(path, library));
  }
  return {
    path,
    kind: 'a bare root file system',
    command: (words) => [...isolation, '/tidings', ...words],
  };
}

/** Prefix of the command; null where this machine or its user cannot do it. */
function isolationOf(path: string): string[] | null {
  const [unshare, mount, chroot] = ['unshare', 'mount', 'chroot'].map(find);
  if (process.platform !== 'linux' || !unshare || !mount || !chroot) return null;
  const isRoot = process.getuid?.() === 0;
  mkdirSync(join(path, 'proc'));
  if (isRoot) chownSync(join(path, 'data'), USER, USER);
  const namespace = [unshare, ...(isRoot ? [] : ['--user', '--map-root-user']), '--mount'];
  const into = [...namespace, '/bin/sh', '-c', INTO_BARE_ROOT, path, mount];
  const canDo = Bun.spawnSync([...into, '/bin/sh', '-c', ':'], { stderr: 'ignore' }).success;
  return canDo ? [...into, chroot, ...(isRoot ? [`--userspec=${USER}:${USER}`] : []), path] : null;
}

/** The libraries that the loader would take from this machine, itself among them. */
function librariesOf(binary: string): string[] {
  const text = Bun.spawnSync(['ldd', binary]).stdout.toString();
  return Array.from(text.matchAll(/(?:=> |^\s*)(\/\S+)/gm), ([, library = '']) => library);
}

function find(name: string): string | null {
  return Bun.which(name, { PATH: `${Bun.env.PATH}:/usr/sbin:/sbin` });
}
