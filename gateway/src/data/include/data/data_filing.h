// data/data_filing.h: objects that are to be kept as files although they were made without one, as
// those that calls make: an executor with a directory writes them (docs/PROTOCOL.md §2, "Files").
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "data/data_catalogue.h"
#include "data/data_copy_service.h"
#include "foundation/result.h"
#include "hosts/executor_messages.h"
#include "leases/broker_loop.h"

namespace orchid::gateway {

/// Belongs to the control thread, as all its functions do.
class DataFiling {
 public:
  struct Parts {
    BrokerLoop& loop;
    const WorkerBroker& broker;
    ExecutorMessages& messages;
    std::function<void(const ExecutorId&, ControlMessage)> send;
    DataCatalogue& catalogue;
    DataCopyService& copies;
  };
  using Done = std::function<void(Result<DataObject>)>;
  /// Everything in `parts` outlives the control thread. `answer_within`: of an executor, in
  /// addition to the time that writing takes.
  DataFiling(Parts parts, std::chrono::milliseconds answer_within);

  /// Of a sealed object: when its file is on a disk. Holders with a directory are asked one after
  /// the other, then it is copied to an executor that has one. `expires_in`: it lives so long from
  /// then on at least. Errors: `unsupported` (nobody keeps files), `data_lost` (it goes meanwhile),
  /// `unreachable`, and what the last one has refused it with: `quota`, `disk_full`, ….
  void ask(const DataObject& object, std::optional<std::chrono::milliseconds> expires_in,
           Done done);
  void tick(MonotonicTime now);

 private:
  struct Asked {
    std::set<ExecutorId> asked;
    std::optional<ExecutorId> of;  // now
    bool is_copied = false;        // to there, first
    MonotonicTime due;
    std::optional<std::chrono::milliseconds> expires_in;
    std::optional<Failure> why;  // of the last one
    std::vector<Done> waiting;
  };
  void ask_next(DataId id);
  [[nodiscard]] const Executor* keeper_among_holders(const DataObject& object,
                                                     const Asked& asked) const;
  [[nodiscard]] bool copy_to_keeper(const DataObject& object, Asked& asked);
  void send_to(const DataObject& object, Asked& asked);
  void finish(DataId id, const Result<DataObject>& result);
  void hear(const ExecutorId& executor, const DataFiled& message);
  void hear(const ExecutorId& executor, const DataNotFiled& message);
  /// False: it is in order, or gets on.
  [[nodiscard]] bool has_failed(DataId id, Asked& asked, MonotonicTime now);

  Parts parts_;
  std::chrono::milliseconds answer_within_;
  std::map<DataId, Asked> asked_;
};

}  // namespace orchid::gateway
