#include "process/asking_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "process/line_writer.h"

namespace orchid::slurm {

Result<AskingThread*> AskingThread::start(LibslurmOptions options, const Clock& clock) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno("eventfd");
  auto* asker = new AskingThread(std::move(options), clock, std::move(wake));
  asker->busy_since_ = clock.now();
  std::thread([asker] { asker->run(); }).detach();
  return asker;
}

AskingThread::AskingThread(LibslurmOptions options, const Clock& clock, UniqueFd wake)
    : options_(std::move(options)), clock_(clock), wake_(std::move(wake)) {}

void AskingThread::ask(PollRequest request) {
  busy_since_ = clock_.now();
  {
    const std::lock_guard lock(mutex_);
    request_ = request;
  }
  changed_.notify_one();
}

std::optional<Outcome> AskingThread::take() {
  std::uint64_t count = 0;
  (void)::read(wake_.get(), &count, sizeof(count));
  const std::lock_guard lock(mutex_);
  if (!outcome_) return std::nullopt;
  busy_since_.reset();
  return std::exchange(outcome_, std::nullopt);
}

void AskingThread::run() {
  start_quoting();
  auto opened = open_libslurm(options_);
  stop_quoting();
  if (!opened) return give(Result<Opened>(fail(std::move(opened.error()))));
  const std::unique_ptr<SlurmClient> client = std::move(opened->client);
  give(Result<Opened>(Opened{.cluster = opened->cluster, .release = opened->release}));
  while (true) {
    const PollRequest request = wait_for_request();
    PollCost cost;
    auto answer = poll_cluster(*client, request, clock_, cost);
    give(Polled{.answer = std::move(answer), .cost = cost});
  }
}

void AskingThread::give(Outcome outcome) {
  {
    const std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
  }
  const std::uint64_t one = 1;
  (void)::write(wake_.get(), &one, sizeof(one));
}

PollRequest AskingThread::wait_for_request() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return request_.has_value(); });
  return *std::exchange(request_, std::nullopt);
}

}  // namespace orchid::slurm
