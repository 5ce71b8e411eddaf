import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { devNull, userInfo } from 'node:os';
import { codeOf } from './app-error.ts';

/** Makes a file, or the new names in a folder, last when the machine stops. */
export function bringToDisk(path: string): void {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

/** How much more fits on the disk that holds the folder, in bytes; null when the system does not report it. */
export function freeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** The user that runs this process, such as `user tidings (999)`; a container often has no name for it. */
export function thisUser(): string {
  const { username, uid: real } = userInfo();
  const uid = process.geteuid?.() ?? real;
  return username === 'unknown' ? `user ${uid}` : `user ${username} (${uid})`;
}

export function megabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.ceil(bytes / 1e6)} MB`;
}

/** File systems that other machines share. SQLite's locks, shared memory and syncs are not reliable there. */
const NETWORK = new Set(
  'nfs nfs4 cifs smb3 smbfs ncpfs 9p virtiofs afs ceph lustre gpfs beegfs ocfs2 gfs2 davfs fakeowner vboxsf fuse.sshfs fuse.glusterfs fuse.ceph fuse.s3fs fuse.rclone fuse.juicefs fuse.gcsfuse fuse.davfs2 fuse.grpcfuse fuse.osxfs fuse.vmhgfs-fuse fuse.goofys fuse.seaweedfs'.split(
    ' ',
  ),
);

/**
 * The type of the network file system that holds the folder, such as `nfs4`; null on a local disk, and where the system does not
 * report it. Not by `statfs`, which shows virtiofs and others as plain FUSE.
 */
export function networkFileSystem(folder: string, mounts = '/proc/self/mountinfo'): string | null {
  let lines: string[];
  let path: string;
  try {
    path = realpathSync(folder);
    lines = readFileSync(mounts, 'utf8').trimEnd().split('\n');
  } catch {
    return null;
  }
  let place = '';
  let type = '';
  // See proc(5): "36 35 98:0 /root /mount/point options - type source". A later mount hides an earlier one.
  for (const line of lines) {
    const [before = '', after = ''] = line.split(' - ', 2);
    const point = (before.split(' ')[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const holds = path === point || path.startsWith(point.endsWith('/') ? point : `${point}/`);
    if (holds && point.length >= place.length) [place, type] = [point, after.split(' ', 1)[0] ?? ''];
  }
  return NETWORK.has(type) ? type : null;
}

// Standard output and standard error by their descriptors. The streams of Node, which `process.stdout` makes, load as
// slowly as the database.

/** Writes all of `text` before it returns, so that the last lines before a crash are written. Waits for a slow reader. */
export function writeWhole(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') throw error;
      Bun.sleepSync(1);
    }
  }
}

export async function isTerminal(descriptor: number): Promise<boolean> {
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isCharacterDevice() || stats.rdev === statSync(devNull).rdev) return false;
  } catch {
    // It is closed.
    return false;
  }
  return (await import('node:tty')).isatty(descriptor);
}
