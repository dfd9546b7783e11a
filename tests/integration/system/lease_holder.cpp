// lease_holder WORKERS: takes a lease of so many workers for a second, calls one, prints its
// process id, and holds the lease until it is killed; the end of its parent does that, too. The
// gateway is that of the environment.
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "orchid/client.h"
#include "orchid/lease.h"

int main(int argc, char** argv) {
  if (argc != 2 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return 64;
  try {
    orchid::Client client;
    orchid::Lease lease = client.lease({.workers = static_cast<unsigned>(std::atoi(argv[1])),
                                        .duration = std::chrono::seconds(1)});
    (void)lease.function("counts_calls").invoke("");
    std::printf("%d\n", ::getpid());
    std::fflush(stdout);
    while (true) ::pause();
  } catch (const orchid::Error& error) {
    std::fprintf(stderr, "lease_holder: %s\n", error.what());
    return 1;
  }
}
