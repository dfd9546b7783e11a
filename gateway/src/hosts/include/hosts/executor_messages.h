// hosts/executor_messages.h: who hears what executors say.
#pragma once
#include <array>
#include <cassert>
#include <concepts>
#include <functional>
#include <utility>
#include <variant>

#include "hosts/host_book.h"
#include "protocol/control_messages.h"

namespace orchid::gateway {

/// Whoever understands a message says so before the control thread runs; after that it belongs to
/// the control thread.
class ExecutorMessages {
 public:
  /// `hear(executor, message)` is called with each message of this type. A type has one hearer.
  template <typename Message, std::invocable<const ExecutorId&, const Message&> Hear>
  void on(Hear hear) {
    Hearer& hearer = hearers_[index_of<Message>()];
    assert(!hearer && "somebody else hears these messages");
    hearer = [hear = std::move(hear)](const ExecutorId& executor, const ControlMessage& message) {
      hear(executor, *std::get_if<Message>(&message));
    };
  }
  /// A message that nobody hears is dropped: an executor of another release may know more.
  void deliver(const ExecutorId& executor, const ControlMessage& message) const {
    if (const Hearer& hearer = hearers_[message.index()]) hearer(executor, message);
  }

 private:
  using Hearer = std::function<void(const ExecutorId&, const ControlMessage&)>;
  template <typename Message, std::size_t index = 0>
  static constexpr std::size_t index_of() {
    if constexpr (std::is_same_v<std::variant_alternative_t<index, ControlMessage>, Message>)
      return index;
    else
      return index_of<Message, index + 1>();
  }
  std::array<Hearer, std::variant_size_v<ControlMessage>> hearers_;
};

}  // namespace orchid::gateway
