// orchid/call.hpp: the running call, as C++ sees it. orchid/function.hpp brings it.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orchid/function.h"

namespace orchid {

/// The running call, for functions that want to know about it. Lives as long as the call; used on
/// its thread.
class Call {
 public:
  explicit Call(orchid_call* call) : call_(call) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// True when the caller has cancelled, the deadline has passed or the place is taken back: return
  /// soon. About 1 ns.
  [[nodiscard]] bool should_stop() const { return orchid_should_stop(call_) != 0; }
  /// From 0 to 1, shown to whoever waits.
  void progress(double fraction) { orchid_progress(call_, fraction); }
  void log(std::string_view text) { orchid_log(call_, text.data(), text.size()); }
  /// `nanoseconds::max()` when there is no deadline.
  [[nodiscard]] std::chrono::nanoseconds time_left() const {
    return std::chrono::nanoseconds(orchid_time_left_ns(call_));
  }
  /// The call goes on at `member` of the crew when this function has returned, in `entry` of this
  /// module (null: in this one): orchid_forward in function.h. False: it does not, and fails.
  [[nodiscard]] bool forward(std::uint32_t member, std::span<const std::byte> input,
                             const char* entry = nullptr) {
    return orchid_forward(call_, member, entry, input.data(), input.size()) == ORCHID_OK;
  }
  /// The call goes on where the data object `data` is: orchid_forward_to_data in function.h.
  [[nodiscard]] bool forward_to_data(const char* data, std::span<const std::byte> input,
                                     const char* entry = nullptr) {
    return orchid_forward_to_data(call_, data, entry, input.data(), input.size()) == ORCHID_OK;
  }
  /// A child of this call, and what the call goes on with when all of them have answered:
  /// orchid_spawn and orchid_then in function.h. False: the call fails.
  [[nodiscard]] bool spawn(const char* function, std::span<const std::byte> input) {
    return orchid_spawn(call_, function, input.data(), input.size()) == ORCHID_OK;
  }
  [[nodiscard]] bool then(const char* entry, std::span<const std::byte> state) {
    return orchid_then(call_, entry, state.data(), state.size()) == ORCHID_OK;
  }
  /// What they have answered, as they were spawned. Empty, too, for one that there was not.
  [[nodiscard]] std::uint32_t child_count() const { return orchid_child_count(call_); }
  [[nodiscard]] std::span<const std::byte> child(std::uint32_t index) const {
    const void* output = nullptr;
    std::size_t size = 0;
    if (orchid_child(call_, index, &output, &size) != ORCHID_OK) return {};
    return {static_cast<const std::byte*>(output), size};
  }
  /// A module that this call makes: orchid_deploy_module and orchid_specialise in function.h. Its
  /// digest; nothing: the call's error says why.
  [[nodiscard]] std::optional<std::string> deploy(std::span<const std::byte> module) {
    std::array<char, ORCHID_DIGEST_SIZE> digest{};
    if (orchid_deploy_module(call_, module.data(), module.size(), digest.data()) != ORCHID_OK)
      return std::nullopt;
    return std::string(digest.data());
  }
  [[nodiscard]] std::optional<std::string> specialise(std::span<const orchid_constant> constants,
                                                      const char* module = nullptr) {
    std::array<char, ORCHID_DIGEST_SIZE> digest{};
    if (orchid_specialise(call_, module, constants.data(), constants.size(), digest.data()) !=
        ORCHID_OK)
      return std::nullopt;
    return std::string(digest.data());
  }
  /// The output of another entry that runs here and now: orchid_invoke_inline in function.h, also
  /// for how long it is valid. Nothing: it has failed, and the call's error says why if this entry
  /// returns an error.
  [[nodiscard]] std::optional<std::span<const std::byte>> invoke(const char* function,
                                                                 std::span<const std::byte> input) {
    const void* output = nullptr;
    std::size_t size = 0;
    if (orchid_invoke_inline(call_, function, input.data(), input.size(), &output, &size) !=
        ORCHID_OK)
      return std::nullopt;
    return std::span(static_cast<const std::byte*>(output), size);
  }
  /// From 1, and how many there are; 0: this worker is in no crew.
  [[nodiscard]] std::uint32_t member() const { return orchid_member(call_); }
  [[nodiscard]] std::uint32_t member_count() const { return orchid_member_count(call_); }
  [[nodiscard]] std::uint64_t invocation_id() const { return orchid_invocation_id(call_); }
  [[nodiscard]] orchid_call* handle() const { return call_; }

 private:
  orchid_call* call_;
};

/// An entry of bytes as a stream (orchid_exchange in function.h), which also serves callers that do
/// not stream:
///
///     ORCHID_ENTRY(upper) {
///       orchid::Chunks chunks(call, input, input_size);
///       for (std::span<const std::byte> chunk : chunks)
///         if (!chunks.emit(upper_case(chunk))) return ORCHID_ERROR;
///       return ORCHID_OK;
///     }
///
/// Lives as long as the call; used on its thread.
class Chunks {
 public:
  Chunks(orchid_call* call, const void* input, std::size_t size)
      : call_(call), chunk_(static_cast<const std::byte*>(input), size) {}
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;

  /// Writes output. False: more than fits into one chunk, or over the limit; end as an error then.
  [[nodiscard]] bool emit(std::span<const std::byte> bytes) {
    void* room = orchid_append(call_, bytes.size());
    if (room == nullptr) return false;
    if (!bytes.empty()) __builtin_memcpy(room, bytes.data(), bytes.size());
    return true;
  }
  [[nodiscard]] bool emit(std::string_view text) {
    return emit(std::as_bytes(std::span(text.data(), text.size())));
  }
  /// For producers, after the input: sends what was emitted, once the caller wants more. False: it
  /// wants an end.
  [[nodiscard]] bool flush() {
    while (next_ == ORCHID_CHUNK) advance();  // input that nobody asked for
    if (next_ == ORCHID_END_OF_INPUT) advance();
    return next_ != ORCHID_STOP;
  }
  /// The caller has cancelled, or the place is taken back: return soon.
  [[nodiscard]] bool stopped() const { return next_ == ORCHID_STOP; }

  /// Over the chunks of input, once; each is valid until the next. It ends with the input, and when
  /// the caller wants an end.
  class Iterator {
   public:
    explicit Iterator(Chunks& chunks) : chunks_(&chunks) {}
    std::span<const std::byte> operator*() const { return chunks_->chunk_; }
    Iterator& operator++() {
      chunks_->advance();
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return chunks_->next_ == ORCHID_CHUNK; }

   private:
    Chunks* chunks_;
  };
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] static std::nullptr_t end() { return nullptr; }

 private:
  void advance() {
    const void* chunk = nullptr;
    std::size_t size = 0;
    next_ = orchid_exchange(call_, &chunk, &size);
    chunk_ = {static_cast<const std::byte*>(chunk), size};
  }
  orchid_call* call_;
  std::span<const std::byte> chunk_;
  std::int32_t next_ = ORCHID_CHUNK;
};

}  // namespace orchid
