#include "lanes/worker_gpu.h"

#include <utility>

namespace orchid::executor {
namespace {

/// Modules of which one kind of code may be kept while the other is made: each keeps a descriptor.
constexpr std::size_t most_coming = 256;

/// What its running call is told, if that uses the GPU; an idle worker finds a new process.
void end_call(WorkerProcess& worker, std::uint64_t number, const DeviceLoss& loss) {
  switch (loss.kind) {
    case DeviceLoss::Kind::crashed:
      worker.kill_if_running(number, KillReason::device_crashed, loss.message);
      break;
    case DeviceLoss::Kind::lost:
      worker.kill_if_running(number, KillReason::device_lost, loss.message);
      break;
    case DeviceLoss::Kind::nonsense:
      // Its page may be nonsense, too.
      if (!worker.kill_if_running(
              number, KillReason::nonsense,
              "the function broke the rules of its sandbox: it wrote to its GPU's lane itself (" +
                  loss.message + ")"))
        worker.kill(KillReason::nonsense);
      break;
  }
}

}  // namespace

void WorkerGpu::took(std::shared_ptr<WorkerProcess> worker, const DeviceOwner& owner,
                     bool remote_calls) {
  gone();
  user_ = std::make_shared<DeviceUser>(
      DeviceUser{.worker = std::move(worker), .owner = owner, .remote_calls = remote_calls});
  user_->lost = [weak = std::weak_ptr(user_)](const DeviceLoss& loss) {
    const auto user = weak.lock();
    if (user == nullptr) return;
    if (loss.kind != DeviceLoss::Kind::nonsense && !user->is_using()) return;
    end_call(*user->worker, user->worker->page().device_call.load(), loss);
  };
}

void WorkerGpu::gone() {
  if (user_ != nullptr) gpu_.release(*user_);
  user_.reset();
  waits_ = false;
  stopped_.reset();
}

std::optional<ModuleCode> WorkerGpu::complete(std::map<std::string, Coming>::iterator coming) {
  if (coming == coming_.end() || !coming->second.cores || !coming->second.kernels)
    return std::nullopt;
  ModuleCode code{.cores = std::move(*coming->second.cores),
                  .kernels = std::move(*coming->second.kernels)};
  coming_.erase(coming);
  return code;
}

bool WorkerGpu::expect(const std::string& digest) {
  if (coming_.size() >= most_coming && !coming_.contains(digest)) return false;
  coming_.try_emplace(digest);
  return true;
}

std::optional<ModuleCode> WorkerGpu::add_code(const std::string& digest,
                                              const CodeService::Code& cores) {
  const auto coming = coming_.find(digest);
  if (coming != coming_.end()) coming->second.cores = cores;
  return complete(coming);
}

std::optional<ModuleCode> WorkerGpu::add_kernels(const std::string& digest,
                                                 std::shared_ptr<const UniqueFd> kernels) {
  const auto coming = coming_.find(digest);
  if (coming != coming_.end()) coming->second.kernels = std::move(kernels);
  return complete(coming);
}

void WorkerGpu::load(const DeviceOwner& owner, const WorkerSlot& slot,
                     std::shared_ptr<const UniqueFd> kernels, Loaded done) {
  if (kernels == nullptr) {
    user_->kernels.erase(slot.slot);
    return done({});
  }
  user_->owner = owner;
  user_->kernels[slot.slot] = {.generation = slot.generation, .ptx = std::move(kernels)};
  gpu_.serve(user_, [weak = std::weak_ptr(user_), slot = slot.slot,
                     done = std::move(done)](const Result<std::uint64_t>& seat) {
    const auto user = weak.lock();
    if (user == nullptr) return;
    if (!seat) {
      // A call will ask for it; until then the next module, or another worker, may have it.
      if (seat.error().code == ErrorCode::no_capacity) return done({});
      return done(fail(seat.error()));
    }
    user->worker->page().device_seat.store(*seat);
    if (const std::string* why = user->refusal(slot))
      return done(
          fail(ErrorCode::module_rejected, "the GPU's driver refuses the kernels: " + *why));
    done({});
  });
}

const std::string* WorkerGpu::refusal(std::uint32_t slot) const {
  return user_ == nullptr ? nullptr : user_->refusal(slot);
}

void WorkerGpu::watch() {
  if (user_ == nullptr || waits_ || !user_->is_using()) return;
  // A function can write into its page that it wants the GPU.
  if (user_->kernels.empty()) return;
  // The GPU may serve it although it has no seat: while its kernels were loaded, another worker
  // wanted the GPU, and did not get it.
  if (user_->worker->page().device_seat.load() == no_device_seat) give_seat();
}

void WorkerGpu::give_seat() {
  waits_ = true;
  gpu_.serve(user_, [this, alive = std::weak_ptr(alive_),
                     weak = std::weak_ptr(user_)](const Result<std::uint64_t>& seat) {
    // The GPU may keep the user a little longer than its session does.
    const auto user = weak.lock();
    if (alive.expired() || user == nullptr || user != user_) return;
    waits_ = false;
    StatusPage& page = user->worker->page();
    if (!seat) return;  // it is asked for again
    const std::string* why = user->refusal(page.slot.load());
    if (why == nullptr) return page.device_seat.store(*seat);
    end_call(*user->worker, page.device_call.load(),
             {.kind = DeviceLoss::Kind::crashed,
              .message = "the GPU's driver refuses the function's kernels: " + *why});
  });
}

void WorkerGpu::stop_call(std::uint64_t number) {
  if (user_ == nullptr || stopped_ == number || !user_->is_using()) return;
  stopped_ = number;
  gpu_.stop_call(*user_, number);
}

}  // namespace orchid::executor
