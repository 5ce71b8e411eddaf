// Records what a process asks of the disk, for recorded-disk.ts: loaded with LD_PRELOAD, it sees each call of the SQLite in
// Bun. It appends a record after each change, and before and after each sync. Syncs take a millisecond and reach no disk.
// FAULTS_FILE holds two counters that the test sets: syncs of the log that fail, and records until the process dies as by
// kill -9.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

enum { LOG_SYNCS, RECORDS_TO_LIVE };

struct record {
  uint32_t length;
  char kind;
  uint8_t ok;
  uint16_t name_length;
  uint64_t thread, inode, offset;
};

static int file = -1;
static const char *folder;
static _Atomic int32_t *faults;
// A change and its record are one step, so that a death leaves no change without a record.
static pthread_mutex_t step = PTHREAD_MUTEX_INITIALIZER;
// When the log was last written as this process opened it. All zero after its own first write.
static struct timespec log_opened;
static int log_known;

__attribute__((constructor)) static void begin(void) {
  folder = getenv("RECORD_FOLDER");
  file = open(getenv("RECORD_FILE"), O_WRONLY | O_APPEND | O_CLOEXEC);
  int counters = open(getenv("FAULTS_FILE"), O_RDWR | O_CLOEXEC);
  faults = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, counters, 0);
  if (folder == NULL || file < 0 || faults == MAP_FAILED) abort();
}

static int is_inside(const char *path) {
  size_t length = folder == NULL ? 0 : strlen(folder);
  return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static int ends_with(const char *path, const char *end) {
  size_t length = strlen(path), tail = strlen(end);
  return length >= tail && strcmp(path + length - tail, end) == 0;
}

/** Finds the path of a descriptor. Returns whether it is in the folder. */
static int look(int descriptor, char *path, struct stat *stats) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = '\0';
  return is_inside(path) && fstat(descriptor, stats) == 0;
}

static int take(int counter) {
  if (atomic_load(&faults[counter]) <= 0) return 0;
  return atomic_fetch_sub(&faults[counter], 1) == 1 || counter != RECORDS_TO_LIVE;
}

static void append(char kind, int ok, uint64_t inode, uint64_t offset, const char *name, size_t name_length,
                   const void *data, size_t length) {
  struct record head = {sizeof head + name_length + length, kind, ok, name_length, gettid(), inode, offset};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)name, name_length}, {(void *)data, length}};
  if (writev(file, parts, 3) != (ssize_t)head.length) abort();
  if (take(RECORDS_TO_LIVE)) kill(getpid(), SIGKILL);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
  char path[PATH_MAX];
  struct stat stats;
  int is_recorded = look(descriptor, path, &stats) && !ends_with(path, "-shm");
  if (is_recorded) pthread_mutex_lock(&step);
  ssize_t written = REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(descriptor, data, size, offset);
  if (!is_recorded) return written;
  if (written > 0) append('W', 1, stats.st_ino, offset, NULL, 0, data, written);
  if (ends_with(path, "-wal")) log_opened = (struct timespec){0};
  pthread_mutex_unlock(&step);
  return written;
}

int ftruncate64(int descriptor, off64_t size) {
  char path[PATH_MAX];
  struct stat stats;
  int is_recorded = look(descriptor, path, &stats) && !ends_with(path, "-shm");
  if (is_recorded) pthread_mutex_lock(&step);
  int result = REAL(int, ftruncate64, int, off64_t)(descriptor, size);
  if (!is_recorded) return result;
  if (result == 0) append('T', 1, stats.st_ino, size, NULL, 0, NULL, 0);
  pthread_mutex_unlock(&step);
  return result;
}

/** Tidings writes the log over itself before its own first write to it. */
static int is_rewritten(const char *path, struct timespec written) {
  return ends_with(path, "-wal") && log_opened.tv_sec != 0 &&
         (log_opened.tv_sec != written.tv_sec || log_opened.tv_nsec != written.tv_nsec);
}

/** Bun writes its own files without the C library. Their content is recorded when they are synced. */
static void append_content(int descriptor, const struct stat *stats) {
  char link[32], data[65536];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  int copy = open(link, O_RDONLY | O_CLOEXEC);
  ssize_t length;
  for (uint64_t at = 0; (length = pread(copy, data, sizeof data, at)) > 0; at += length)
    append('W', 1, stats->st_ino, at, NULL, 0, data, length);
  close(copy);
}

static int sync_file(int descriptor, const char *path, const struct stat *stats) {
  pthread_mutex_lock(&step);
  if (S_ISREG(stats->st_mode) && (strstr(path, "/tidings.") == NULL || is_rewritten(path, stats->st_mtim)))
    append_content(descriptor, stats);
  append('B', 1, stats->st_ino, 0, path, strlen(path), NULL, 0);
  pthread_mutex_unlock(&step);
  nanosleep(&(struct timespec){0, 1000000}, NULL);
  int fails = ends_with(path, "-wal") && take(LOG_SYNCS);
  pthread_mutex_lock(&step);
  append('E', !fails, stats->st_ino, 0, path, strlen(path), NULL, 0);
  pthread_mutex_unlock(&step);
  errno = EIO;
  return fails ? -1 : 0;
}

int fsync(int descriptor) {
  char path[PATH_MAX];
  struct stat stats;
  if (look(descriptor, path, &stats)) return sync_file(descriptor, path, &stats);
  return REAL(int, fsync, int)(descriptor);
}

int fdatasync(int descriptor) {
  char path[PATH_MAX];
  struct stat stats;
  if (look(descriptor, path, &stats)) return sync_file(descriptor, path, &stats);
  return REAL(int, fdatasync, int)(descriptor);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  int is_recorded = (flags & O_CREAT) != 0 && is_inside(path);
  if (is_recorded) pthread_mutex_lock(&step);
  int descriptor = REAL(int, open64, const char *, int, ...)(path, flags, mode);
  if (!is_recorded) return descriptor;
  struct stat stats;
  if (descriptor >= 0 && fstat(descriptor, &stats) == 0)
    append('O', 1, stats.st_ino, 0, path, strlen(path), NULL, 0);
  if (descriptor >= 0 && !log_known && ends_with(path, "-wal")) log_opened = stats.st_mtim, log_known = 1;
  pthread_mutex_unlock(&step);
  return descriptor;
}

int unlink(const char *path) {
  int is_recorded = is_inside(path);
  if (is_recorded) pthread_mutex_lock(&step);
  int result = REAL(int, unlink, const char *)(path);
  if (!is_recorded) return result;
  if (result == 0) append('U', 1, 0, 0, path, strlen(path), NULL, 0);
  pthread_mutex_unlock(&step);
  return result;
}

/** `kind`: `R` renames, `L` links. */
static int move(char kind, int (*real)(const char *, const char *), const char *from, const char *to) {
  int is_recorded = is_inside(to);
  struct stat stats = {0};
  if (is_recorded) pthread_mutex_lock(&step);
  int result = real(from, to);
  if (!is_recorded) return result;
  if (result == 0 && stat(to, &stats) == 0)
    append(kind, 1, stats.st_ino, 0, to, strlen(to), from, strlen(from));
  pthread_mutex_unlock(&step);
  return result;
}

int rename(const char *from, const char *to) {
  return move('R', REAL(int, rename, const char *, const char *), from, to);
}

int link(const char *from, const char *to) {
  return move('L', REAL(int, link, const char *, const char *), from, to);
}
