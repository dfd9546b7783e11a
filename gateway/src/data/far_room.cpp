#include "data/far_room.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace orchid::gateway {

namespace {

FarData far_data_of(const ReachableData& data) {
  const auto& holders = data.object.holders;
  const auto holder = std::ranges::find(holders, *data.far, &DataHolder::executor);
  return {.data = data.object.id,
          .executor = *data.far,
          .host = holder == holders.end() ? std::string() : holder->host,
          .tenant = data.object.tenant.uid,
          .bytes = data.object.bytes};
}

}  // namespace

/// Between the two threads; all but `transfer` belongs to the one that has asked.
struct FarRoom::Link {
  FarPorts ports;
  DataId room{};
  bool is_finished = false;  // what it becomes is no more the room's owner's to stop
  std::optional<Result<void>> result{};
  std::function<void(Result<void>)> over{};
  FarTransfers::Number transfer = 0;  // on the control thread

  void became(Result<void> what) {
    if (over)
      std::exchange(over, {})(std::move(what));
    else
      result = std::move(what);
  }
};

void FarRoom::open(const FarPorts& ports, const ReachableData& room, Opened opened) {
  auto link = std::make_shared<Link>(Link{.ports = ports, .room = room.object.id});
  FarTransfers::Handlers handlers{
      .opened =
          [link, opened = std::move(opened)](Result<UniqueFd> pipe) {
            if (!pipe) link->ports.data.abandon(link->room);
            link->ports.here([link, opened, pipe = std::move(pipe)]() mutable {
              if (!pipe) return opened(fail(std::move(pipe.error())));
              opened(std::unique_ptr<FarRoom>(new FarRoom(
                  link, std::make_shared<FarStream>(link->ports.io, std::move(*pipe)))));
            });
          },
      .ended =
          [link](Result<void> result) {
            link->ports.here(
                [link, result = std::move(result)]() mutable { link->became(std::move(result)); });
          }};
  ports.control([link, to = far_data_of(room), handlers = std::move(handlers)]() mutable {
    link->transfer = link->ports.data.far().send(std::move(to), std::move(handlers));
  });
}

FarRoom::~FarRoom() {
  if (link_->is_finished) return;
  stream_->close();
  link_->over = {};
  link_->ports.control([link = link_] {
    link->ports.data.far().stop(link->transfer);
    link->ports.data.abandon(link->room);
  });
}

void FarRoom::when_over(std::function<void(Result<void>)> over) {
  link_->over = std::move(over);
  if (auto result = std::exchange(link_->result, std::nullopt)) link_->became(std::move(*result));
}

void FarRoom::finish() {
  link_->is_finished = true;
  stream_->finish();
}

namespace {

/// Stopped when the answer has been sent, or is not wanted any more.
struct FarFetch {
  FarPorts ports;
  FarTransfers::Number transfer = 0;  // on the control thread
};

std::shared_ptr<const FileBody> body_from(const std::shared_ptr<FarFetch>& fetch, UniqueFd pipe,
                                          std::uint64_t length) {
  auto* body = new FileBody{.loan = {}, .file = std::move(pipe), .length = length, .is_pipe = true};
  return {body, [fetch](const FileBody* owned) {
            delete owned;
            fetch->ports.control([fetch] { fetch->ports.data.far().stop(fetch->transfer); });
          }};
}

}  // namespace

void open_far_body(const FarPorts& ports, const ReachableData& object, std::uint64_t begin,
                   std::uint64_t length,
                   std::function<void(Result<std::shared_ptr<const FileBody>>)> opened) {
  auto fetch = std::make_shared<FarFetch>(FarFetch{.ports = ports});
  FarTransfers::Handlers handlers{
      .opened =
          [fetch, length, opened = std::move(opened)](Result<UniqueFd> pipe) {
            fetch->ports.here([fetch, length, opened, pipe = std::move(pipe)]() mutable {
              if (!pipe) return opened(fail(std::move(pipe.error())));
              opened(body_from(fetch, std::move(*pipe), length));
            });
          },
      .ended = [](const Result<void>& /*the pipe's end says it*/) {}};
  ports.control(
      [fetch, begin, length, from = far_data_of(object), handlers = std::move(handlers)]() mutable {
        fetch->transfer =
            fetch->ports.data.far().fetch(std::move(from), begin, length, std::move(handlers));
      });
}

}  // namespace orchid::gateway
