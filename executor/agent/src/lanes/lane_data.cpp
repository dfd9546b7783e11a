// The data objects of a client's worker, and those whose bytes a peer asks for.
#include <utility>

#include "lanes/lane_session.h"

namespace orchid::executor {

/// False: it is about something else.
bool LaneSession::take_data_message(const LaneMessage& message) {
  if (const auto* wanted = std::get_if<LaneOpenData>(&message)) {
    open_data(*wanted);
    return true;
  }
  if (!lease_) return false;
  if (const auto* given = std::get_if<LaneAttach>(&message)) {
    for (const DataId& data : given->data) attach(data);
    return true;
  }
  if (const auto* gone = std::get_if<LaneDetach>(&message)) {
    for (const DataId& data : gone->data) drop_data(data);
    return true;
  }
  return false;
}

/// Who reads keeps the connection for as long as the bytes are in use: the object stays charged
/// until it goes. A room is charged anyway.
void LaneSession::open_data(const LaneOpenData& message) {
  if (lease_ || !uid_)
    return refuse({ErrorCode::bad_request,
                   "data is opened over a connection of its own, from the executor's host"});
  auto opened = services_.data.open(message, *uid_);
  if (!opened) return refuse(opened.error());
  if (message.access == DataAccess::read) reads_ = message.data;
  send(LaneData{message.data, opened->bytes}, {opened->file.get()});
  if (!reads_) end();
}

void LaneSession::attach(const DataId& data) {
  const auto done = [weak = weak_from_this(), data](const Result<ByteCount>& mapped) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    if (mapped)
      self->send(LaneAttached{data, *mapped});
    else
      self->send(LaneNotAttached{data, mapped.error().code, mapped.error().message});
  };
  if (over_) return;
  if (worker_ == nullptr)
    return done(fail(ErrorCode::no_capacity, "the worker is being replaced; attach again"));
  if (worker_->has_data(data, done)) return;
  auto taken = services_.data.take(data, tenant_.uid);
  if (!taken) return done(fail(taken.error()));
  worker_->map_data({.data = data, .file = taken->file.get(), .bytes = taken->bytes}, done,
                    [&services = services_, data] { services.data.leave(data); });
}

void LaneSession::drop_data(const DataId& data) {
  if (worker_ != nullptr) worker_->unmap_data(data);
}

}  // namespace orchid::executor
