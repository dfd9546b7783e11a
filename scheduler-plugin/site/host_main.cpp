// orchid-host: root's service on a host of a site. Takes cores that batch jobs grant, and runs an
// executor on them, as a user who is nobody else.
#include <unistd.h>

#include <csignal>
#include <exception>

#include "foundation/files.h"
#include "foundation/log.h"
#include "site/grant_service.h"

namespace {

int give_up(const orchid::Failure& failure, int status) {
  orchid::log::error("event=cannot_start code={} reason=\"{}\"", orchid::to_string(failure.code),
                     failure.message);
  return status;
}

int serve(int argc, char** argv) {
  using namespace orchid;
  auto parsed = site::parse_host_configuration(argc, argv);
  if (!parsed) return give_up(parsed.error(), 2);
  if (parsed->exit_status >= 0) return parsed->exit_status;
  if (::geteuid() != 0)
    return give_up(
        {ErrorCode::denied,
         "orchid-host needs root: it starts executors as other users, in jobs' control groups. "
         "Without root use pilots and shares of your own: see docs/guide/slurm.md"},
        2);
  auto service = site::GrantService::create(std::move(parsed->configuration));
  if (!service) return give_up(service.error(), 3);
  (*service)->run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  orchid::occupy_standard_descriptors();
  orchid::log::configure("orchid-host", orchid::LogLevel::info);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return serve(argc, argv);
  } catch (const std::exception& error) {
    orchid::log::error("event=unexpected what=\"{}\"", error.what());
    return 3;
  }
}
