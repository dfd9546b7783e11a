// data/data_service.h: the data objects of this executor: what the gateway says of them, their
// memory files, and who may have which.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/data_book.h"
#include "data/data_durable.h"
#include "data/data_sparing.h"
#include "data/data_spill.h"
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
  /// `spill`: where objects go when others need their memory; empty: nowhere. `durable`: where
  /// those are kept, beyond our end, that are to be: what is there is read now.
  DataService(boost::asio::io_context& io, const DataBook::Options& options,
              std::filesystem::path spill = {}, std::optional<DurableFolder> durable = {});
  /// Before anything else happens; they outlive the service.
  void set_handlers(Handlers handlers) { handlers_ = std::move(handlers); }

  void obey(const MakeData& request);
  void obey(const SealData& request);
  void obey(const DropData& request);
  /// What is sealed is written to a file, too.
  void obey(const FileData& request);
  void obey(const SpareData& request);
  void obey(const DataSpared& answer) { sparing_.obey(answer); }
  void obey(const WishCopies& request) { book_.want_copies(request.data, request.copies); }
  /// Drops what is over.
  void tick();
  /// What a hello tells of it.
  [[nodiscard]] std::vector<DataHeld> introduce();
  /// A gateway has begun a stream afresh with the last hello: it knows what that told, and nothing
  /// else. Who has ordered the rooms is not there any more, nor who would have heard that one was
  /// sealed since.
  void begin_afresh();
  /// The grant ends: nothing is made from now on, and nothing is kept. Nobody is told: the
  /// executor is about to hang up, and workers are about to end with what they have mapped. What
  /// their calls are making goes with them: a call that is spared for a moment is not to lose the
  /// ground under its feet.
  void end();
  /// Everything that was begun is over.
  [[nodiscard]] bool settled() const { return closed() && durable_.idle(); }
  /// Whether the pages of all that was dropped have been given back, as far as that is for us. A
  /// file may still be on its way out.
  [[nodiscard]] bool has_let_go() const { return closed() && durable_.has_let_go(); }
  /// Nothing that nobody is charged for any more is still being closed.
  [[nodiscard]] bool closed() const { return slow_.idle() && spill_.idle(); }

  using Done = DataSpill::Done;
  /// Before a room of a call, or a lease of memory, is made: what others do not need now goes to
  /// disk, and then what there is enough of elsewhere goes, as far as that helps. `done`: at once
  /// when nothing has to go; the room itself may still be refused. Errors: `no_capacity`: writing
  /// takes longer than `within`.
  void prepare_room(std::uint32_t tenant, ByteCount bytes, std::chrono::milliseconds within,
                    Done done);
  /// Before an object is opened, taken or lent: what is on disk is read back. `done`: at once when
  /// it is not there, whatever else it is. Errors: `no_capacity`: it takes longer than `within`,
  /// and goes on; `no_data_memory`, `quota`, `system`.
  void prepare(const DataId& data, std::chrono::milliseconds within, Done done);
  /// Of the gateway's rooms, and of readers, which have five seconds to hear of it.
  static constexpr std::chrono::milliseconds patience{4'000};
  void count(std::map<std::string, std::uint64_t>& counters) const;

  /// Whether it is there for that peer at all.
  [[nodiscard]] bool may_open(const LaneOpenData& request, std::uint32_t uid) const {
    return book_.may_open(request, uid);
  }
  /// The bytes of an object, for a peer of that user. One who reads has them from now on until
  /// `stop_reading`. Errors: as of `DataBook::open`; `system`.
  struct Opened {
    ByteCount bytes;
    UniqueFd file;
  };
  [[nodiscard]] Result<Opened> open(const LaneOpenData& request, std::uint32_t uid);
  void stop_reading(const DataId& data);
  /// For a worker of that tenant, which has it from now on until `leave`. `worker`: as of
  /// `DataBook::pin`. Errors: as of that; `system`.
  [[nodiscard]] Result<Opened> take(const DataId& data, std::uint32_t tenant,
                                    std::optional<std::uint64_t> worker = std::nullopt);
  void leave(const DataId& data);
  /// For a copy elsewhere, which has it until `leave`. Errors: as of `DataBook::pin_for_copy`;
  /// `system`.
  [[nodiscard]] Result<Opened> lend(const DataId& data);
  void keep_digest(const DataId& data, std::string digest) {
    book_.keep_digest(data, std::move(digest));
  }
  /// The room that a copy is written into, by a process that has it until `leave`. Errors: as of
  /// `DataBook::open_for_copy`; `system`.
  [[nodiscard]] Result<Opened> open_for_copy(const DataId& data);
  /// The same of a room that the gateway's bytes are written into, once: as of
  /// `DataBook::open_for_gateway`.
  [[nodiscard]] Result<Opened> open_for_gateway(const DataId& data);

  /// Room for a call of that worker, charged whole: a descriptor to write to and to map. Errors: as
  /// of `DataBook::make`; `lease_ended`, `system`.
  struct Room {
    DataId data;
    UniqueFd file;
  };
  [[nodiscard]] Result<Room> make_in_call(const LeaseTenant& tenant, ByteCount most,
                                          std::uint64_t worker);
  /// One more descriptor of such a room, whose first one was lost on its way. Errors: `conflict`:
  /// it is no room of that worker's any more; `system`.
  [[nodiscard]] Result<Room> open_again(const DataId& data, std::uint64_t worker) const;
  /// Memory for a lease, charged whole, until `discard`: zero pages, whose number cannot change.
  /// Errors: as of `DataBook::make`; `lease_ended`, `system`.
  [[nodiscard]] Result<Room> make_for_lease(const LeaseTenant& tenant, ByteCount bytes);
  /// `done`: now or later, when nobody can change its first `used` bytes any more, and there are no
  /// others. Errors: as of `DataBook::check_seal_in_call`; `conflict` (its writer still has it open
  /// or mapped), `system`.
  struct SealInCall {
    DataId data;
    std::uint64_t worker = 0;
    ByteCount used;
    std::string name;  // "": it has none
  };
  void seal_in_call(SealInCall request, const std::function<void(const Result<void>&)>& done);
  /// All of them, which that worker's call has sealed, or none. The gateway is told that they are
  /// kept. Errors: `data_lost` (one is not there any more), `system`.
  [[nodiscard]] Result<void> publish(const DataAccepted& accepted, std::uint64_t worker);
  /// What is to be seen by nobody. It is charged until its pages have been given back; `done`, if
  /// it is one: then, or at once when there is no such object.
  void discard(const DataId& data, const std::function<void()>& done = {});

  [[nodiscard]] const DataBook& book() const { return book_; }
  /// See `DataSparing::begin`.
  void begin_sparing(bool spares_data, bool resumed) { sparing_.begin(spares_data, resumed); }
  [[nodiscard]] DataMemory memory() const { return {book_.budget(), book_.used()}; }

 private:
  void make(const MakeData& request);
  void refuse(const MakeData& request, const Failure& why);
  [[nodiscard]] DataSpill::Handlers spill_handlers();
  void evicted(const DataId& data);
  [[nodiscard]] Result<void> begin_room(const MakeData& request,
                                        const std::optional<std::uint64_t>& worker);
  void sealed(const DataId& data, const Result<void>& result);
  void adopt_files();
  void write_file(const DataId& data);
  void write_held(DataHeld held, std::function<void(Result<std::string>)> done);
  void begin_filing(const FileData& request);
  void filed(const DataId& data, Result<std::string> digest);
  void refuse_file(const DataId& data, const Failure& why);
  void file_written(const DataId& data, Result<std::string> digest);
  void tell_when_gone(const DataDropped& dropped);
  void file_spoiled(const DataId& data);
  /// Has been pinned for it.
  [[nodiscard]] Result<Opened> open_pinned(const DataId& data, const Result<ByteCount>& bytes);
  [[nodiscard]] Result<Opened> open_to_fill(const DataId& data, const Result<ByteCount>& bytes);
  /// The book has dropped it.
  void forget(const DataId& data);
  /// Somebody whom nobody counts may have it open: it is charged until the kernel says that this is
  /// over.
  void keep(const DataId& data);
  /// The last one that is counted is about to go.
  void keep_if_open(const DataId& data);
  void let_go_if_closed(const DataId& data);
  void close_if_unused(const DataId& data);
  [[nodiscard]] bool is_open_elsewhere(const DataId& data) const;
  void tell(const ControlMessage& message);

  DataBook book_;
  Handlers handlers_;
  std::unordered_map<DataId, MemoryFile> files_;
  std::unordered_map<DataId, MemoryFile> left_;  // dropped, and still in use
  std::unordered_set<DataId> kept_;              // in either, see `keep`; each is one pin
  /// Of the rooms that are being sealed: by which order. An id may come again meanwhile.
  std::unordered_map<DataId, std::uint64_t> seals_;
  std::uint64_t newest_seal_ = 0;
  std::unordered_set<DataId> filing_;      // sealed ones whose file is being written
  std::unordered_set<DataId> introduced_;  // in the last hello
  std::size_t files_ignored_ = 0;          // of durable data, when we began
  bool ended_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell results whether we are still here
  SlowFileWork slow_;
  DataDurable durable_;
  DataSpill spill_;
  DataSparing sparing_;
};

}  // namespace orchid::executor
