// Faults of a disk for a process that loads this with LD_PRELOAD (see `disk-faults.ts`), and what the disk has of the database
// when the power fails. Sees the calls of SQLite, and the syncs of Bun, whose own writes pass by the C library: a sync sees them by
// the time when the file was last written. No sync reaches a real disk.
//
// The folder of DISK_FAULTS holds
// - `CALL FILE`: the error number of a call on a file, and how often it comes; -1: always. `statfs`: the type to report.
// - `disk FILE`: what the disk has of the file
// - `dirty FILE`: the time of the last write, then a byte for each page that the disk lacks

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define REAL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))
#define PAGE 4096

static const char *folder;

__attribute__((constructor)) static void begin(void) {
  folder = getenv("DISK_FAULTS");
  if (folder == NULL) abort();
}

static const char *base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/** The name of the file of a descriptor; empty for one that is not part of the database. */
static const char *name_of(int descriptor, char *path) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = '\0';
  const char *name = base(path);
  return strcmp(name, "tidings.db") == 0 || strcmp(name, "tidings.db-wal") == 0 ? name : "";
}

static int open_beside(const char *kind, const char *name, int flags) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s %s", folder, kind, name);
  return REAL(int, open64, const char *, int, ...)(path, flags | O_CLOEXEC, 0600);
}

/** Processes and threads take turns. */
static int lock(void) {
  int descriptor = open_beside("lock", "", O_RDWR | O_CREAT);
  flock(descriptor, LOCK_EX);
  return descriptor;
}

/** Takes one of the faults that were set: its error number, or 0. */
static int take_fault(const char *call, const char *name) {
  int descriptor = open_beside(call, name, O_RDWR), number = 0, times = 0;
  if (descriptor < 0) return 0;
  char text[64] = "";
  if (pread(descriptor, text, sizeof text - 1, 0) > 0) sscanf(text, "%d %d", &number, &times);
  if (times > 0) {
    int length = snprintf(text, sizeof text, "%-10d %-10d", number, times - 1);
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(descriptor, text, length, 0);
  }
  close(descriptor);
  return times == 0 ? 0 : number;
}

static int64_t written_at(int descriptor, off_t *size) {
  struct stat stats;
  fstat(descriptor, &stats);
  *size = stats.st_size;
  return stats.st_mtim.tv_sec * 1000000000LL + stats.st_mtim.tv_nsec;
}

static void note_write(int file, int dirty) {
  off_t size;
  int64_t at = written_at(file, &size);
  REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(dirty, &at, sizeof at, 0);
}

static void mark(int dirty, off_t from, off_t to) {
  char one = 1;
  for (off_t page = from / PAGE; page * PAGE < to; page++)
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(dirty, &one, 1, 8 + page);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
  char path[PATH_MAX];
  const char *name = name_of(descriptor, path);
  if (*name == '\0') return REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(descriptor, data, size, offset);
  int turn = lock();
  int fault = take_fault("pwrite", name);
  ssize_t written = -1;
  if (fault == 0) {
    written = REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(descriptor, data, size, offset);
    int dirty = open_beside("dirty", name, O_RDWR | O_CREAT);
    mark(dirty, offset, offset + size);
    note_write(descriptor, dirty);
    close(dirty);
  }
  close(turn);
  if (fault != 0) errno = fault;
  return written;
}

int ftruncate64(int descriptor, off64_t size) {
  char path[PATH_MAX];
  const char *name = name_of(descriptor, path);
  int result = REAL(int, ftruncate64, int, off64_t)(descriptor, size);
  if (*name == '\0') return result;
  int turn = lock();
  int disk = open_beside("disk", name, O_RDWR | O_CREAT), dirty = open_beside("dirty", name, O_RDWR | O_CREAT);
  REAL(int, ftruncate64, int, off64_t)(disk, size);
  note_write(descriptor, dirty);
  close(dirty);
  close(disk);
  close(turn);
  return result;
}

static void copy_dirty_pages(int file, int dirty, int disk, off_t size) {
  char flag, page[PAGE];
  for (off_t at = 0; at * PAGE < size; at++) {
    if (pread(dirty, &flag, 1, 8 + at) != 1 || flag == 0) continue;
    ssize_t length = pread(file, page, PAGE, at * PAGE);
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(disk, page, length, at * PAGE);
  }
}

/** A sync that fails leaves the pages clean, and the disk without them. */
static int sync_file(const char *name, int descriptor) {
  int turn = lock();
  int dirty = open_beside("dirty", name, O_RDWR | O_CREAT), disk = open_beside("disk", name, O_RDWR | O_CREAT);
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  int file = REAL(int, open64, const char *, int, ...)(link, O_RDONLY | O_CLOEXEC);
  off_t size;
  int64_t known = 0, at = written_at(descriptor, &size);
  if (pread(dirty, &known, sizeof known, 0) != sizeof known || known != at) mark(dirty, 0, size);
  int fault = take_fault("fsync", name);
  // A sync that a signal interrupts has not failed.
  if (fault != EINTR) {
    if (fault == 0) copy_dirty_pages(file, dirty, disk, size);
    REAL(int, ftruncate64, int, off64_t)(dirty, 0);
  }
  note_write(descriptor, dirty);
  close(file);
  close(disk);
  close(dirty);
  close(turn);
  errno = fault;
  return fault == 0 ? 0 : -1;
}

int fsync(int descriptor) {
  char path[PATH_MAX];
  const char *name = name_of(descriptor, path);
  return *name == '\0' ? 0 : sync_file(name, descriptor);
}

int fdatasync(int descriptor) { return fsync(descriptor); }

int unlink(const char *path) {
  int result = REAL(int, unlink, const char *)(path);
  if (result != 0 || strcmp(base(path), "tidings.db-wal") != 0) return result;
  char beside[PATH_MAX];
  for (int at = 0; at < 2; at++) {
    snprintf(beside, sizeof beside, "%s/%s tidings.db-wal", folder, at == 0 ? "disk" : "dirty");
    REAL(int, unlink, const char *)(beside);
  }
  return result;
}

int statfs(const char *path, struct statfs *stats) {
  int result = REAL(int, statfs, const char *, struct statfs *)(path, stats);
  int type = take_fault("statfs", "type");
  if (type != 0) stats->f_type = type;
  return result;
}
