// crew/crew_lane.h: how a member of a crew gets its calls, from the client and from other members,
// and how they end: the client is answered, or the call goes on at another member, or when its
// children have answered.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crew/kept_answers.h"
#include "crew/spawn_book.h"
#include "foundation/tick_clock.h"
#include "protocol/outcome.h"
#include "transport/crew_end.h"
#include "transport/lane.h"
#include "user_code/module_table.h"

namespace orchid::executor {

/// The worker's one thread.
class CrewLane final : public transport::LaneWorker {
 public:
  struct Parts {
    const ModuleTable& modules;
    const TickRate& rate;
  };
  CrewLane(transport::CrewEnd end, const Parts& parts)
      : end_(std::move(end)),
        parts_(parts),
        kept_(end_.shelf_to(crew::client_member), end_.shelf_from(crew::client_member)) {}

  /// Calls that their client has cancelled are answered here, and never run. What comes from rings
  /// and what is in the book have their turns. Errors: `bad_request`; `no_capacity`: there is no
  /// memory for what other members have sent.
  [[nodiscard]] Result<std::optional<transport::LaneRequest>> receive() override;
  [[nodiscard]] bool ready() const override { return book_.has_steps() || end_.ready(); }
  [[nodiscard]] std::byte* output(std::size_t size) override;
  [[nodiscard]] Result<void> answer(const Answer& answer) override;
  [[nodiscard]] bool asks_kernel() const override { return end_.has_far(); }
  [[nodiscard]] bool prepare_to_sleep() override {
    return !book_.has_steps() && end_.prepare_to_sleep();
  }
  void finish_sleep() override { end_.finish_sleep(); }
  [[nodiscard]] int wake_descriptor() const override { return end_.wake_descriptor(); }

  /// The request that was received last, after modules have come.
  [[nodiscard]] transport::LaneRequest look_again(const transport::LaneRequest& request) const {
    return request_of(request.input);
  }

  /// Of the request that was received last, when its module is not here.
  [[nodiscard]] std::uint64_t module_key() const { return crew::module_key_of(call_); }
  /// So much of its time has gone before it could run.
  void spend(std::chrono::nanoseconds time);

  [[nodiscard]] const transport::CrewEnd::Place& place() const { return end_.place(); }
  /// Its members at other executors. Errors: `system`, `bad_request`.
  [[nodiscard]] Result<void> join(std::unique_ptr<transport::CrewMesh> mesh) {
    return end_.join(std::move(mesh));
  }

  /// Where the running call asks to go on.
  struct Move {
    std::uint32_t member = 0;
    std::string_view entry;  // ModuleTable::find_entry; empty: the same one
    std::span<const std::byte> input;
    std::string_view missing = {};  // why the module of that is not here; empty: not known
  };
  struct Refusal {
    Outcome outcome = Outcome::function_error;
    std::string message;
  };
  /// Copies the input to where that member will read it; a later step replaces it. Nothing: it will
  /// go on there when it has returned. A refusal ends the call, whatever it returns.
  [[nodiscard]] const std::optional<Refusal>& go_on(const Move& move);
  /// The call fails, whatever it returns, unless it asks for something else that is possible.
  [[nodiscard]] const std::optional<Refusal>& cannot_go_on(std::string why);
  /// A child of the running call, and what it goes on with when all have answered. They begin when
  /// it has returned. Refused as above.
  struct Wish {
    std::string_view function;  // ModuleTable::find_entry
    std::span<const std::byte> input;
    std::string_view missing = {};  // as in Move
  };
  [[nodiscard]] const std::optional<Refusal>& spawn(const Wish& wish);
  [[nodiscard]] const std::optional<Refusal>& then(const Wish& wish);
  /// What the children of this call have answered, as they were spawned.
  [[nodiscard]] std::span<const AlignedBytes> outputs() const { return outputs_; }
  /// The running call is never begun again.
  [[nodiscard]] bool is_once() const { return crew::is_once(call_); }
  /// It was spawned, and whoever has spawned it gets its output.
  [[nodiscard]] bool is_child() const { return asker_.kind != Asker::Kind::client; }

  /// The running call has returned: what it has asked for has to make sense.
  void judge_wishes();
  [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }
  [[nodiscard]] bool goes_on() const { return next_.has_value() || rest_.has_value(); }
  /// The running call has returned after `run_time`, and goes on. Nobody is told but its next
  /// member; a call whose time is up is answered instead. Errors: `bad_request`.
  [[nodiscard]] Result<void> move_on(const Answer& so_far);

 private:
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};
  struct Next {
    std::uint32_t member = 0;
    std::uint64_t module = 0;  // its key
    std::uint16_t entry = 0;
    std::span<const std::byte> input;
  };
  [[nodiscard]] std::optional<Refusal> find_fault(const Move& move, Next& next) const;
  void begin(const transport::CrewMessage& message);
  void forget_wishes();
  [[nodiscard]] Result<void> tell_client(const Answer& answer);
  [[nodiscard]] transport::LaneRequest request_of(std::span<std::byte> input) const;
  /// The next call of a ring; nothing: there is none now.
  [[nodiscard]] Result<std::optional<transport::LaneRequest>> take_call();
  [[nodiscard]] std::optional<std::uint64_t> time_left(const Answer& so_far) const;
  [[nodiscard]] Result<void> forward(const Answer& so_far, std::uint64_t left);

  // What was spawned: crew_lane_spawn.cpp.
  [[nodiscard]] Result<std::optional<transport::LaneRequest>> take();
  [[nodiscard]] Result<std::optional<transport::LaneRequest>> take_step();
  void begin(Step step);
  /// At least 1: 0 would be no deadline.
  [[nodiscard]] std::uint64_t nanoseconds_between(std::uint64_t now, std::uint64_t due) const;
  [[nodiscard]] Result<void> lend_children();
  [[nodiscard]] Result<void> send_loan(std::uint32_t member, const SpawnBook::Loan& loan);
  [[nodiscard]] Result<void> take_of_loan(const transport::CrewMessage& message);
  [[nodiscard]] Result<void> borrow(const transport::CrewMessage& message);
  [[nodiscard]] Result<void> take_end(const transport::CrewMessage& message);
  [[nodiscard]] std::optional<Refusal> make_step(std::string_view asked, const Wish& wish,
                                                 Step& step) const;
  [[nodiscard]] Result<void> suspend(const Answer& so_far, std::uint64_t left);
  [[nodiscard]] Result<void> end_child(const Answer& answer);
  [[nodiscard]] Result<void> settle(const Asker& asker, std::uint64_t request_id, StepEnd end);
  [[nodiscard]] Result<void> deliver(const SpawnBook::Delivery& told);
  [[nodiscard]] std::string step_line(const Answer& answer) const;
  [[nodiscard]] transport::CrewLog whole_log(const Answer& answer);
  static constexpr std::string_view cancelled_between = "the call was cancelled between two steps";
  static constexpr std::string_view late_between =
      "the deadline passed between two steps of the call";
  [[nodiscard]] Result<void> end_unrun(Outcome outcome, std::string_view why);
  /// Oneself is written to where one does not read from.
  [[nodiscard]] std::uint32_t turn_to(std::uint32_t member) const {
    return member == end_.place().member && from_ == member ? 1 - turn_ : 0;
  }

  transport::CrewEnd end_;
  Parts parts_;
  SpawnBook book_;
  KeptAnswers kept_;
  bool step_next_ = false;  // the book has its turn
  // Of the running call.
  CallHeader call_;         // as it came
  std::uint32_t from_ = 0;  // who sent it
  std::uint32_t turn_ = 0;  // of a message to oneself
  Asker asker_;             // who gets its output
  AlignedBytes input_;      // of what came out of the book
  std::vector<AlignedBytes> outputs_;
  StepLog log_;  // so far, of earlier steps; then of this one, too
  /// As orchid_output promises.
  alignas(AlignedBytes::alignment) std::array<std::byte, transport::inline_bytes> small_output_{};
  std::span<const std::byte> output_;
  std::optional<Next> next_;
  std::array<std::byte, transport::inline_bytes> small_input_{};  // of the next step
  std::vector<Step> spawned_;
  std::size_t spawned_bytes_ = 0;
  std::optional<Step> rest_;
  std::optional<Refusal> refusal_;
  bool spawn_refused_ = false;  // nothing that the entry asks for later makes that good
};

}  // namespace orchid::executor
