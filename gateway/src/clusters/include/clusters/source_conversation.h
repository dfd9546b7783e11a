// clusters/source_conversation.h: what a capacity source says and is answered (docs/PROTOCOL.md
// §9). Plain data: no process, no thread; time is passed in.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/clock.h"
#include "protocol/source_inventory.h"
#include "protocol/source_messages.h"

namespace orchid::gateway {

/// What is known of a cluster through one source. It stays while the source is started again: what
/// was told ages, and the first full update replaces it.
struct ClusterState {
  std::string source;  // what the configuration calls it
  SourceHello hello;   // of the last process that said one
  SourceInventory inventory;
  SourceReport report{.is_current = false, .message = "it has not said anything yet"};
  MonotonicTime heard;  // when `report` or an update came
  MonotonicTime told;   // when the last complete update of `inventory` came
  bool running = false;
  std::uint64_t starts = 0;
  std::string trouble;  // why it does not run, or what it said last; "" when all is well
};

/// Of one process. Owned by the thread that reads its lines.
class SourceConversation {
 public:
  explicit SourceConversation(ClusterState& state) : state_(state) {}

  struct Heard {
    std::optional<SourceCommand> answer;
    bool inventory_changed = false;
  };
  /// Errors: the source is to be ended, and started again.
  [[nodiscard]] Result<Heard> line(std::string_view text, MonotonicTime now);

 private:
  [[nodiscard]] Result<Heard> greeted(const SourceHello& hello);
  [[nodiscard]] Heard updated(SourceUpdate update, MonotonicTime now);

  ClusterState& state_;
  SourceInventory first_;  // until its full update is complete, and replaces what is known
  bool has_replaced_ = false;
  bool greeted_ = false;
};

}  // namespace orchid::gateway
