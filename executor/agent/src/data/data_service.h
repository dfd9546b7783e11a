// data/data_service.h: the data objects of this executor: what the gateway says of them, their
// memory files, and who may have which.
#pragma once
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "data/data_book.h"
#include "data/memory_file.h"
#include "data/slow_file_work.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. It moves descriptors, never bytes.
class DataService {
 public:
  struct Handlers {
    /// What the gateway is to hear.
    std::function<void(const ControlMessage&)> tell;
    /// Workers that have it mapped are to be rid of it.
    std::function<void(const DataId&)> dropped;
  };
  DataService(boost::asio::io_context& io, const DataBook::Options& options);
  /// Before anything else happens; they outlive the service.
  void set_handlers(Handlers handlers) { handlers_ = std::move(handlers); }

  void obey(const MakeData& request);
  void obey(const SealData& request);
  void obey(const DropData& request);
  /// Drops what is over.
  void tick();
  /// What a hello tells of it.
  [[nodiscard]] std::vector<DataHeld> introduce();
  /// A gateway has begun a stream afresh with the last hello: it knows what that told, and nothing
  /// else. Who has ordered the rooms is not there any more, nor who would have heard that one was
  /// sealed since.
  void begin_afresh();
  /// The grant ends: nothing is made from now on, and nothing is kept. Nobody is told: the
  /// executor is about to hang up, and workers are about to end with what they have mapped.
  void end();
  /// Whether the pages of all that was dropped have been given back, as far as that is for us.
  [[nodiscard]] bool settled() const { return slow_.idle(); }

  /// The bytes of an object, for a peer of that user. One who reads has them from now on until
  /// `stop_reading`. Errors: as of `DataBook::open`; `system`.
  struct Opened {
    ByteCount bytes;
    UniqueFd file;
  };
  [[nodiscard]] Result<Opened> open(const LaneOpenData& request, std::uint32_t uid);
  void stop_reading(const DataId& data) { book_.stop_reading(data); }
  /// For a worker of that tenant, which has it from now on until `leave`. Errors: as of
  /// `DataBook::pin`; `system`.
  [[nodiscard]] Result<Opened> take(const DataId& data, std::uint32_t tenant);
  void leave(const DataId& data) { book_.unpin(data); }

  [[nodiscard]] const DataBook& book() const { return book_; }
  [[nodiscard]] DataMemory memory() const { return {book_.budget(), book_.used()}; }

 private:
  void sealed(const DataId& data, const Result<void>& result);
  /// The book has dropped it.
  void forget(const DataId& data);
  void tell(const ControlMessage& message);

  DataBook book_;
  Handlers handlers_;
  std::unordered_map<DataId, MemoryFile> files_;
  std::unordered_set<DataId> introduced_;  // in the last hello
  bool ended_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell results whether we are still here
  SlowFileWork slow_;
};

}  // namespace orchid::executor
