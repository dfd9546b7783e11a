// lane_client/code_slots.h: the modules that an executor was told of for one worker, and the slots
// in which that worker has them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "protocol/lane_messages.h"

namespace orchid::lane_client {

/// Owned by who drives the lane. `Module` points at what has a `digest`; `Number` names one module
/// for the driver, and never another one.
template <typename Module>
class CodeSlots {
 public:
  using Number = std::uint64_t;
  enum class State : std::uint8_t {
    announced,
    needed,  // the executor has asked for the module itself
    ready,
    refused,  // it is not announced again
  };
  struct Code {
    Number number = 0;
    State state = State::announced;
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    Module module{};                                    // until it is ready
    std::optional<MonotonicTime> compiling_since = {};  // while it waits for a compiler

    [[nodiscard]] bool is_loading() const {
      return state == State::announced || state == State::needed;
    }
  };

  /// Null: it is not ready to be called.
  [[nodiscard]] const Code* ready(Number number) const {
    const Code* code = find(number);
    return code != nullptr && code->state == State::ready ? code : nullptr;
  }
  [[nodiscard]] bool is_loading(Number number) const { return loading(number) != nullptr; }
  /// Null: it is not being loaded.
  [[nodiscard]] const Code* loading(Number number) const {
    const Code* code = find(number);
    return code != nullptr && code->is_loading() ? code : nullptr;
  }
  /// Whether one is being loaded of which that is true.
  template <typename Predicate>
  [[nodiscard]] bool loads_any(Predicate of_number) const {
    return loading_ > 0 && std::ranges::any_of(codes_, [&](const Code& code) {
             return code.is_loading() && of_number(code.number);
           });
  }
  [[nodiscard]] bool loads_anything() const { return loading_ > 0; }

  /// True: the executor is to be told of it.
  [[nodiscard]] bool announce(Number number, const Module& module) {
    const auto at = std::ranges::lower_bound(codes_, number, {}, &Code::number);
    if (at != codes_.end() && at->number == number) return false;
    codes_.insert(at, {.number = number, .module = module});
    ++loading_;
    return true;
  }
  /// The executor wants the module itself; null: it was not told of this one.
  [[nodiscard]] const Code* needs(std::string_view digest) {
    Code* code = find_loading(digest);
    if (code != nullptr) code->state = State::needed;
    return code;
  }
  /// Null: it is not being loaded.
  [[nodiscard]] Code* find_loading(std::string_view digest) {
    const auto found = std::ranges::find_if(codes_, [&](const Code& code) {
      return code.is_loading() && code.module->digest == digest;
    });
    return found == codes_.end() ? nullptr : &*found;
  }
  /// `send` says whether the module was there to be sent.
  template <typename Send>
  void send_needed(Send send) {
    for (Code& code : codes_)
      if (code.state == State::needed && send(code.module)) code.state = State::announced;
  }
  /// The worker has it. Its module with that: the slots need it no more. Nothing: it was not asked
  /// for.
  [[nodiscard]] std::optional<Code> loaded(const LaneSlot& message) {
    Code* code = find_loading(message.digest);
    if (code == nullptr) return std::nullopt;
    --loading_;
    code->state = State::ready;
    code->slot = message.slot;
    code->generation = message.generation;
    return std::exchange(*code, {.number = code->number,
                                 .state = code->state,
                                 .slot = code->slot,
                                 .generation = code->generation});
  }
  /// It was not loaded, and is unknown again.
  [[nodiscard]] std::optional<Code> rejected(std::string_view digest) {
    Code* code = find_loading(digest);
    if (code == nullptr) return std::nullopt;
    Code taken = std::move(*code);
    --loading_;
    codes_.erase(codes_.begin() + (code - codes_.data()));
    return taken;
  }
  void refuse(Number number) {
    (void)announce(number, {});
    Code& code = *std::ranges::lower_bound(codes_, number, {}, &Code::number);
    if (code.is_loading()) --loading_;
    code.state = State::refused;
  }
  /// The worker has it no more.
  void forget(Number number) {
    const Code* code = find(number);
    if (code == nullptr) return;
    if (code->is_loading()) --loading_;
    codes_.erase(codes_.begin() + (code - codes_.data()));
  }
  /// There is another worker.
  void clear() {
    codes_.clear();
    loading_ = 0;
  }

 private:
  [[nodiscard]] const Code* find(Number number) const {
    // Numbers that are counted from 0 are found at once.
    if (number < codes_.size() && codes_[number].number == number) return &codes_[number];
    const auto at = std::ranges::lower_bound(codes_, number, {}, &Code::number);
    return at != codes_.end() && at->number == number ? &*at : nullptr;
  }
  std::vector<Code> codes_;  // by number
  std::size_t loading_ = 0;
};

}  // namespace orchid::lane_client
