/* Makes descriptors of each kind. */
#include "../act.h"

ACT(makes_descriptors) {
  int pair[2];
  const uint64_t none = 0;
  struct tries tries = {{0}, 0};
  TRY(pipe2, (long)pair, 0);
  TRY(eventfd2, 0, 0);
  TRY(epoll_create1, 0);
  TRY(timerfd_create, 1, 0);
  TRY(signalfd4, -1, (long)&none, 8, 0);
  TRY(inotify_init1, 0);
  TRY(inotify_add_watch, 6, (long)"/", 0xfff);
  TRY(fanotify_init, 0, 0);
  TRY(landlock_create_ruleset, 0, 0, 1);
  TRY(fspick, 6, (long)"/", 0);
  return say_tries(call, &tries);
}
