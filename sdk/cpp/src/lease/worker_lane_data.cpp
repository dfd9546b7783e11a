// The data objects that calls are given: the worker maps them before its first call with them.
#include <algorithm>
#include <utility>

#include "http/problem.h"
#include "lane_client/call_with_data.h"
#include "lease/worker_lane.h"
#include "protocol/data_table.h"

namespace orchid::sdk {
namespace {

/// A call waits so long for a worker of a host with most of its data, before that is brought to
/// another.
constexpr std::chrono::milliseconds patience_with_holders{20};
/// So often an executor is asked for what it has not, and is to get.
constexpr std::chrono::milliseconds ask_again_after{50};

}  // namespace

/// Of a call that waits; under the lock of the board. Notes what is to be asked for. Others go
/// before a call whose data is on its way.
Turn WorkerLane::turn_in_queue(DirectCall& call) {
  if (has_data(call)) return turn_given_data(call);
  const Turn turn = turn_given_data(call);
  if (turn == Turn::now) call.waits_for_data = true;
  // A worker that is busy maps it between two calls: a stream of short ones may never end.
  if (turn == Turn::never || wanted_ != nullptr) return Turn::never;
  const MonotonicTime now = std::chrono::steady_clock::now();
  const bool asks = std::ranges::any_of(call.data->objects, [&](const auto& object) {
    return !attached_.knows(object->id) && may_ask_for(call, *object, now);
  });
  if (asks) wanted_ = call.data;
  return Turn::never;
}

bool WorkerLane::may_ask_for(const DirectCall& call, const LeasedObject& object,
                             MonotonicTime now) const {
  const auto refused = refused_.find(object.id);
  if (refused != refused_.end() && now < refused->second) return false;
  const auto& nearest = call.data->nearest;
  const bool is_near = std::ranges::find(nearest, worker_.node) != nearest.end();
  return is_near || now - (call.due - call.deadline) >= patience_with_holders;
}

/// Together: the worker maps what it is asked for one after the other.
void WorkerLane::attach_wanted() {
  if (wanted_ == nullptr) return;
  const auto objects = std::exchange(wanted_, nullptr);
  const MonotonicTime now = std::chrono::steady_clock::now();
  std::vector<DataId> unknown = attached_.ask(objects->ids, now);
  if (unknown.empty()) return;
  for (const DataId& id : unknown) refused_.erase(id);
  if (socket_ && socket_->send(encode(LaneAttach{unknown}), {})) return;
  for (const DataId& id : unknown) {
    (void)attached_.not_attached(id);
    refused_[id] = now + ask_again_after;
  }
}

void WorkerLane::hear(const LaneAttached& message, Files& /*files*/) {
  if (attached_.attached(message.data) && !attached_.is_waiting()) pump();
}

void WorkerLane::hear(const LaneNotAttached& message, Files& /*files*/) {
  if (!attached_.not_attached(message.data)) return;
  refused_[message.data] = std::chrono::steady_clock::now() + ask_again_after;
  board_.watch_closely();  // so that it is asked again
  if (message.code == ErrorCode::data_lost) return board_.data_missing(message.data, worker_.node);
  board_.data_refused(message.data,
                      {.kind = kind_of(message.code),
                       .message = "the worker cannot be given it: " + message.message,
                       .node = worker_.node},
                      lane_client::is_transient(message.code));
}

Result<std::uint64_t> WorkerLane::send_with_data(const DirectCall& call,
                                                 const transport::LaneCall& told) {
  const std::size_t table = data_table_bytes(call.data->ids.size(), call.input.size());
  const std::size_t largest = largest_input_.load(std::memory_order_relaxed);
  if (table + call.input.size() > largest)
    return fail(ErrorCode::too_large, "the input and the table of its data are over the limit of " +
                                          to_string(ByteCount{largest}));
  auto sent = lane_client::send_with_data(*end_->client, told, call.data->ids);
  // It has all of them, and they were used now.
  if (sent) (void)attached_.ask(call.data->ids, std::chrono::steady_clock::now());
  return sent;
}

/// It has not run: an object was unmapped while the call was on its way. It is asked for again,
/// and if it is gone, that ends the call.
void WorkerLane::data_unmapped(DirectCall& call, const transport::LaneResponse& response) {
  end_->client->release(response);
  if (call.data == nullptr) {
    finish_with(call, ErrorKind::function_crashed,
                lane_client::broken_rules("its worker wants data that no call was to be given"));
    return lane_failed({ErrorCode::bad_request, "the worker wants data that nobody named"});
  }
  attached_.forget(call.data->ids);
  if (lane_client::runs_again_without_data(call.history)) return board_.put_back(call);
  finish_with(call, ErrorKind::worker_lost,
              "its workers lose the data that it is given again and again");
}

void WorkerLane::detach_unused(MonotonicTime before) {
  if (!conversation_.is_ready()) return;
  for (LaneDetach& message : lane_client::detach_messages(attached_.take_unused(before)))
    tell(std::move(message));
}

}  // namespace orchid::sdk
