// A slow disk and a clock that jumps, for a process that loads this with LD_PRELOAD (see `odd-machine.ts`). The file of
// ODD_MACHINE holds two 64-bit numbers: the milliseconds that each sync takes longer, and the seconds that the clock is ahead.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#define REAL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

static const volatile int64_t *state;

__attribute__((constructor)) static void begin(void) {
  int file = open(getenv("ODD_MACHINE"), O_RDONLY);
  state = mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
  if (state == MAP_FAILED) abort();
}

static void rest(void) {
  int64_t ms = state[0];
  struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  if (ms > 0) nanosleep(&time, NULL);
}

int fsync(int file) { rest(); return REAL(int, fsync, int)(file); }
int fdatasync(int file) { rest(); return REAL(int, fdatasync, int)(file); }

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = REAL(int, clock_gettime, clockid_t, struct timespec *);
  int result = real(clock, time);
  if (clock == CLOCK_REALTIME && state != NULL) time->tv_sec += state[1];
  return result;
}

// The kernel compares a deadline with the clock of the machine. Unless it is moved to that clock, each wait of a process whose
// clock is behind ends at once, and threads of the engine that wait again and again take all processors.
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  // The name alone finds the one of 2.2, for conditions of another form.
  if (real == NULL) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (real == NULL) real = REAL(int, pthread_cond_timedwait, pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  struct timespec moved = *deadline;
  // Others count from the start of the machine.
  if (state != NULL && moved.tv_sec > 1000000000) moved.tv_sec -= state[1];
  return real(condition, mutex, &moved);
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  int result = REAL(int, gettimeofday, struct timeval *, void *)(time, zone);
  if (state != NULL) time->tv_sec += state[1];
  return result;
}
