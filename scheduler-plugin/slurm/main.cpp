// orchid-slurm: tells the gateway what Slurm has handed to nobody. It is a program of its own since
// libslurm ends or blocks the process that calls it, belongs to one Slurm release, and is GPL.
#include <unistd.h>

#include <csignal>
#include <utility>

#include "foundation/clock.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "process/asking_thread.h"
#include "process/line_writer.h"
#include "process/options.h"
#include "process/source_process.h"

int main(int argc, char** argv) {
  using namespace orchid;
  occupy_standard_descriptors();
  log::configure("orchid-slurm", LogLevel::info);
  int status = 0;
  auto options = slurm::parse_options(argc, argv, status);
  if (!options) return status;
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  slurm::LineWriter writer(STDOUT_FILENO);
  slurm::expect_foreign_exit(writer);
  const auto asker = slurm::AskingThread::start(options->libslurm, clock);
  if (!asker) slurm::end_with(writer, asker.error());
  slurm::SourceProcess source(std::move(*options), clock, writer, **asker);
  if (const auto done = source.run(); !done) slurm::end_with(writer, done.error());
  // At once: the other thread may be in libslurm, which must not see its library go.
  ::_exit(0);
}
