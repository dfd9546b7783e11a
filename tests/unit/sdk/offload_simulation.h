// Participants of a PieceSchedule in simulated time: fast, slow, stuck, failing, leaving, joining.
#pragma once
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "offload/piece_schedule.h"

namespace orchid::tests {

using sdk::AssignmentId;
using sdk::ParticipantId;
using sdk::ParticipantKind;
using sdk::PieceId;
using sdk::PieceSchedule;

class OffloadSimulation {
 public:
  using Time = PieceSchedule::Time;
  static constexpr Time never{std::numeric_limits<Time::rep>::max()};

  struct Participant {
    ParticipantKind kind = ParticipantKind::local;
    double items_per_us = 1;
    Time latency{0};          // of each piece
    Time joins{0};            // from then on it asks
    Time leaves = never;      // with what it works on
    Time stuck_from = never;  // pieces that start then are never done
    unsigned fails = 0;       // so many of its first pieces fail
  };

  explicit OffloadSimulation(const PieceSchedule::Options& options)
      : schedule(options), applied(options.count) {}

  void add(const Participant& participant) { all_.push_back({.is = participant}); }

  /// Until all is applied; when that was. Never: nobody can go on.
  Time run() {
    while (!schedule.finished()) {
      ask_all();
      const Time next = next_event();
      if (next == never) return never;
      now_ = next;
      leave_those_due();
      finish_those_due();
    }
    return now_;
  }

  PieceSchedule schedule;
  std::vector<unsigned> applied;  // how often, for each index
  [[nodiscard]] bool each_applied_once() const {
    return std::ranges::all_of(applied, [](unsigned times) { return times == 1; });
  }

 private:
  struct State {
    Participant is;
    std::optional<ParticipantId> id{};
    bool left = false;
    std::optional<PieceSchedule::Assignment> works_on{};
    Time done = never;
    Time busy{0};
  };

  void ask_all() {
    for (State& one : all_) {
      if (one.left || one.works_on || now_ < one.is.joins) continue;
      if (!one.id) one.id = schedule.add(one.is.kind);
      one.works_on = schedule.next(*one.id, now_);
      if (!one.works_on) continue;
      const double us = static_cast<double>(one.works_on->range.size()) / one.is.items_per_us;
      one.busy = Time(static_cast<Time::rep>(us * 1000) + 1);
      one.done = now_ >= one.is.stuck_from ? never : now_ + one.is.latency + one.busy;
    }
  }

  [[nodiscard]] Time next_event() const {
    Time next = schedule.rest_end(now_).value_or(never);
    for (const State& one : all_) {
      if (one.left) continue;
      if (one.works_on) next = std::min(next, one.done);
      if (now_ < one.is.joins) next = std::min(next, one.is.joins);
      if (now_ < one.is.leaves) next = std::min(next, one.is.leaves);
    }
    return next;
  }

  void leave_those_due() {
    for (State& one : all_) {
      if (one.left || now_ < one.is.leaves) continue;
      one.left = true;
      if (one.id) schedule.remove(*one.id);
      // Its late answer counts for nothing.
      if (one.works_on) take(one.works_on->id, one.works_on->range, one.busy);
    }
  }

  void finish_those_due() {
    for (State& one : all_) {
      if (one.left || !one.works_on || now_ < one.done) continue;
      const auto assignment = *std::exchange(one.works_on, std::nullopt);
      if (one.is.fails > 0) {
        --one.is.fails;
        schedule.give_back(assignment.id, PieceSchedule::Retry::locally);
      } else {
        take(assignment.id, assignment.range, one.busy);
      }
    }
  }

  void take(AssignmentId id, OffloadRange range, Time busy) {
    const auto [verdict, piece] = schedule.finish(id, now_, busy);
    if (verdict == PieceSchedule::Verdict::drop) return;
    if (verdict == PieceSchedule::Verdict::hold) return held_[piece].push_back(range);
    std::vector<OffloadRange> counted{range};
    if (verdict == PieceSchedule::Verdict::apply_parts)
      counted.insert(counted.end(), held_[piece].begin(), held_[piece].end());
    held_.erase(piece);
    for (const OffloadRange& each : counted)
      for (std::size_t i = each.first; i < each.last; ++i) ++applied[i];
  }

  std::vector<State> all_;
  std::map<PieceId, std::vector<OffloadRange>> held_;
  Time now_{0};
};

}  // namespace orchid::tests
