// crew/crew_lane.h: how a member of a crew gets its calls, from the client and from other members,
// and how they end: the client is answered, or the call goes on at another member.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/outcome.h"
#include "transport/crew_end.h"
#include "transport/lane.h"

namespace orchid::executor {

/// The worker's one thread.
class CrewLane final : public transport::LaneWorker {
 public:
  explicit CrewLane(transport::CrewEnd end) : end_(std::move(end)) {}

  /// Calls that their client has cancelled are answered here, and never run.
  [[nodiscard]] Result<std::optional<transport::LaneRequest>> receive() override;
  [[nodiscard]] bool ready() const override { return end_.ready(); }
  [[nodiscard]] std::byte* output(std::size_t size) override;
  [[nodiscard]] Result<void> answer(const Answer& answer) override;
  [[nodiscard]] bool prepare_to_sleep() override { return end_.prepare_to_sleep(); }
  void finish_sleep() override { end_.finish_sleep(); }
  [[nodiscard]] int wake_descriptor() const override { return end_.wake_descriptor(); }

  [[nodiscard]] const transport::CrewEnd::Place& place() const { return end_.place(); }

  /// A module that this member has linked: others name it by its digest, and its entries by name.
  struct Module {
    std::string_view digest;
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    std::vector<std::string> entries;  // sorted: entry k is called by the number k
  };
  void linked(const Module& module);
  void unlinked(std::uint32_t slot);

  /// Where the running call asks to go on.
  struct Step {
    std::uint32_t member = 0;
    std::string_view entry;  // of the same module; empty: the same one
    std::span<const std::byte> input;
  };
  struct Refusal {
    Outcome outcome = Outcome::function_error;
    std::string message;
  };
  /// Copies the input to where that member will read it; a later step replaces it. Nothing: it will
  /// go on there when it has returned. A refusal ends the call, whatever it returns.
  [[nodiscard]] const std::optional<Refusal>& go_on(const Step& step);
  [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }
  [[nodiscard]] bool goes_on() const { return next_.has_value(); }
  /// The running call has returned after `run_time`, and goes on. Nobody is told but its next
  /// member; a call whose time is up is answered instead. Errors: `bad_request`.
  [[nodiscard]] Result<void> move_on(const Answer& so_far);

 private:
  struct Linked {
    std::uint64_t key = 0;
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    std::vector<std::string> entries;
  };
  struct Next {
    std::uint32_t member = 0;
    std::uint16_t entry = 0;
    std::span<const std::byte> input;
  };
  [[nodiscard]] const Linked* find(std::uint64_t key) const;
  [[nodiscard]] std::optional<Refusal> find_fault(const Step& step, std::uint16_t& entry) const;
  void begin(const transport::CrewMessage& message);
  [[nodiscard]] transport::CrewLog whole_log(const Answer& answer);
  [[nodiscard]] Result<void> end_unrun(Outcome outcome, std::string_view why);
  /// Oneself is written to where one does not read from.
  [[nodiscard]] std::uint32_t turn_to(std::uint32_t member) const {
    return member == end_.place().member && from_ == member ? 1 - turn_ : 0;
  }

  transport::CrewEnd end_;
  std::vector<Linked> modules_;
  // Of the running call.
  CallHeader call_;         // as it came
  std::uint32_t from_ = 0;  // who sent it
  std::uint32_t turn_ = 0;  // of a message to oneself
  std::string log_;         // so far, of earlier steps; then of this one, too
  std::uint64_t log_dropped_ = 0;
  std::array<std::byte, transport::inline_bytes> small_output_{};
  std::span<const std::byte> output_;
  std::optional<Next> next_;
  std::array<std::byte, transport::inline_bytes> small_input_{};  // of the next step
  std::optional<Refusal> refusal_;
};

}  // namespace orchid::executor
