#include "data/data_keeper.h"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "data/data_documents.h"
#include "data/data_opener.h"
#include "data/far_room.h"
#include "data/far_stream.h"
#include "data/room_writer.h"
#include "tenants/peer_identity.h"

namespace orchid::gateway {
namespace {

using Done = std::function<void(Result<KeptOutput>)>;

/// Longer than a gateway takes to hear from its executors.
constexpr std::chrono::seconds longest_wait{10};
constexpr std::chrono::milliseconds between_tries{250};

/// One output, from the question for a room to its seal: each step holds it until the next one. On
/// its HTTP thread, but for what is asked of the control thread.
class Keeping : public std::enable_shared_from_this<Keeping> {
 public:
  Keeping(std::shared_ptr<const DataKeeperParts> parts, OutputToKeep output, Done done)
      : parts_(std::move(parts)),
        output_(std::move(output)),
        done_(std::move(done)),
        pause_(parts_->io) {}

  void begin() {
    DataService::NewData wanted{
        .tenant = {.uid = output_.tenant, .name = known_user_name(output_.tenant)},
        .bytes = ByteCount{output_.bytes.bytes.size()},
        .name = output_.name};
    ask([self = shared_from_this(), wanted = std::move(wanted)](DataService& data) mutable {
      data.make(std::move(wanted), self->back(&Keeping::open));
    });
  }

 private:
  using Step = void (Keeping::*)(Result<ReachableData>);

  template <typename Question>
  void ask(Question question) {
    parts_->control(
        [&data = parts_->data, question = std::move(question)]() mutable { question(data); });
  }
  /// For the control thread: the step is taken here.
  [[nodiscard]] DataService::Done<ReachableData> back(Step step) {
    return [self = shared_from_this(), step](Result<ReachableData> result) {
      self->parts_->here([self, step, result = std::move(result)]() mutable {
        ((*self).*step)(std::move(result));
      });
    };
  }

  void open(Result<ReachableData> room) {
    // After a start nothing is put under a name for some seconds; the call need not fail for that.
    if (!room && room.error().code == ErrorCode::unreachable &&
        std::chrono::steady_clock::now() < give_up_)
      return begin_again();
    if (!room) return end(fail(std::move(room.error())));
    room_ = room->object.id;
    if (room->far) return open_far(*room);
    open_data(
        parts_->io, room->lane_socket,
        {.data = room_, .secret = std::move(room->object.secret), .access = DataAccess::write},
        [self = shared_from_this()](Result<OpenedData> file) { self->write(std::move(file)); });
  }

  /// Its bytes stay with us until they are there.
  void open_far(const ReachableData& room) {
    const FarPorts ports{
        .data = parts_->data, .io = parts_->io, .control = parts_->control, .here = parts_->here};
    FarRoom::open(ports, room, [self = shared_from_this()](Result<std::unique_ptr<FarRoom>> way) {
      if (!way) return self->end(fail(std::move(way.error())));
      // What is over holds us: so we hold no more than what stops the stream.
      const auto stream = (*way)->stream().shared_from_this();
      self->stream_ = stream;
      stream->take_in_place(self->output_.bytes.bytes);
      (*way)->finish();
      (*way)->when_over([self](Result<void> moved) { self->sent(moved); });
    });
  }

  void sent(const Result<void>& moved) {
    if (const auto stream = stream_.lock()) stream->close();
    output_.bytes = {};
    if (moved)
      return ask([self = shared_from_this()](DataService& data) {
        data.seal(self->room_, self->back(&Keeping::finish));
      });
    ask([room = room_](DataService& data) { data.abandon(room); });
    end(fail(moved.error()));
  }

  void begin_again() {
    pause_.expires_after(between_tries);
    pause_.async_wait([self = shared_from_this()](const boost::system::error_code&) {
      self->begin();  // when the thread ends the answer says so
    });
  }

  void write(Result<OpenedData> opened) {
    const auto abandon = [self = shared_from_this()] {
      self->ask([room = self->room_](DataService& data) { data.abandon(room); });
    };
    if (!opened) {
      abandon();
      return end(fail(std::move(opened.error())));
    }
    const std::span<const std::byte> bytes = output_.bytes.bytes;
    RoomWriter writer(
        std::move(opened->file), ByteCount{bytes.size()},
        [self = shared_from_this()] {
          self->ask(
              [self](DataService& data) { data.seal(self->room_, self->back(&Keeping::finish)); });
        },
        abandon, parts_->closing);
    if (auto written = writer.take(bytes); !written) return end(fail(std::move(written.error())));
    output_.bytes = {};
    writer.finish();
  }

  void finish(Result<ReachableData> sealed) {
    if (!sealed) return end(fail(std::move(sealed.error())));
    const DataObject& object = sealed->object;
    end(KeptOutput{.id = to_string(object.id),
                   .label = label_of(object),
                   .document = data_json(object, moment_of(parts_->clock))});
  }

  /// Whoever lets go of this last may be another thread, on which no lane's buffer is given back.
  void end(Result<KeptOutput> result) {
    output_.bytes = {};
    std::exchange(done_, {})(std::move(result));
  }

  std::shared_ptr<const DataKeeperParts> parts_;  // of all outputs of this thread
  OutputToKeep output_;
  Done done_;
  DataId room_;
  std::weak_ptr<FarStream> stream_;  // while its bytes are on their way to another host
  boost::asio::steady_timer pause_;
  const std::chrono::steady_clock::time_point give_up_ =
      std::chrono::steady_clock::now() + longest_wait;
};

}  // namespace

OutputKeeper make_output_keeper(DataKeeperParts parts) {
  return [parts = std::make_shared<const DataKeeperParts>(std::move(parts))](OutputToKeep output,
                                                                             Done done) {
    std::make_shared<Keeping>(parts, std::move(output), std::move(done))->begin();
  };
}

}  // namespace orchid::gateway
