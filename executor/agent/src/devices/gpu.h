// devices/gpu.h: one GPU that this executor offers: its process, from one to the next, and which
// worker that serves.
//
// A context has no walls: what one kernel left in memory the next one can read. So a process serves
// one owner (a lease, or one module of it), and another owner gets a new process. It serves one
// worker at a time, since one call runs at a time.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "children/child_watch.h"
#include "children/time_limit.h"
#include "devices/device_process.h"
#include "devices/device_user.h"
#include "foundation/result.h"
#include "processes/restart_policy.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// What the driver has of it.
struct GpuCard {
  std::string name;      // as DeviceStart has it
  unsigned sharers = 1;  // offered GPUs that are this one in turn, this one included
};

/// Owned by the agent's thread.
class Gpu {
 public:
  /// How long a sub-range of a kernel may go on when its worker has ended: longer ones cost the
  /// process.
  static constexpr std::chrono::milliseconds end_patience{200};
  /// Bytes of what the gateway is told of it: it refuses more than a little over that.
  static constexpr std::size_t longest_fault = 1000;
  static constexpr std::size_t longest_model = 128;

  struct Counters {
    std::uint64_t starts = 0;   // of its process
    std::uint64_t crashes = 0;  // of kernels
    std::uint64_t losses = 0;   // of the GPU
    std::uint64_t launches = 0;
    std::uint64_t kernel_us = 0;
    std::uint64_t long_sub_ranges = 0;  // pieces of kernels that took more than 20 ms
    std::uint64_t peak_memory = 0;      // bytes of the device, the most that a lane had at a time
    std::uint64_t peak_pinned = 0;      // bytes of slabs, the most that a call had registered
  };

  /// `changed`: whether it can be used, or why not, is another than before.
  Gpu(boost::asio::io_context& io, ChildWatch& children, const DeviceProcess::Options& options,
      GpuCard card, OfferedGpu offered, std::function<void()> changed);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void start();
  /// Ends the process; none is started any more.
  void stop();

  /// As the gateway is told of it, with its fault.
  [[nodiscard]] const OfferedGpu& offered() const { return offered_; }
  /// What its kernels are made for, such as "sm_80"; empty: not known yet.
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] pid_t pid() const { return process_ ? process_->pid() : -1; }
  [[nodiscard]] Counters counters() const;

  /// The seat that the worker has: StatusPage::device_seat, for the caller to write.
  using Served = std::function<void(const Result<std::uint64_t>& seat)>;
  /// The process serves that worker from now on, with all of its kernels, and no other. `done`
  /// comes when it does; never, if the worker is released before. Kernels that are refused are
  /// marked so, and those that have made the driver's compiler crash. Errors: `no_capacity`
  /// (another worker is using it), `unreachable` (its process cannot be had).
  void serve(const std::shared_ptr<DeviceUser>& user, Served done);
  [[nodiscard]] bool serves(const DeviceUser& user) const { return served_.get() == &user; }
  /// Deadline or cancel of a worker's call.
  void stop_call(const DeviceUser& user, std::uint64_t call);
  /// That worker has ended, or is about to.
  void release(const DeviceUser& user);
  /// The lease is over. `done` comes when no process that has served it is left, or when that is
  /// known not to end: the GPU is out of the offer then. A process of a lease for calls over HTTP
  /// may be left, with nothing at work in it: it serves nobody but the same owner.
  void vacate(const LeaseId& lease, std::function<void()> done);

 private:
  struct KernelsOfSlot {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    friend bool operator==(const KernelsOfSlot&, const KernelsOfSlot&) = default;
  };
  struct Request {
    std::shared_ptr<DeviceUser> user;
    std::vector<Served> waiting;
  };
  void start_process();
  void told(const DeviceMessage& message);
  void ready(const DeviceReady& message);
  void kernels_answered(std::uint64_t lane, std::uint32_t module, std::uint32_t generation,
                        const std::string& refusal);
  void lane_ended(const DeviceLaneEnded& message);
  void said_last_words(const DeviceEnded& words);
  void blame_loading(const DeviceLoss& loss);
  [[nodiscard]] static bool ends_call(const DeviceLoss& loss, bool had_seat);
  void fail_with(const std::string& words);
  void lingers();
  void tell_vacated();
  void ended(const ChildEvent& event);
  [[nodiscard]] std::shared_ptr<DeviceUser> forget_process();
  [[nodiscard]] DeviceLoss loss_of(const ChildEvent& event) const;
  [[nodiscard]] static DeviceLoss loss_of(const DeviceEnded& words);
  void set_fault(std::string fault);
  void advance();
  [[nodiscard]] bool has_seat() const;
  [[nodiscard]] bool unseat();
  void end_lane();
  void replace_for(const DeviceUser& user);
  void replace(std::string_view why);
  void keep();
  void begin_lane();
  [[nodiscard]] bool is_new(std::uint32_t slot, const SlotKernels& kernels) const;
  [[nodiscard]] bool has_new_kernels() const;
  void load_kernels();
  void refuse(const KernelsOfSlot& kernels, const std::string& why);
  void give_up_loading();
  void try_again();
  void answer(const Result<std::uint64_t>& result);
  void limit(std::chrono::milliseconds time);
  void restart_after(std::chrono::milliseconds pause);

  boost::asio::io_context& io_;
  ChildWatch& children_;
  const DeviceProcess::Options& options_;
  GpuCard card_;
  OfferedGpu offered_;
  std::function<void()> changed_;
  std::unique_ptr<DeviceProcess> process_;
  bool ready_ = false;    // the process is
  bool stopped_ = false;  // all of it
  std::string architecture_;
  std::uint64_t memory_ = 0;                       // bytes that a lease may have
  std::optional<DeviceOwner> owner_;               // whose data may be in the process
  std::shared_ptr<DeviceUser> served_;             // at lane `lane_`
  bool lane_ends_ = false;                         // an answer to EndLane is on its way
  std::uint64_t lane_ = 0;                         // the last one
  std::map<std::uint32_t, std::uint32_t> loaded_;  // generation by slot, of that lane
  std::deque<KernelsOfSlot> loading_;  // not answered yet; the driver's compiler is at the first
  std::optional<Request> request_;
  std::vector<std::function<void()>> vacated_;  // to be told when the process is reaped, or lingers
  bool lingers_ = false;                        // it was killed and does not end
  Counters counters_;
  DeviceUsage usage_;  // of the process that there is
  processes::Restarts failures_;
  boost::asio::steady_timer restart_timer_;
  TimeLimit limit_;  // of what the process is at
  TimeLimit keep_;   // of a process that no lease has
  boost::asio::steady_timer again_timer_;
};

}  // namespace orchid::executor
