#include "offload/piece_schedule.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace orchid::sdk {
namespace {

/// Of the newest measurement. A speed is right after two or three pieces, and one that the system
/// interrupted does not ruin it.
constexpr double newest_weight = 0.5;
/// A piece is at most so many times as large as the one before: the first ones only measure.
constexpr std::size_t growth = 8;
constexpr double share_given_out = 0.5;

void smooth(double& speed, double newest) {
  speed = speed == 0 ? newest : newest_weight * newest + (1 - newest_weight) * speed;
}

std::size_t at_least_one(double items) {
  constexpr double most = 1e18;
  return static_cast<std::size_t>(std::clamp(items, 1.0, most));
}

}  // namespace

PieceSchedule::PieceSchedule(const Options& options) : options_(options), gain_(options.gain) {}

ParticipantId PieceSchedule::add(ParticipantKind kind) {
  participants_.push_back({.kind = kind});
  return static_cast<ParticipantId>(participants_.size() - 1);
}

void PieceSchedule::remove(ParticipantId participant) {
  participants_[static_cast<std::size_t>(participant)].present = false;
  std::vector<AssignmentId> lost;
  for (const auto& [id, given] : given_)
    if (given.participant == participant) lost.push_back(id);
  for (const AssignmentId id : lost) give_back(id, Retry::anywhere);
}

std::size_t PieceSchedule::free_items() const {
  std::size_t items = options_.count - next_index_;
  for (const OffloadRange& range : returned_) items += range.size();
  return items;
}

double PieceSchedule::usual_local_speed() const {
  double sum = 0;
  std::size_t known = 0;
  for (const Participant& one : participants_) {
    if (one.kind != ParticipantKind::local || one.speed == 0) continue;
    sum += one.speed;
    ++known;
  }
  return known == 0 ? 0 : sum / static_cast<double>(known);
}

double PieceSchedule::total_speed() const {
  double sum = 0;
  std::size_t known = 0;
  std::size_t present = 0;
  for (const Participant& one : participants_) {
    if (!one.present) continue;
    ++present;
    sum += one.speed;
    known += one.speed > 0 ? 1 : 0;
  }
  return known == 0 ? 0 : sum * static_cast<double>(present) / static_cast<double>(known);
}

std::size_t PieceSchedule::size_for(const Participant& participant, std::size_t left) const {
  const bool is_local = participant.kind == ParticipantKind::local;
  const Limits& limits = is_local ? options_.local : options_.worker;
  const auto shortest = static_cast<double>(limits.shortest.count());
  const auto longest = static_cast<double>(limits.longest.count());
  double items = 1;
  if (participant.speed > 0) {
    const double share =
        static_cast<double>(left) * participant.speed / total_speed() * share_given_out;
    // How long it computes is bounded, and not what comes on top: a piece that is small against its
    // transfer looks slow, and would be followed by small ones.
    items = std::clamp(share, participant.busy_speed * shortest, participant.busy_speed * longest);
    items = std::min(items, static_cast<double>(participant.last_size * growth));
  }
  // Small pieces tell little of a worker. Until there was a longer one, it is as fast as we are.
  if (!is_local && !participant.measured) items = std::max(items, usual_local_speed() * shortest);
  return std::min(at_least_one(items), left);
}

OffloadRange PieceSchedule::take(std::vector<OffloadRange>& from, std::size_t size) {
  OffloadRange& last = from.back();
  const OffloadRange taken{last.first, std::min(last.last, last.first + size)};
  last.first = taken.last;
  if (last.size() == 0) from.pop_back();
  return taken;
}

OffloadRange PieceSchedule::take_fresh(const Participant& participant) {
  const std::size_t size = size_for(participant, free_items());
  if (!returned_.empty()) return take(returned_, size);
  const std::size_t first = next_index_;
  next_index_ = first + std::min(size, options_.count - first);
  return {first, next_index_};
}

PieceSchedule::Assignment PieceSchedule::give(ParticipantId to, OffloadRange range, PieceId piece,
                                              bool part, Time now) {
  const AssignmentId id{++last_id_};
  participants_[static_cast<std::size_t>(to)].last_size = range.size();
  given_.emplace(
      id, Given{.participant = to, .range = range, .piece = piece, .part = part, .start = now});
  ++counts_.pieces;
  counts_.repeated += part ? 1 : 0;
  return {.id = id, .range = range};
}

std::optional<PieceSchedule::Assignment> PieceSchedule::next(ParticipantId id, Time now) {
  const Participant& participant = participants_[static_cast<std::size_t>(id)];
  if (participant.kind == ParticipantKind::local) {
    if (!local_only_.empty()) {
      const std::size_t size = size_for(participant, local_only_.back().size());
      return give(id, take(local_only_, size), PieceId::none, false, now);
    }
    if (free_items() == 0) return next_part(id, now);
    return give(id, take_fresh(participant), PieceId::none, false, now);
  }
  if (free_items() == 0) return std::nullopt;
  if (participant.kind == ParticipantKind::sharing_worker && gain_.rest_end(now))
    return std::nullopt;
  const OffloadRange range = take_fresh(participant);
  const PieceId piece{last_id_ + 1};
  const Assignment assignment = give(id, range, piece, false, now);
  pieces_.emplace(piece, Piece{.range = range, .next_part = range.first});
  return assignment;
}

std::optional<PieceSchedule::Assignment> PieceSchedule::next_part(ParticipantId to, Time now) {
  const auto untaken = [](const auto& entry) {
    return entry.second.range.last - entry.second.next_part;
  };
  const auto largest = std::ranges::max_element(pieces_, {}, untaken);
  if (largest == pieces_.end() || untaken(*largest) == 0) return std::nullopt;
  auto& [id, piece] = *largest;
  const std::size_t size = size_for(participants_[static_cast<std::size_t>(to)], untaken(*largest));
  const OffloadRange range{piece.next_part, piece.next_part + size};
  piece.next_part = range.last;
  return give(to, range, id, true, now);
}

PieceSchedule::Assignment PieceSchedule::shrink(AssignmentId assignment, std::size_t items) {
  Given& given = given_.at(assignment);
  Piece& piece = pieces_.at(given.piece);
  // Once parts of it were started it stays as it is; its worker gives it back then.
  if (piece.next_part == piece.range.first && items < given.range.size()) {
    const std::size_t middle = given.range.first + std::max<std::size_t>(items, 1);
    returned_.push_back({middle, given.range.last});
    given.range.last = middle;
    piece.range.last = middle;
    participants_[static_cast<std::size_t>(given.participant)].last_size = given.range.size();
  }
  return {.id = assignment, .range = given.range};
}

void PieceSchedule::measure(const Given& given, Time now, Time busy) {
  Participant& participant = participants_[static_cast<std::size_t>(given.participant)];
  const Time elapsed = std::max(now - given.start, Time{1});
  const auto items = static_cast<double>(given.range.size());
  smooth(participant.speed, items / static_cast<double>(elapsed.count()));
  smooth(participant.busy_speed,
         items / static_cast<double>(std::clamp(busy, Time{1}, elapsed).count()));
  participant.measured = participant.measured || busy * 4 >= options_.worker.shortest;
  if (participant.kind == ParticipantKind::local)
    gain_.local_done(given.range.size(), elapsed, busy, now);
  else if (participant.kind == ParticipantKind::sharing_worker &&
           busy * 2 >= options_.worker.shortest)
    gain_.worker_done(given.range.size(), now);  // smaller ones only measure
}

void PieceSchedule::host_idle(Time idle, Time now) {
  const bool alone = std::ranges::none_of(given_, [this](const auto& entry) {
    const auto participant = static_cast<std::size_t>(entry.second.participant);
    return participants_[participant].kind == ParticipantKind::sharing_worker;
  });
  gain_.host_idle(idle, now, alone);
}

PieceSchedule::Judgement PieceSchedule::finish(AssignmentId assignment, Time now, Time busy) {
  const auto found = given_.find(assignment);
  // Given back before: its participant was removed.
  if (found == given_.end()) return {.verdict = Verdict::drop, .piece = PieceId::none};
  const Given given = found->second;
  given_.erase(found);
  measure(given, now, busy);
  if (given.part) return finish_part(given);
  if (given.piece == PieceId::none) {
    counts_.local_items += given.range.size();
    settled_items_ += given.range.size();
    return {.verdict = Verdict::apply, .piece = PieceId::none};
  }
  if (pieces_.erase(given.piece) == 0) return {.verdict = Verdict::drop, .piece = given.piece};
  counts_.worker_items += given.range.size();
  settled_items_ += given.range.size();
  return {.verdict = Verdict::apply, .piece = given.piece};
}

PieceSchedule::Judgement PieceSchedule::finish_part(const Given& given) {
  const auto found = pieces_.find(given.piece);
  if (found == pieces_.end()) return {.verdict = Verdict::drop, .piece = given.piece};
  Piece& piece = found->second;
  piece.parts_done += given.range.size();
  if (piece.parts_done < piece.range.size())
    return {.verdict = Verdict::hold, .piece = given.piece};
  counts_.local_items += piece.range.size();
  settled_items_ += piece.range.size();
  pieces_.erase(found);
  return {.verdict = Verdict::apply_parts, .piece = given.piece};
}

void PieceSchedule::give_back(AssignmentId assignment, Retry retry) {
  const auto found = given_.find(assignment);
  if (found == given_.end()) return;
  const Given given = found->second;
  given_.erase(found);
  assert(!given.part && "a local participant leaves only with the whole run");
  if (given.piece == PieceId::none) {
    local_only_.push_back(given.range);
    return;
  }
  const auto piece = pieces_.find(given.piece);
  if (piece == pieces_.end()) return;  // its parts were first
  // Once parts of it were started, local participants go on with it.
  if (piece->second.next_part != piece->second.range.first) return;
  (retry == Retry::anywhere ? returned_ : local_only_).push_back(given.range);
  pieces_.erase(piece);
}

}  // namespace orchid::sdk
