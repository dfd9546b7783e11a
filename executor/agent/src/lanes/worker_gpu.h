// lanes/worker_gpu.h: the GPU of a session's lease, and what its workers, one after another, do
// with it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "code/code_service.h"
#include "devices/device_user.h"
#include "devices/gpu.h"

namespace orchid::executor {

/// A module as a worker with a GPU gets it: code for the cores, and PTX of its kernels, if it has
/// any. Null: none.
struct ModuleCode {
  CodeService::Code cores;
  std::shared_ptr<const UniqueFd> kernels;
};

/// Owned by the agent's thread, through its session.
class WorkerGpu {
 public:
  /// `gpu` outlives it.
  explicit WorkerGpu(Gpu& gpu) : gpu_(gpu) {}
  ~WorkerGpu() { gone(); }
  WorkerGpu(const WorkerGpu&) = delete;
  WorkerGpu& operator=(const WorkerGpu&) = delete;

  [[nodiscard]] const std::string& architecture() const { return gpu_.architecture(); }

  /// The session has this worker now, for that owner. A call of it that loses the GPU ends.
  void took(std::shared_ptr<WorkerProcess> worker, const DeviceOwner& owner, bool remote_calls);
  /// The worker has ended, or is about to.
  void gone();

  /// Both kinds of a module's code are asked for. False: of too many others they have not come.
  [[nodiscard]] bool expect(const std::string& digest);
  /// Code of such a module has come, of either kind. Both, once both are there.
  [[nodiscard]] std::optional<ModuleCode> add_code(const std::string& digest,
                                                   const CodeService::Code& cores);
  [[nodiscard]] std::optional<ModuleCode> add_kernels(const std::string& digest,
                                                      std::shared_ptr<const UniqueFd> kernels);
  /// One kind of its code cannot be had: the other is of no use.
  void forget(const std::string& digest) { coming_.erase(digest); }
  /// No module that is being made is of use any more.
  void forget_all() { coming_.clear(); }

  /// The kernels of what is in this slot now; null: it has none. `done` comes when the driver has
  /// taken or refused them, or when that has to wait until a call needs them; never, if the worker
  /// goes before.
  using Loaded = std::function<void(const Result<void>&)>;
  void load(const DeviceOwner& owner, const WorkerSlot& slot,
            std::shared_ptr<const UniqueFd> kernels, Loaded done);
  /// The driver's words, if it has refused the kernels of that slot.
  [[nodiscard]] const std::string* refusal(std::uint32_t slot) const;

  /// Of the worker that runs a call: it gets the GPU, if it waits for that.
  void watch();
  /// That call has to stop.
  void stop_call(std::uint64_t number);

 private:
  struct Coming {
    std::optional<CodeService::Code> cores;
    std::optional<std::shared_ptr<const UniqueFd>> kernels;
  };
  [[nodiscard]] std::optional<ModuleCode> complete(std::map<std::string, Coming>::iterator coming);
  void give_seat();

  Gpu& gpu_;
  std::shared_ptr<DeviceUser> user_;
  bool waits_ = false;  // for a seat
  std::optional<std::uint64_t> stopped_;
  std::map<std::string, Coming> coming_;  // by digest
  /// Its weak pointers tell the GPU's callbacks whether this is still here.
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace orchid::executor
