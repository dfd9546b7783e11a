// orchid/lease.h: workers of one's own, called without a server in between.
//
//   orchid::Client client;
//   orchid::Lease lease = client.lease({.workers = 2});
//   auto dot = lease.function<double(std::span<const double>, std::span<const double>)>("dot");
//   double d = dot(a, b);          // 1 µs or so
//
// A lease is memory that this process shares with its workers, and threads that look after it. A
// process that forks must not use it, nor anything that came from it, in the child.
#pragma once
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchid/embedded.h"
#include "orchid/error.h"
#include "orchid/invocation.h"
#include "orchid/lease_options.h"
#include "orchid/native_twin.h"
#include "orchid/typed_function.h"
#include "orchid/values.h"

namespace orchid {

namespace sdk {
class AsyncCall;
class LeaseCore;
struct HeldAnswer;
struct LaneRoom;
struct LeaseAccess;
struct LeaseCode;
}  // namespace sdk

/// Memory of one worker's lane: an input that is written here is not copied. A call uses it up.
/// Move-only; owned by one thread.
class Buffer {
 public:
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  ~Buffer();
  [[nodiscard]] std::span<std::byte> bytes() const;  // aligned to 64 bytes
  /// The input is only the first `size` bytes.
  void shrink(std::size_t size);

 private:
  friend class Lease;
  friend struct sdk::LeaseAccess;
  explicit Buffer(std::unique_ptr<sdk::LaneRoom> room);
  std::unique_ptr<sdk::LaneRoom> room_;
};

/// A result where the worker wrote it. It occupies a place in the lane: 255 such, or an old one
/// while many calls go by, hold up that worker. Move-only; owned by one thread.
class Output {
 public:
  Output(Output&&) noexcept;
  Output& operator=(Output&&) noexcept;
  ~Output();
  [[nodiscard]] std::span<const std::byte> bytes() const;
  [[nodiscard]] std::chrono::nanoseconds run_time() const;

 private:
  friend struct sdk::LeaseAccess;
  explicit Output(std::unique_ptr<sdk::HeldAnswer> answer);
  std::unique_ptr<sdk::HeldAnswer> answer_;
};

/// A call that runs on its own. A cheap handle; any thread. Its result is taken once.
class ReplyFuture {
 public:
  /// Until there is a result; it never lasts longer than the call's deadline and a grace for the
  /// worker's last words.
  void wait() const;
  /// Whether there is one.
  bool wait_for(std::chrono::nanoseconds timeout) const;
  [[nodiscard]] bool ready() const;
  /// Waits for the output, or throws why there is none. Error `bad_request`: taken before.
  [[nodiscard]] Reply get() const;
  /// A call that waits is dropped, one that runs is asked to stop and then killed with its worker.
  /// Once there is a result it changes nothing.
  void cancel() const;
  /// Runs `callback` once, on the thread that looks after the lanes of all leases of the client,
  /// also when there is a result already. It must be short, some 100 µs at most: meanwhile that
  /// thread takes no answers of other asynchronous calls, offers no calls of a lost worker to
  /// others, and enforces no deadline. Longer work belongs to a thread of the program's own. The
  /// callback must not wait for other calls, and what it throws ends the program.
  void then(std::function<void(ReplyFuture)> callback) const;

  [[nodiscard]] bool await_ready() const { return ready(); }
  void await_suspend(std::coroutine_handle<> waiting) const {
    then([waiting](const ReplyFuture&) { waiting.resume(); });
  }
  [[nodiscard]] Reply await_resume() const { return get(); }

 private:
  friend struct sdk::LeaseAccess;
  explicit ReplyFuture(std::shared_ptr<sdk::AsyncCall> call) : call_(std::move(call)) {}
  std::shared_ptr<sdk::AsyncCall> call_;  // shared with the lane that it is in
};

/// The same with a decoded result.
template <typename R>
class Future {
 public:
  Future(ReplyFuture reply, std::string function)
      : reply_(std::move(reply)), function_(std::move(function)) {}
  void wait() const { reply_.wait(); }
  bool wait_for(std::chrono::nanoseconds timeout) const { return reply_.wait_for(timeout); }
  [[nodiscard]] bool ready() const { return reply_.ready(); }
  R get() const { return decode_reply<R>(reply_.get(), function_); }
  void cancel() const { reply_.cancel(); }
  void then(std::function<void(Future)> callback) const {
    reply_.then(
        [self = *this, callback = std::move(callback)](const ReplyFuture&) { callback(self); });
  }
  [[nodiscard]] bool await_ready() const { return ready(); }
  void await_suspend(std::coroutine_handle<> waiting) const { reply_.await_suspend(waiting); }
  R await_resume() const { return get(); }

 private:
  ReplyFuture reply_;
  std::string function_;
};

class Stream;

/// An entry of a module that the lease's workers have loaded. A cheap value; any thread. All
/// members throw `orchid::Error`.
class LeasedFunction {
 public:
  Reply invoke(std::span<const std::byte> input, const CallOptions& options = {}) const;
  Reply invoke(std::string_view input, const CallOptions& options = {}) const;
  Reply invoke(Buffer input, const CallOptions& options = {}) const;

  /// Writes the output to `output` and returns its size, without allocating. Error `too_large`: it
  /// does not fit; the function has run, and its result is lost.
  std::size_t invoke_into(std::span<const std::byte> input, std::span<std::byte> output,
                          const CallOptions& options = {}) const;
  std::size_t invoke_into(Buffer input, std::span<std::byte> output,
                          const CallOptions& options = {}) const;

  /// Leaves the output where the worker wrote it.
  [[nodiscard]] Output invoke_in_place(std::span<const std::byte> input,
                                       const CallOptions& options = {}) const;
  [[nodiscard]] Output invoke_in_place(Buffer input, const CallOptions& options = {}) const;

  /// Copies `input`, hands the call over and returns at once.
  [[nodiscard]] ReplyFuture async(std::span<const std::byte> input,
                                  const CallOptions& options = {}) const;
  [[nodiscard]] ReplyFuture async(std::string_view input, const CallOptions& options = {}) const;
  [[nodiscard]] ReplyFuture async(Buffer input, const CallOptions& options = {}) const;

  /// Takes a worker for a call whose input and output go in chunks (orchid/stream.h), once one is
  /// free. `options.at_most_once` goes without saying.
  [[nodiscard]] Stream stream(const CallOptions& options = {}) const;

  /// "N.E", for messages.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend struct sdk::LeaseAccess;
  LeasedFunction(std::shared_ptr<sdk::LeaseCore> core, std::shared_ptr<sdk::LeaseCode> code,
                 std::uint16_t entry, std::string name)
      : core_(std::move(core)), code_(std::move(code)), entry_(entry), name_(std::move(name)) {}
  std::shared_ptr<sdk::LeaseCore> core_;  // shared: it may outlive the Lease, and then only refuses
  std::shared_ptr<sdk::LeaseCode> code_;  // shared with the lanes that have loaded it
  std::uint16_t entry_;
  std::string name_;
};

template <typename F>
class TypedLeasedFunction;

/// The calls of a typed entry that takes these arguments and, in the options of each call, so much
/// data.
template <typename R, std::size_t Data, typename Input>
class TypedLeasedCalls;
template <typename R, std::size_t Data, typename... Args>
class TypedLeasedCalls<R, Data, sdk::Types<Args...>> {
 public:
  explicit TypedLeasedCalls(LeasedFunction function) : function_(std::move(function)) {}
  R operator()(Args... args) const
    requires(Data == 0)
  {
    return call(CallOptions{}, static_cast<Args&&>(args)...);
  }
  R call(const CallOptions& options, Args... args) const {
    check(options);
    const std::vector<std::byte> input = values::encode_all(std::as_const(args)...);
    return decode_reply<R>(function_.invoke(input, options), function_.name());
  }
  [[nodiscard]] Future<R> async(Args... args) const
    requires(Data == 0)
  {
    return async_with(CallOptions{}, static_cast<Args&&>(args)...);
  }
  [[nodiscard]] Future<R> async_with(const CallOptions& options, Args... args) const {
    check(options);
    const std::vector<std::byte> input = values::encode_all(std::as_const(args)...);
    return Future<R>(function_.async(input, options), function_.name());
  }
  [[nodiscard]] const LeasedFunction& bytes() const { return function_; }

 private:
  void check(const CallOptions& options) const {
    if constexpr (Data > 0) sdk::check_data_count(options.data.size(), Data, function_.name());
  }
  LeasedFunction function_;
};

/// A typed entry. A cheap value; any thread. All members throw `orchid::Error`. Arguments of type
/// orchid::Data (orchid/function.hpp) are not passed: they are `CallOptions::data`, in their order.
template <typename R, typename... Args>
class TypedLeasedFunction<R(Args...)>
    : public TypedLeasedCalls<R, sdk::data_count<Args...>, sdk::InputTypes<Args...>> {
 public:
  explicit TypedLeasedFunction(LeasedFunction function)
      : TypedLeasedCalls<R, sdk::data_count<Args...>, sdk::InputTypes<Args...>>(
            std::move(function)) {}
};

/// A function of this program (orchid/embedded.h) on a worker, and its native twin here.
template <auto* Function>
class TwinFunction : public TypedLeasedFunction<SignatureOf<Function>> {
 public:
  using TypedLeasedFunction<SignatureOf<Function>>::TypedLeasedFunction;
  /// On the calling thread, without a worker.
  template <typename... Args>
  auto local(Args&&... args) const {
    return call_twin<Function>(std::forward<Args>(args)...);
  }
};

/// A module that was given as bytes and is loaded by the lease's workers; it is not deployed.
class LeasedModule {
 public:
  [[nodiscard]] const std::string& digest() const { return digest_; }
  [[nodiscard]] const std::vector<std::string>& entries() const { return entries_; }
  /// Error `not_found`. Empty: the only entry.
  [[nodiscard]] LeasedFunction function(std::string_view entry = {}) const;

 private:
  friend struct sdk::LeaseAccess;
  LeasedModule() = default;
  std::shared_ptr<sdk::LeaseCore> core_;
  std::shared_ptr<sdk::LeaseCode> code_;
  std::string digest_;
  std::vector<std::string> entries_;
};

/// A worker as it was granted.
struct WorkerInfo {
  std::string node;  // host name
  unsigned cores = 1;
  std::uint64_t memory = 0;      // bytes; 0: not stated
  std::vector<unsigned> gpus{};  // indices on its host
  std::string gpu_model{};
  friend bool operator==(const WorkerInfo&, const WorkerInfo&) = default;
};

struct LeaseCapacity {
  unsigned workers = 0;                 // that take calls now
  unsigned promised = 0;                // granted: some may be starting, or be lost
  unsigned cores_per_worker = 1;        // with alternatives: of the first of them
  std::uint64_t memory_per_worker = 0;  // bytes; 0: not stated; as the cores
  std::size_t largest_input = 0;        // bytes
  std::size_t largest_output = 0;
  std::vector<std::string> nodes;     // of the workers, without repetition
  std::vector<WorkerInfo> granted{};  // those that take calls now, each by itself
};

/// The right to some workers until it is released, which the destructor does. A movable handle; any
/// thread. All members throw `orchid::Error`; `lease_ended` once it has been released, has expired
/// or was revoked.
class Lease {
 public:
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  [[nodiscard]] const std::string& id() const;
  /// Connected now.
  [[nodiscard]] unsigned workers() const;
  [[nodiscard]] LeaseCapacity capacity() const;

  /// A deployed function: "N", "N.E" or "N@<version>". Asks the gateway once and returns when a
  /// worker has loaded it.
  [[nodiscard]] LeasedFunction function(std::string_view name);
  /// A typed callable. Error `signature_mismatch` when F has other types.
  template <typename F>
  [[nodiscard]] TypedLeasedFunction<F> function(std::string_view name) {
    return TypedLeasedFunction<F>(checked_function(name, values::signature_of<F>()));
  }
  /// A function of this program, which need not be deployed: `lease.function<dot>()`. Returns when
  /// a worker has loaded its module, which is sent only to a host that does not have it.
  template <auto* Function>
  [[nodiscard]] TwinFunction<Function> function() {
    return TwinFunction<Function>(this->function(embedded<Function>()));
  }
  /// The same for an entry of bytes: `lease.function(orchid_embedded_echo)`.
  [[nodiscard]] LeasedFunction function(const EmbeddedFunction& function);
  /// A module that need not be deployed: its workers get it from here.
  [[nodiscard]] LeasedModule module(std::span<const std::byte> bytes);

  /// The version of a data object that "NAME", "NAME@3" or an id means now. Asks the gateway once.
  /// Errors: `not_found`, `data_lost`.
  [[nodiscard]] LeasedData data(std::string_view reference);

  /// Calls `function` for every input, on all workers, and returns the replies in the inputs'
  /// order. A call that lasts much longer than the others is started again on an idle worker,
  /// unless `at_most_once`. The deadline is that of each call. The first failure cancels the rest
  /// and is thrown.
  [[nodiscard]] std::vector<Reply> map(const LeasedFunction& function,
                                       std::span<const std::vector<std::byte>> inputs,
                                       const CallOptions& options = {});
  /// The same for very many small calls: input `i` of `count` is what `input(i)` returns, whose
  /// memory must stay until its output is there; `output(i, bytes)` gets that, in the order in
  /// which calls end, and `bytes` are gone when it returns. Both run on this thread and must not
  /// call the lease.
  void for_each(const LeasedFunction& function, std::size_t count,
                const std::function<std::span<const std::byte>(std::size_t)>& input,
                const std::function<void(std::size_t, std::span<const std::byte>)>& output,
                const CallOptions& options = {});

  /// Errors: `too_large`, `no_capacity`: other buffers fill the lane now.
  [[nodiscard]] Buffer buffer(std::size_t size);

  /// Ends all calls with `lease_ended` and gives the workers back. Again: changes nothing.
  void release();

 private:
  friend struct sdk::LeaseAccess;
  explicit Lease(std::shared_ptr<sdk::LeaseCore> core) : core_(std::move(core)) {}
  LeasedFunction checked_function(std::string_view name, std::string_view signature);
  std::shared_ptr<sdk::LeaseCore> core_;  // shared with functions, futures and buffers
};

}  // namespace orchid
