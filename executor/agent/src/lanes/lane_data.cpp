// The data objects of a client's worker, and those whose bytes a peer asks for.
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstddef>
#include <utility>

#include "lanes/lane_session.h"

namespace orchid::executor {
namespace {

/// For what is on disk. Whoever waits for it has a deadline of its own.
constexpr std::chrono::seconds attach_patience{60};
/// Of one lane, that wait for that: what a client asks for again and again is bounded.
constexpr std::size_t most_on_disk = 1024;

}  // namespace

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

/// Only for who may have it is anything read back from disk.
void LaneSession::open_data(const LaneOpenData& message) {
  if (lease_ || !uid_)
    return refuse({ErrorCode::bad_request,
                   "data is opened over a connection of its own, from the executor's host"});
  if (!services_.data.may_open(message, *uid_)) return give_data(message);
  opening_ = true;
  services_.data.prepare(message.data, DataService::patience,
                         [weak = weak_from_this(), message](const Result<void>& there) {
                           const auto self = weak.lock();
                           if (self == nullptr || self->over_) return;
                           if (!there) return self->refuse(there.error());
                           self->give_data(message);
                         });
}

/// Who reads keeps the connection for as long as the bytes are in use: the object stays charged
/// until it goes. A room is charged anyway.
void LaneSession::give_data(const LaneOpenData& message) {
  auto opened = services_.data.open(message, *uid_);
  if (!opened) return refuse(opened.error());
  if (message.access == DataAccess::read) reads_ = message.data;
  send(LaneData{message.data, opened->bytes}, {opened->file.get()});
  if (!reads_) end();
}

/// Nothing is read back for who would not get it.
void LaneSession::attach(const DataId& data) {
  const DataBook& book = services_.data.book();
  if (book.is_on_disk(data) && book.has_for(data, tenant_.uid)) return attach_from_disk(data);
  map_data(data);
}

/// One at a time: others come to the disk in between.
void LaneSession::attach_from_disk(const DataId& data) {
  if (on_disk_.size() >= most_on_disk)
    return not_attached(data, {ErrorCode::no_capacity,
                               "too much data of this lane is being read back from disk; attach "
                               "again"});
  on_disk_.push_back(data);
  if (on_disk_.size() == 1) bring_next_back();
}

void LaneSession::bring_next_back() {
  services_.data.prepare(on_disk_.front(), attach_patience,
                         [weak = weak_from_this()](const Result<void>& there) {
                           const auto self = weak.lock();
                           if (self == nullptr || self->over_) return;
                           const DataId data = self->on_disk_.front();
                           if (there)
                             self->map_data(data);
                           else
                             self->not_attached(data, there.error());
                           self->on_disk_.pop_front();
                           if (self->on_disk_.empty()) return;
                           boost::asio::post(self->services_.io, [weak] {
                             if (const auto later = weak.lock(); later && !later->over_)
                               later->bring_next_back();
                           });
                         });
}

void LaneSession::not_attached(const DataId& data, const Failure& why) {
  send(LaneNotAttached{data, why.code, why.message});
}

/// It may have been asked for more than once, and of another worker, while it was read back.
void LaneSession::map_data(const DataId& data) {
  if (over_) return;
  if (worker_ == nullptr)
    return not_attached(data,
                        {ErrorCode::no_capacity, "the worker is being replaced; attach again"});
  const auto done = [weak = weak_from_this(), data](const Result<ByteCount>& mapped) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    if (mapped)
      self->send(LaneAttached{data, *mapped});
    else
      self->not_attached(data, mapped.error());
  };
  if (worker_->has_data(data, done)) return;
  auto taken = services_.data.take(data, tenant_.uid);
  if (!taken) return not_attached(data, taken.error());
  worker_->map_data({.data = data, .file = taken->file.get(), .bytes = taken->bytes}, done,
                    [&services = services_, data] { services.data.leave(data); });
}

void LaneSession::drop_data(const DataId& data) {
  if (worker_ != nullptr) worker_->unmap_data(data);
}

}  // namespace orchid::executor
