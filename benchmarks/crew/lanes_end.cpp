// Orchid's local lanes as they are, one from each member to each other one: each step is a call,
// and is answered, with nothing, to whoever sent it.
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "crew/chase_end.h"
#include "crew/moved_call.h"
#include "transport/local_lane.h"

namespace orchid::bench {
namespace {

using transport::LaneDescriptors;
using transport::LocalLaneClient;
using transport::LocalLaneWorker;

class LanesEnd final : public ChaseEnd {
 public:
  explicit LanesEnd(const ChaseSetting& setting)
      : self_(setting.self), count_(setting.processes), table_(count_ - 1), runner_(&table_) {}

  Result<void> attach(const ChaseSetting& setting) {
    for (unsigned peer = 0; peer < count_; ++peer) {
      if (peer == self_) continue;
      auto out = LocalLaneClient::attach(lane_of(setting, self_, peer));
      if (!out) return fail(std::move(out.error()));
      auto in = LocalLaneWorker::attach(lane_of(setting, peer, self_));
      if (!in) return fail(std::move(in.error()));
      out_.push_back(std::move(*out));
      in_.push_back(std::move(*in));
    }
    return {};
  }

  bool look() override {
    bool worked = false;
    for (LocalLaneWorker& lane : in_)
      while (take_one(lane)) worked = true;
    for (LocalLaneClient& lane : out_)
      while (take_answer(lane)) worked = true;
    return worked;
  }
  void begin(const ChaseRequest& request) override {
    std::array<std::byte, inline_room> bytes;
    std::memcpy(bytes.data(), &request, sizeof(request));
    send(ChaseTable::owner(request.address), first_header(request), bytes);
  }
  bool prepare_to_sleep() override {
    bool idle = true;
    for (LocalLaneWorker& lane : in_) idle = lane.prepare_to_sleep() && idle;
    return idle;
  }
  void finish_sleep() override {
    for (LocalLaneWorker& lane : in_) lane.finish_sleep();
  }
  int wake_descriptor() const override { return in_.front().wake_descriptor(); }
  std::optional<std::string> failure() const override {
    if (!wrong_.empty()) return "a lane failed: " + wrong_;
    return std::nullopt;
  }

 private:
  /// Its own copies: these were made before the processes were.
  static LaneDescriptors lane_of(const ChaseSetting& setting, unsigned from, unsigned to) {
    LaneDescriptors lane;
    lane.memory.reset(::dup(setting.lane_memories[std::size_t{from} * setting.processes + to]));
    lane.wake_worker.reset(::dup(setting.wake_descriptors[to]));
    lane.wake_client.reset(::dup(setting.wake_descriptors[from]));
    lane.geometry = lanes_geometry;
    return lane;
  }
  LocalLaneClient& lane_to(unsigned peer) { return out_[peer - (peer > self_ ? 1 : 0)]; }

  bool take_one(LocalLaneWorker& lane) {
    auto request = lane.receive();
    if (!request) wrong_ = "receive";
    if (!request || !*request) return false;
    const std::uint64_t came = ticks_now();
    CallHeader header = (*request)->header;
    const auto input = (*request)->input;
    if (self_ == 0) {
      ChaseRequest done;
      std::memcpy(&done, input.data(), sizeof(done));
      answers_.push_back({done.number, done.address});
    } else {
      // The lane's header has no room for what moves along.
      set_origin(header, {.hops_left = 100'000, .member = 0, .attempt = 1});
      std::array<std::byte, inline_room> room;
      send(runner_.run(header, input, room, came), header, room);
    }
    if (!lane.answer({})) wrong_ = "answer";
    return true;
  }
  bool take_answer(LocalLaneClient& lane) {
    auto answer = lane.receive();
    if (!answer) wrong_ = "receive an answer";
    if (!answer || !*answer) return false;
    lane.release(**answer);
    return true;
  }
  void send(unsigned target, const CallHeader& header,
            const std::array<std::byte, inline_room>& bytes) {
    const auto sent =
        lane_to(target).send({.slot = chase_slot,
                              .generation = chase_generation,
                              .entry = chase_entry,
                              .deadline = std::chrono::nanoseconds(header.deadline_ns),
                              .input = std::span(bytes).first(header.payload_length)});
    if (!sent) wrong_ = sent.error().message;
  }

  unsigned self_;
  unsigned count_;
  ChaseTable table_;
  CallRunner runner_;
  std::vector<LocalLaneClient> out_;
  std::vector<LocalLaneWorker> in_;
  std::string wrong_;
};

}  // namespace

Result<std::unique_ptr<ChaseEnd>> open_lanes_end(const ChaseSetting& setting) {
  auto end = std::make_unique<LanesEnd>(setting);
  if (auto attached = end->attach(setting); !attached) return fail(std::move(attached.error()));
  return end;
}

}  // namespace orchid::bench
