#include "ucx/kept_signal_handlers.h"

#include <doctest/doctest.h>

namespace orchid::transport {
namespace {

void handler(int) {}
void other_handler(int) {}

struct sigaction action(void (*function)(int), int flags, int masked) {
  struct sigaction action{};
  action.sa_handler = function;
  action.sa_flags = flags;
  ::sigemptyset(&action.sa_mask);
  ::sigaddset(&action.sa_mask, masked);
  return action;
}

void install(int signal, const struct sigaction& action) {
  REQUIRE(::sigaction(signal, &action, nullptr) == 0);
}

}  // namespace

TEST_CASE("whatever of a signal's action was changed is put back, also of realtime signals") {
  const struct sigaction kept = action(handler, SA_RESTART, SIGUSR2);
  for (const int signal : {SIGUSR1, SIGHUP, SIGRTMIN, SIGRTMAX})
    for (const struct sigaction& changed :
         {action(other_handler, SA_RESTART, SIGUSR2), action(handler, SA_NODEFER, SIGUSR2),
          action(handler, SA_RESTART, SIGRTMAX)}) {
      CAPTURE(signal);
      struct sigaction before{};
      REQUIRE(::sigaction(signal, &kept, &before) == 0);
      {
        const KeptSignalHandlers keeps;
        install(signal, changed);
      }
      struct sigaction after{};
      REQUIRE(::sigaction(signal, &before, &after) == 0);
      CHECK((after.sa_handler == handler));  // doctest cannot print it
      CHECK((after.sa_flags & (SA_RESTART | SA_NODEFER)) == SA_RESTART);
      CHECK(::sigismember(&after.sa_mask, SIGUSR2) == 1);
      CHECK(::sigismember(&after.sa_mask, SIGRTMAX) == 0);
    }
}

}  // namespace orchid::transport
