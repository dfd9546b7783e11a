#include "orchid/stream.h"

#include <sched.h>

#include <utility>

#include "foundation/files.h"
#include "http/problem.h"
#include "lease/lane_stream.h"
#include "lease/lease_access.h"
#include "protocol/limits.h"

namespace orchid {
namespace sdk {
namespace {

static_assert(Stream::largest_chunk == limits::chunk_size.value);

/// Drives the stream's lane. Nobody else does so for long.
class Driving {
 public:
  explicit Driving(WorkerLane& lane) : lane_(lane) {
    while (!lane_.try_drive()) {
      lane_.poke();  // who drives it looks up, and leaves
      ::sched_yield();
    }
  }
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
  ~Driving() { lane_.leave(); }

 private:
  WorkerLane& lane_;
};

}  // namespace

/// What a Stream holds; used by the Stream's thread, apart from `cancel`.
class StreamOwner {
 public:
  StreamOwner(std::shared_ptr<LeaseCore> core, std::shared_ptr<LaneStream> stream, std::string name)
      : core_(std::move(core)), stream_(std::move(stream)), name_(std::move(name)) {}
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;
  ~StreamOwner();

  void begin(const std::stop_token& stop);
  [[nodiscard]] bool write(const StreamEntry& entry, bool waits);
  void finish();
  [[nodiscard]] std::optional<std::span<const std::byte>> read(bool waits);
  [[nodiscard]] std::unique_ptr<LaneRoom> allocate(std::size_t size);
  [[nodiscard]] bool done() const { return stream_->call.done(); }
  [[nodiscard]] bool ended() const {
    return done() && stream_->call.error == nullptr && stream_->unread.empty();
  }
  [[nodiscard]] std::chrono::nanoseconds run_time() const {
    return done() ? stream_->call.run_time : std::chrono::nanoseconds{0};
  }
  void cancel() { core_->cancel(stream_->call); }

 private:
  enum class Next : std::uint8_t { sent, wait, full, over };
  [[nodiscard]] WorkerLane& lane() const { return *stream_->call.lane.load(); }
  [[nodiscard]] Next try_send(const StreamEntry& entry);
  void ask_for_output();
  void await_output(bool waits);
  void take_unread();
  void stop_reading();
  void check_error() const;
  [[noreturn]] void refuse(ErrorKind kind, std::string message, std::string hint) const;

  std::shared_ptr<LeaseCore> core_;     // shared with the Lease
  std::shared_ptr<LaneStream> stream_;  // shared with its lane, which may go on with it
  std::string name_;
  std::optional<transport::LaneResponse> reading_;  // what the last read returned
  /// Last: it must not run into what is destroyed.
  std::optional<std::stop_callback<std::function<void()>>> stop_;
};

void StreamOwner::begin(const std::stop_token& stop) {
  if (stop.stop_possible()) stop_.emplace(stop, [this] { cancel(); });
  core_->begin(*stream_);
  check_error();
}

StreamOwner::~StreamOwner() {
  stop_.reset();
  stop_reading();
  if (!done() && stream_->call.lane.load() != nullptr) {
    const Driving driving(lane());
    stream_->abandoned = true;
    if (!done()) {
      stream_->call.cancel_wanted.store(true);
      lane().handle_events();
    }
  }
  for (const transport::LaneResponse& response : stream_->unread) stream_->end->give_back(response);
  stream_->unread.clear();
}

void StreamOwner::stop_reading() {
  if (reading_) stream_->end->give_back(*reading_);
  reading_.reset();
}

void StreamOwner::refuse(ErrorKind kind, std::string message, std::string hint) const {
  throw Error(
      {.kind = kind, .message = std::move(message), .hint = std::move(hint), .function = name_});
}

/// What ended it, each time that somebody asks.
void StreamOwner::check_error() const {
  if (!done() || stream_->call.error == nullptr) return;
  Error::Details details = *stream_->call.error;
  details.function = name_;
  throw Error(std::move(details));
}

/// While the lane is driven.
StreamOwner::Next StreamOwner::try_send(const StreamEntry& entry) {
  lane().receive_chunks(*stream_);
  if (done()) return Next::over;
  if (stream_->first_entry) return Next::wait;
  const bool is_chunk = entry.kind == RequestKind::more && !entry.last;
  if (is_chunk && stream_->in_flight + stream_->unread.size() >= Stream::window)
    return stream_->in_flight == 0 ? Next::full : Next::wait;
  const auto sent = lane().send_entry(*stream_, entry);
  if (sent) return Next::sent;
  if (done()) return Next::over;
  if (sent.error().code == ErrorCode::too_large)
    refuse(ErrorKind::too_large, sent.error().message, "write smaller chunks");
  if (sent.error().code == ErrorCode::no_capacity && stream_->in_flight == 0)
    refuse(ErrorKind::no_capacity, "this worker's lane has no room: " + sent.error().message,
           "destroy Buffers and Outputs that you hold of this worker");
  return Next::wait;
}

bool StreamOwner::write(const StreamEntry& entry, bool waits) {
  if (stream_->input_ended)
    refuse(ErrorKind::bad_request, "a chunk was written after the end of the input", "");
  if (entry.chunk.size() > Stream::largest_chunk)
    refuse(ErrorKind::too_large,
           "a chunk of " + to_string(ByteCount{entry.chunk.size()}) + " is over the limit of " +
               to_string(limits::chunk_size),
           "write smaller chunks");
  Next next = done() ? Next::over : Next::wait;
  if (next != Next::over) {
    const Driving driving(lane());
    next = try_send(entry);
    while (next == Next::wait && waits) {
      lane().drive_for(*stream_);
      next = try_send(entry);
    }
  }
  if (next == Next::full && waits)
    refuse(ErrorKind::no_capacity,
           std::to_string(Stream::window) + " chunks of output wait to be read",
           "read before you write more");
  if (next == Next::sent) return true;
  check_error();
  return false;
}

void StreamOwner::finish() {
  if (stream_->input_ended || done()) return;
  const Driving driving(lane());
  Next next = try_send({.last = true});
  while (next == Next::wait) {
    lane().drive_for(*stream_);
    next = try_send({.last = true});
  }
  stream_->input_ended = true;
}

/// Entries that bring nothing, for what the function has to say after its input.
void StreamOwner::ask_for_output() {
  if (!stream_->input_ended || stream_->cancel_told || stream_->first_entry) return;
  while (!done() && stream_->in_flight < stream_->credit &&
         stream_->in_flight + stream_->unread.size() < Stream::window)
    if (!lane().send_entry(*stream_, {})) return;
}

/// While the lane is driven: until there is something to read, or nothing is to come.
void StreamOwner::await_output(bool waits) {
  while (true) {
    lane().receive_chunks(*stream_);
    ask_for_output();
    if (done() || !stream_->unread.empty() || !waits) return;
    if (stream_->in_flight == 0 && !stream_->input_ended && !stream_->first_entry) return;
    lane().drive_for(*stream_);
  }
}

std::optional<std::span<const std::byte>> StreamOwner::read(bool waits) {
  stop_reading();
  if (!done()) {
    const Driving driving(lane());
    await_output(waits);
    take_unread();
  } else {
    take_unread();
  }
  if (reading_) return reading_->payload;
  check_error();
  return std::nullopt;
}

/// While the lane is driven, or after the end.
void StreamOwner::take_unread() {
  if (stream_->unread.empty()) return;
  reading_ = stream_->unread.front();
  stream_->unread.pop_front();
}

std::unique_ptr<LaneRoom> StreamOwner::allocate(std::size_t size) {
  check_error();
  const Driving driving(lane());
  if (stream_->end->gone()) refuse(ErrorKind::worker_lost, "the stream's worker has gone", "");
  auto room = lane().allocate(size);
  if (!room)
    refuse(kind_of(room.error().code), room.error().message,
           "write bytes of your own: they are copied");
  return std::move(*room);
}

}  // namespace sdk

Stream LeasedFunction::stream(const CallOptions& options) const {
  if (!options.data.empty())
    throw Error({.kind = ErrorKind::bad_request,
                 .message = "a stream is given no data objects",
                 .hint = "let the function open them by name, or call it without a stream",
                 .function = name_});
  auto stream = std::make_shared<sdk::LaneStream>();
  stream->code = code_;
  sdk::LeaseAccess::ask(stream->call, *this, options);
  stream->call.at_most_once = true;
  stream->call.stream = stream.get();
  auto owner = std::make_unique<sdk::StreamOwner>(core_, std::move(stream), name_);
  owner->begin(options.stop);
  return Stream(std::move(owner));
}

Stream::Stream(std::unique_ptr<sdk::StreamOwner> owner) : owner_(std::move(owner)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

bool Stream::write(std::span<const std::byte> chunk) {
  return owner_->write({.chunk = chunk}, true);
}
bool Stream::write(std::string_view chunk) { return write(as_bytes(chunk)); }
bool Stream::write(Buffer chunk) {
  const auto home = sdk::LeaseAccess::room_of(chunk);
  if (home == nullptr) return write(std::span<const std::byte>{});
  return owner_->write({.chunk = home->bytes, .home = home.get()}, true);
}
bool Stream::try_write(std::span<const std::byte> chunk) {
  return owner_->write({.chunk = chunk}, false);
}
bool Stream::try_write(std::string_view chunk) { return try_write(as_bytes(chunk)); }
Buffer Stream::buffer(std::size_t size) { return sdk::LeaseAccess::buffer(owner_->allocate(size)); }
void Stream::finish() { owner_->finish(); }
std::optional<std::span<const std::byte>> Stream::read() { return owner_->read(true); }
std::optional<std::span<const std::byte>> Stream::try_read() { return owner_->read(false); }
bool Stream::ended() const { return owner_->ended(); }
std::chrono::nanoseconds Stream::run_time() const { return owner_->run_time(); }
void Stream::cancel() { owner_->cancel(); }

}  // namespace orchid
