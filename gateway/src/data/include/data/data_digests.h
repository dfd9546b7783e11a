// data/data_digests.h: the digests of data objects, which an executor that has one makes when
// somebody asks for it (docs/PROTOCOL.md §2, "Digests").
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "data/data_catalogue.h"
#include "foundation/result.h"
#include "hosts/executor_messages.h"
#include "leases/broker_loop.h"

namespace orchid::gateway {

/// Belongs to the control thread, as all its functions do.
class DataDigests {
 public:
  struct Parts {
    BrokerLoop& loop;
    const WorkerBroker& broker;
    ExecutorMessages& messages;
    std::function<void(const ExecutorId&, ControlMessage)> send;
    DataCatalogue& catalogue;
  };
  using Done = std::function<void(Result<DataObject>)>;
  /// Everything in `parts` outlives the control thread. `answer_within`: of an executor, in
  /// addition to the time that reading takes.
  DataDigests(Parts parts, std::chrono::milliseconds answer_within);

  /// Of a sealed object, which has its digest then. Holders are asked one after the other. Errors:
  /// `data_lost` (it goes meanwhile), `unreachable` (no holder can be asked, or none answers), and
  /// what the last one has refused it with.
  void ask(const DataObject& object, Done done);
  void tick(MonotonicTime now);

 private:
  struct Asked {
    std::set<ExecutorId> asked;
    std::optional<ExecutorId> of;  // now
    MonotonicTime due;
    Failure why{ErrorCode::unreachable,
                "no executor that has the data and makes digests is connected: try again"};
    std::vector<Done> waiting;
  };
  void ask_next(DataId id);
  void hear(const ExecutorId& executor, const DataDigest& message);
  void hear(const ExecutorId& executor, const DataNotDigested& message);

  Parts parts_;
  std::chrono::milliseconds answer_within_;
  std::map<DataId, Asked> asked_;
};

}  // namespace orchid::gateway
