// crew/spawn_book.h: the children that calls of a crew have spawned, as one member keeps them:
// those that wait, the calls whose children are under way, and what other members have of them.
//
// Decisions over plain data: no rings, no clock, no user code (decision 0042).
#pragma once
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/units.h"
#include "protocol/call_header.h"
#include "protocol/crew.h"
#include "protocol/outcome.h"
#include "user_code/aligned_bytes.h"

namespace orchid::executor {

/// Who gets what a step answers.
struct Asker {
  enum class Kind : std::uint8_t {
    client,  // the step is of a call that nobody has spawned
    frame,   // a call of this member that waits for its children
    member,  // another member, which has lent the child
  };
  Kind kind = Kind::client;
  std::uint8_t loan = 0;     // the lender's number for it
  std::uint32_t number = 0;  // of the frame, or of the member
  std::uint32_t child = 0;   // of the frame: which one of its children
};

/// What steps have logged: up to crew::log_size, and how much more that was.
struct StepLog {
  std::string text;
  std::uint64_t dropped = 0;
  void append(std::string_view more, std::uint64_t more_dropped = 0);
};

/// One run of an entry that is to come: a child, or what a call goes on with.
struct Step {
  CallHeader header;      // of the whole call but for module, entry and hops
  std::uint64_t due = 0;  // in ticks; 0: it has no deadline
  Asker asker;
  AlignedBytes input;
  std::vector<AlignedBytes> outputs;  // of the children it has waited for, as they were spawned
  StepLog log;                        // of what came before it
};

/// How a step has ended, or all that it has spawned.
struct StepEnd {
  ResponseKind kind = ResponseKind::reply;
  Outcome outcome = Outcome::ok;
  AlignedBytes payload;  // the output, or why it has failed
  StepLog log;
  [[nodiscard]] bool is_ok() const { return kind == ResponseKind::reply && outcome == Outcome::ok; }
};

/// Is told of children of a call that have answered, where that is to outlive this crew.
class AnswerKeeper {
 public:
  virtual ~AnswerKeeper() = default;
  virtual void keep(std::uint64_t request_id, std::uint64_t key,
                    std::span<const std::byte> answer) = 0;
};

/// Of the children of a call: by what each goes in an earlier or a later attempt of the call, and
/// what it has answered in an earlier one. Empty: nothing is kept.
struct KeptChildren {
  std::vector<std::uint64_t> keys;
  std::vector<std::optional<AlignedBytes>> answers;
};

/// Owned by the worker's thread. Each child that was put in comes to an end exactly once; a call
/// whose child has failed fails itself, once all of its children have ended, and does not go on.
class SpawnBook {
 public:
  /// Beyond them calls fail. What a crew's other members have lent is taken all the same: that is
  /// bounded by crew::loans.
  struct Limits {
    std::size_t held = 65'536;  // children that wait, and calls that wait for theirs
    ByteCount bytes = 64_MiB;   // of their inputs and outputs, and of what they have logged
  };
  SpawnBook() = default;
  explicit SpawnBook(const Limits& limits) : limits_(limits) {}

  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// Whether a call with so many children has room, with so many bytes in all.
  [[nodiscard]] bool has_room(std::size_t children, std::size_t bytes) const {
    return held() + children + 1 <= limits_.held && bytes_ + bytes <= limits_.bytes.value;
  }
  /// The call goes on as `rest` when all its children have ended; at once, if it has none. The
  /// first one runs first. Their askers are set here. One whose answer was kept does not run.
  void suspend(Step rest, std::vector<Step> children, KeptChildren kept = {});
  /// Lent by another member, which is its asker. False: that loan has not ended yet.
  [[nodiscard]] bool borrow(Step child);

  [[nodiscard]] bool has_steps() const { return !ready_.empty() || !children_.empty(); }
  /// What is to run next: a call whose children have all ended, else the youngest child, so that a
  /// tree is walked depth first. Nothing: none is here.
  [[nodiscard]] std::optional<Step> next();

  /// What has to be told to the client or to another member, because of a step's end.
  struct Delivery {
    Asker to;  // no frame
    std::uint64_t request_id = 0;
    StepEnd end;
  };
  /// A step of the call `request_id` has ended.
  [[nodiscard]] std::optional<Delivery> end(const Asker& asker, std::uint64_t request_id,
                                            StepEnd end, AnswerKeeper* keeper = nullptr);

  /// Children that may be lent: all but one, which this member runs next.
  [[nodiscard]] std::size_t spare() const {
    return children_.size() - (ready_.empty() && !children_.empty() ? 1 : 0);
  }
  /// How many of them one member gets at a time, of `members`.
  [[nodiscard]] std::size_t share(std::uint32_t members) const;
  /// There is one to spare, and that member may have it.
  [[nodiscard]] bool can_lend(std::uint32_t member) const;
  struct Loan {
    std::uint8_t number = 0;
    Step child;
  };
  /// The oldest child: most is below it. Nothing: none can be spared, or that member has as many
  /// as it may have of this one.
  [[nodiscard]] std::optional<Loan> lend(std::uint32_t member);
  /// Whose child it was; nothing: that member has no such loan of that call.
  [[nodiscard]] std::optional<Asker> take_back(std::uint32_t member, std::uint32_t loan,
                                               std::uint64_t request_id);

  /// Children that wait, and calls that wait for theirs.
  [[nodiscard]] std::size_t held() const { return children_.size() + frames_in_use_; }
  [[nodiscard]] ByteCount bytes() const { return ByteCount{bytes_}; }
  [[nodiscard]] std::size_t lent() const { return lent_; }

 private:
  struct Frame {
    Step rest;
    std::size_t missing = 0;          // children that have not ended
    std::vector<std::uint64_t> keys;  // of children whose answers are kept; empty: of none
    std::optional<StepEnd> failure;
  };
  struct Lent {
    Asker asker;
    std::uint64_t request_id = 0;
  };
  using Loans = std::array<std::optional<Lent>, crew::loans>;
  [[nodiscard]] std::uint32_t open_frame(Step rest);
  [[nodiscard]] Frame close_frame(std::uint32_t number);
  void note(Frame& frame, std::uint32_t child, StepEnd end);
  static std::size_t size_of(const Step& step);

  Limits limits_{};
  std::deque<Step> children_;         // oldest first
  std::vector<std::uint32_t> ready_;  // frames, the last one first
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<std::uint32_t> free_frames_;
  std::size_t frames_in_use_ = 0;
  std::size_t bytes_ = 0;
  std::array<Loans, crew::most_members + 1> loans_{};                        // by member
  std::array<std::bitset<crew::loans>, crew::most_members + 1> borrowed_{};  // by lender
  std::size_t lent_ = 0;
};

}  // namespace orchid::executor
