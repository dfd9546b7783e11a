// data/far_transfers.h: bytes of data objects between this gateway and executors of other hosts:
// which executor is asked for which transfer, and what becomes of it (docs/decisions/0048).
//
//   wanted ─► waiting ─► asked ─► meeting ─► moving ─► [closing ─►] over
//               a place    the executor         │ to an executor: until that says that it has all
//               is free    listens              └─ any of them fails ─► over
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "data/data_object.h"
#include "data/far_end.h"
#include "foundation/metrics_text.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "hosts/host_book.h"
#include "leases/broker_loop.h"
#include "protocol/control_messages.h"

namespace orchid::gateway {

/// An object, or a room, at an executor of another host.
struct FarData {
  DataId data{};
  ExecutorId executor;
  std::string host;  // its name
  uid_t tenant = 0;
  ByteCount bytes{};
};

/// Belongs to the control thread, as all its functions do. It moves no bytes.
class FarTransfers {
 public:
  struct Parts {
    BrokerLoop& loop;
    const WorkerBroker& broker;
    std::function<void(const ExecutorId&, ControlMessage)> send;
    StartFarEnd start{};  // empty: nothing is moved
  };
  struct Options {
    std::size_t most = 32;              // transfers at the same time; others wait
    std::size_t most_of_executor = 16;  // likewise
    std::size_t most_of_tenant = 8;     // likewise
    std::size_t most_waiting = 256;
    std::size_t most_waiting_of_tenant = 64;
    std::chrono::milliseconds waits_for{20'000};      // a place
    std::chrono::milliseconds answer_within{10'000};  // of an executor
    std::chrono::milliseconds meet_within{20'000};    // of the two processes
    std::chrono::milliseconds has_all_within{1'000};  // when its process has gone before ours
    std::chrono::milliseconds out_of_reach_for{60'000};
    std::chrono::milliseconds longest{86'400'000};  // for a reader to take all
    std::chrono::milliseconds reader_patience{600'000};
  };
  FarTransfers(Parts parts, Options options);

  struct Handlers {
    /// Our end of the pipe, non-blocking. Once. Errors: `no_capacity`, `unreachable`, and what the
    /// executor, or the process, refuses with. It is over then.
    std::function<void(Result<UniqueFd>)> opened;
    /// Once, after it was opened. To an executor: all is in the room, and nobody writes there any
    /// more. From one: all is in the pipe. Errors: `unreachable`, `timed_out`, …
    std::function<void(Result<void>)> ended;
  };
  using Number = std::uint64_t;
  /// Into a room. No handler is called from within.
  Number send(FarData to, Handlers handlers);
  /// A part of a sealed object.
  Number fetch(FarData from, std::uint64_t begin, std::uint64_t length, Handlers handlers);
  /// Nobody waits for it any more, and no handler is called. Nothing when it is over.
  void stop(Number transfer);

  /// Whether data may be moved to and from it so.
  [[nodiscard]] bool reaches(const Executor& executor) const;
  /// The last one that was to be met could not be, a moment ago: others are better.
  [[nodiscard]] bool is_out_of_reach(const ExecutorId& executor) const;

  // What executors say. False: it is about no transfer of these.
  bool hear(const ExecutorId& executor, const DataOffered& message);
  bool hear(const ExecutorId& executor, const DataNotOffered& message);
  bool hear(const ExecutorId& executor, const DataFetched& message);
  bool hear(const ExecutorId& executor, const DataNotFetched& message);
  /// With a fresh stream: it has ended all its transfers.
  void executor_joined(const ExecutorId& executor);
  void tick(MonotonicTime now);
  void add_metrics(MetricsText& text) const;

 private:
  enum class State : std::uint8_t { waiting, asked, meeting, moving, closing };
  struct Transfer {
    FarData data;
    bool is_fetch = false;
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
    Handlers handlers;
    State state = State::waiting;
    MonotonicTime due{};
    std::string key{};  // never logged
    UniqueFd pipe{};    // our end, until it is handed out
    std::unique_ptr<FarEnd> end{};
    bool has_all = false;          // it said so before our end has said that they have met
    std::optional<Failure> why{};  // our end has failed, and it may have all
  };
  using Transfers = std::map<Number, Transfer>;
  Number want(FarData data, Transfer transfer);
  void ask_waiting();
  [[nodiscard]] bool has_place(const Transfer& transfer) const;
  void ask(Number number, Transfer& transfer);
  [[nodiscard]] Transfers::iterator find(const ExecutorId& executor, Number number,
                                         const DataId& data);
  [[nodiscard]] Result<void> meet(Number number, Transfer& transfer, const std::string& address);
  void met(Number number);
  void end_ended(Number number, const std::optional<Failure>& why);
  void end_failed(Transfers::iterator found, const Failure& why);
  /// `told`: its executor knows that it is over.
  void over(Transfers::iterator transfer, Result<void> result, bool told);
  void post_over(Number number, Failure why);
  [[nodiscard]] std::chrono::milliseconds time_for(const Transfer& transfer) const;

  Parts parts_;
  Options options_;
  Transfers transfers_;  // by number, so in the order in which they were wanted
  Number newest_;
  std::map<ExecutorId, MonotonicTime> out_of_reach_;  // until when others come first
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t bytes_to_ = 0;
  std::uint64_t bytes_from_ = 0;
};

}  // namespace orchid::gateway
