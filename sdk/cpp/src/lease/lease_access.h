// lease/lease_access.h: makes what users hold out of what is behind it.
#pragma once
#include <memory>
#include <string>

#include "lease/lease_core.h"

namespace orchid::sdk {

enum class AsyncUse : std::uint8_t {
  future,
  piece,  // of a range: it may wait behind another one in a lane, and its output is read in place
};

struct LeaseAccess {
  static Lease lease(std::shared_ptr<LeaseCore> core) { return Lease(std::move(core)); }
  static const LeaseCore& core_of(const Lease& lease) { return *lease.core_; }
  static const std::shared_ptr<LeaseCore>& shared_core_of(const Lease& lease) {
    return lease.core_;
  }
  static LeasedFunction function(std::shared_ptr<LeaseCore> core, std::shared_ptr<LeaseCode> code,
                                 std::uint16_t entry, std::string name) {
    return {std::move(core), std::move(code), entry, std::move(name)};
  }
  static Buffer buffer(std::unique_ptr<LaneRoom> room) { return Buffer(std::move(room)); }
  static std::unique_ptr<LaneRoom> room_of(Buffer& buffer) { return std::move(buffer.room_); }
  static LeasedData data(std::shared_ptr<const LeasedObject> object) {
    return LeasedData(std::move(object));
  }
  static const std::shared_ptr<const LeasedObject>& object_of(const LeasedData& data) {
    return data.object_;
  }
  static Output output(std::unique_ptr<HeldAnswer> answer) { return Output(std::move(answer)); }
  static ReplyFuture future(std::shared_ptr<AsyncCall> call) {
    return ReplyFuture(std::move(call));
  }
  static const std::shared_ptr<AsyncCall>& call_of(const ReplyFuture& future) {
    return future.call_;
  }
  static LeasedModule module(std::shared_ptr<LeaseCore> core, std::shared_ptr<LeaseCode> code) {
    LeasedModule module;
    module.digest_ = code->digest;
    module.entries_ = code->entries;
    module.core_ = std::move(core);
    module.code_ = std::move(code);
    return module;
  }
  static std::shared_ptr<AsyncCall> start(const LeasedFunction& function,
                                          std::span<const std::byte> input,
                                          std::unique_ptr<LaneRoom> home,
                                          const CallOptions& options, AsyncUse use);
  /// Waits for a piece. Throws why there is no output.
  static Output output_of(AsyncCall& piece);
  /// The question of a call, but for its input.
  static void ask(DirectCall& call, const LeasedFunction& function, const CallOptions& options);
};

[[noreturn]] void throw_error(DirectCall& call, const std::string& function);
[[nodiscard]] Reply reply_of(DirectCall& call, const std::string& function);

}  // namespace orchid::sdk
