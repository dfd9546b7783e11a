// data/data_copies.h: copies of data objects on their way from one executor to another. Plain data:
// no socket, no thread; time is passed in.
//
//   begin ─► room ─► waiting ─► offering ─► moving ─────────────────► sealing ─► there
//                       ▲          │ fails     │ the sender is lost      ▲
//                       ├──────────┴───────────┤                        │ all has come
//                       └── not all has come ── stopping ────────────────┘
//
// The receiving executor makes a room, as for bytes that a client writes. A holder is asked to
// offer its bytes, and says where; the receiver fetches them from there. When its sender is lost it
// says how much has come, and another holder goes on there.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "data/copy_plan.h"
#include "data/data_catalogue.h"
#include "foundation/result.h"

namespace orchid::gateway {

/// Of one pair of executors, once: another attempt has another one.
using TransferNumber = std::uint64_t;

// What is to be said to executors, in this order.
struct MakeCopyRoom {
  ExecutorId to;
  DataId data;
};
struct OfferCopy {
  ExecutorId from;
  DataId data;
  TransferNumber transfer = 0;
  std::string key;  // 32 hexadecimal digits; never logged
  std::chrono::milliseconds within{};
};
struct FetchCopy {
  ExecutorId to;
  DataId data;
  TransferNumber transfer = 0;
  std::string key;
  std::string address;
  std::chrono::milliseconds within{};
};
/// Nobody waits for it any more.
struct EndTransfer {
  ExecutorId at;
  DataId data;
  TransferNumber transfer = 0;
};
struct SealCopy {
  ExecutorId to;
  DataId data;
};
using CopyAction = std::variant<MakeCopyRoom, OfferCopy, FetchCopy, EndTransfer, SealCopy>;

/// For whoever waits. The books have the copy, or nothing of it any more.
struct CopyEnded {
  DataId data;
  ExecutorId to;
  std::optional<Failure> why;  // nothing: it is there
};

/// Owned by the control thread, as the catalogue is. Of one object there is one copy at a time on
/// its way to an executor.
class DataCopies {
 public:
  struct Options {
    std::size_t sends = 4;     // of an executor at the same time; others wait
    std::size_t receives = 4;  // likewise
    unsigned tries = 2;        // of each holder, for one copy
    std::chrono::milliseconds answer_within{5'000};
    /// What has to come, as a part of the object, for its holders to be tried anew.
    unsigned progress_parts = 16;
    std::uint64_t slowest = 4 << 20;  // bytes a second, that a transfer may have
  };
  /// Whether an executor answers, as far as is known.
  using Answers = std::function<bool(const ExecutorId&)>;
  using Distances = std::function<Distance(const ExecutorId& from, const ExecutorId& to)>;
  DataCopies(DataCatalogue& catalogue, Answers answers, Options options, Distances distances)
      : catalogue_(catalogue),
        answers_(std::move(answers)),
        distances_(std::move(distances)),
        options_(options) {}

  /// Errors, nothing changed: as of `DataCatalogue::begin_copy`.
  [[nodiscard]] Result<void> begin(DataId data, DataHolder to, MonotonicTime now);

  // What executors say. What is not waited for is not heard.
  void made(const ExecutorId& to, DataId data, MonotonicTime now);
  void refused(const ExecutorId& to, DataId data, const Failure& why);
  void offered(const ExecutorId& from, TransferNumber transfer, std::string address,
               MonotonicTime now);
  /// It cannot send, or not to the end.
  void not_offered(const ExecutorId& from, TransferNumber transfer, const Failure& why,
                   MonotonicTime now);
  void fetched(const ExecutorId& to, TransferNumber transfer, MonotonicTime now);
  void not_fetched(const ExecutorId& to, TransferNumber transfer, ByteCount have,
                   const Failure& why, MonotonicTime now);
  /// True when it was waited for.
  bool sealed(const ExecutorId& to, DataId data);

  /// Goes on with what waits, and with what the books or the time have changed.
  void tick(MonotonicTime now);

  [[nodiscard]] std::vector<CopyAction> take_actions() { return std::exchange(actions_, {}); }
  [[nodiscard]] std::vector<CopyEnded> take_ended() { return std::exchange(ended_, {}); }
  /// What their executors are to be told.
  [[nodiscard]] DataDrops take_drops() { return std::exchange(drops_, {}); }

  [[nodiscard]] std::size_t under_way() const { return orders_.size(); }
  [[nodiscard]] std::size_t count_to(const ExecutorId& to) const;
  struct Progress {
    std::string_view state;  // "moving"
    ByteCount have;          // when its last sender was lost
  };
  [[nodiscard]] std::optional<Progress> progress(DataId data, const ExecutorId& to) const;

 private:
  enum class State : std::uint8_t { room, waiting, offering, moving, stopping, sealing };
  struct Order {
    State state = State::room;
    MonotonicTime due{};             // of what is waited for
    std::optional<ExecutorId> from;  // of `offering` and `moving`
    TransferNumber transfer = 0;
    std::string key;
    ByteCount have;
    ByteCount had;  // when its holders were tried anew last
    std::map<ExecutorId, unsigned> tries{};
    std::optional<Failure> failed{};  // why the last attempt did
  };
  using Key = std::pair<DataId, ExecutorId>;  // the object, and where to
  using Orders = std::map<Key, Order>;
  [[nodiscard]] Orders::iterator find(TransferNumber transfer);
  [[nodiscard]] std::chrono::milliseconds time_to_move(DataId data) const;
  [[nodiscard]] bool end_if_gone(const Key& key);
  void wait_on(const Key& key, Order& order, MonotonicTime now);
  void look_after(const Key& key, Order& order, MonotonicTime now);
  void offer(const Key& key, Order& order, MonotonicTime now);
  [[nodiscard]] std::optional<ExecutorId> sender_for(const Key& key, const Order& order) const;
  [[nodiscard]] bool any_left(const Key& key, const Order& order) const;
  [[nodiscard]] std::size_t sends(const ExecutorId& from) const;
  [[nodiscard]] std::size_t receives(const ExecutorId& to) const;
  void stop_transfer(const Key& key, Order& order);
  void stop_receiver(const Key& key, Order& order, const Failure& why, MonotonicTime now);
  void wait_for_sender(const Key& key, Order& order, MonotonicTime now);
  void try_again(const Key& key, Order& order, const Failure& why, MonotonicTime now);
  void end(const Key& key, std::optional<Failure> why);
  [[nodiscard]] static TransferNumber random_number();

  DataCatalogue& catalogue_;
  Answers answers_;
  Distances distances_;
  Options options_;
  Orders orders_;
  /// What is said of the transfers of a gateway before this one is about none of these.
  TransferNumber newest_ = random_number();
  std::vector<CopyAction> actions_;
  std::vector<CopyEnded> ended_;
  DataDrops drops_;
};

}  // namespace orchid::gateway
