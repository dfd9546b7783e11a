// data/far_room.h: bytes on their way into a room at an executor of another host.
#pragma once
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "data/data_service.h"
#include "data/far_stream.h"
#include "foundation/task.h"
#include "http/body.h"

namespace orchid::gateway {

/// The threads on both sides of the question.
struct FarPorts {
  DataService& data;  // on the control thread
  boost::asio::io_context& io;
  Poster control;
  Poster here;  // the thread of `io`
};

/// A way into a room, on the thread that has asked for it. The transfer is stopped, and its room
/// abandoned, when this goes before all is there.
class FarRoom {
 public:
  using Opened = std::function<void(Result<std::unique_ptr<FarRoom>>)>;
  /// `opened` is called once, here. Errors: the room has been abandoned.
  static void open(const FarPorts& ports, const ReachableData& room, Opened opened);
  FarRoom(const FarRoom&) = delete;
  FarRoom& operator=(const FarRoom&) = delete;
  ~FarRoom();

  [[nodiscard]] FarStream& stream() { return *stream_; }
  /// Once: all is in the room, or cannot be. Perhaps before `finish`, when it fails.
  void when_over(std::function<void(Result<void>)> over);
  /// All bytes were given to the stream. It may be destroyed then.
  void finish();

 private:
  struct Link;
  FarRoom(std::shared_ptr<Link> link, std::shared_ptr<FarStream> stream)
      : link_(std::move(link)), stream_(std::move(stream)) {}
  std::shared_ptr<Link> link_;
  std::shared_ptr<FarStream> stream_;
};

/// A request's body on its way there.
class FarRoomWriter final : public BodySink {
 public:
  explicit FarRoomWriter(std::unique_ptr<FarRoom> room) : room_(std::move(room)) {}
  [[nodiscard]] Result<void> take(std::span<const std::byte> bytes) override {
    room_->stream().take(bytes);
    return {};
  }
  [[nodiscard]] bool is_full() const override { return room_->stream().is_full(); }
  void when_not_full(Task then) override { room_->stream().when_not_full(std::move(then)); }
  void finish() override { room_->finish(); }

 private:
  std::unique_ptr<FarRoom> room_;
};

/// A part of an object on another host. Errors: of `FarTransfers::fetch`.
void open_far_body(const FarPorts& ports, const ReachableData& object, std::uint64_t begin,
                   std::uint64_t length,
                   std::function<void(Result<std::shared_ptr<const FileBody>>)> opened);

}  // namespace orchid::gateway
