#include "crew/spawn_book.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <ranges>
#include <utility>

namespace orchid::executor {
namespace {

/// That its children's outputs do not fit. Without memory for the words it goes without.
StepEnd no_room_for_outputs(ByteCount limit) {
  StepEnd end{.outcome = Outcome::no_capacity};
  const std::string why = "this member holds " + to_string(limit) +
                          " of inputs and outputs of children, which is the most: let them answer "
                          "less, or spawn fewer at a time";
  (void)end.payload.assign(std::as_bytes(std::span(why)));
  return end;
}

constexpr auto is_used = [](const auto& loan) { return loan.has_value(); };

/// Of a call that was ended because of another failure, or by its caller: that one is told.
bool says_more(const StepEnd& end, const StepEnd& than) {
  return than.outcome == Outcome::cancelled && end.outcome != Outcome::cancelled;
}

}  // namespace

void StepLog::append(std::string_view more, std::uint64_t more_dropped) {
  const std::size_t left = crew::log_size.value - std::min(text.size(), crew::log_size.value);
  const std::string_view kept = more.substr(0, left);
  text += kept;
  dropped += more_dropped + (more.size() - kept.size());
}

std::size_t SpawnBook::size_of(const Step& step) {
  std::size_t size = step.input.size() + step.log.text.size();
  for (const AlignedBytes& output : step.outputs) size += output.size();
  return size;
}

std::uint32_t SpawnBook::open_frame(Step rest) {
  if (free_frames_.empty()) {
    frames_.push_back(nullptr);
    free_frames_.reserve(frames_.size());  // closing one must not fail
    ready_.reserve(frames_.size());
    free_frames_.push_back(static_cast<std::uint32_t>(frames_.size() - 1));
  }
  const std::uint32_t number = free_frames_.back();
  frames_[number] = std::make_unique<Frame>(Frame{.rest = std::move(rest)});
  free_frames_.pop_back();
  ++frames_in_use_;
  return number;
}

SpawnBook::Frame SpawnBook::close_frame(std::uint32_t number) {
  Frame frame = std::move(*frames_[number]);
  frames_[number].reset();
  free_frames_.push_back(number);
  --frames_in_use_;
  bytes_ -= size_of(frame.rest);
  return frame;
}

void SpawnBook::suspend(Step rest, std::vector<Step> children, KeptChildren kept) {
  rest.outputs.clear();
  rest.outputs.resize(children.size());
  std::vector<bool> known(children.size());
  for (std::size_t i = 0; i < kept.answers.size() && i < children.size(); ++i) {
    known[i] = kept.answers[i].has_value();
    if (known[i]) rest.outputs[i] = std::move(*kept.answers[i]);
  }
  bytes_ += size_of(rest);
  const std::uint32_t number = open_frame(std::move(rest));
  frames_[number]->missing = static_cast<std::size_t>(std::ranges::count(known, false));
  frames_[number]->keys = std::move(kept.keys);
  if (frames_[number]->missing == 0) ready_.push_back(number);
  auto child = static_cast<std::uint32_t>(children.size());
  for (Step& each : children | std::views::reverse) {
    if (known[--child]) continue;
    each.asker = {.kind = Asker::Kind::frame, .number = number, .child = child};
    bytes_ += size_of(each);
    children_.push_back(std::move(each));
  }
}

bool SpawnBook::borrow(Step child) {
  auto taken = borrowed_[child.asker.number][child.asker.loan];
  if (taken) return false;
  taken = true;
  bytes_ += size_of(child);
  children_.push_back(std::move(child));
  return true;
}

std::optional<Step> SpawnBook::next() {
  if (!ready_.empty()) {
    const std::uint32_t number = ready_.back();
    ready_.pop_back();
    return close_frame(number).rest;
  }
  if (children_.empty()) return std::nullopt;
  Step step = std::move(children_.back());
  children_.pop_back();
  bytes_ -= size_of(step);
  return step;
}

void SpawnBook::note(Frame& frame, std::uint32_t child, StepEnd end) {
  bytes_ -= frame.rest.log.text.size();
  frame.rest.log.append(end.log.text, end.log.dropped);
  bytes_ += frame.rest.log.text.size();
  end.log = {};
  if (end.is_ok() && bytes_ + end.payload.size() > limits_.bytes.value)
    end = no_room_for_outputs(limits_.bytes);
  if (!end.is_ok()) {
    if (!frame.failure || says_more(end, *frame.failure)) frame.failure = std::move(end);
  } else if (!frame.failure) {
    bytes_ += end.payload.size();
    frame.rest.outputs[child] = std::move(end.payload);
  }
  --frame.missing;
}

std::optional<SpawnBook::Delivery> SpawnBook::end(const Asker& asker, std::uint64_t request_id,
                                                  StepEnd end, AnswerKeeper* keeper) {
  Asker to = asker;
  while (to.kind == Asker::Kind::frame) {
    Frame& frame = *frames_[to.number];
    if (keeper != nullptr && end.is_ok() && !frame.failure && to.child < frame.keys.size())
      keeper->keep(request_id, frame.keys[to.child], end.payload.bytes());
    note(frame, to.child, std::move(end));
    if (frame.missing > 0) return std::nullopt;
    if (!frame.failure) {
      ready_.push_back(to.number);
      return std::nullopt;
    }
    Frame failed = close_frame(to.number);
    to = failed.rest.asker;
    end = std::move(*failed.failure);
    end.log = std::move(failed.rest.log);
  }
  if (to.kind == Asker::Kind::member) borrowed_[to.number].reset(to.loan);
  return Delivery{.to = to, .request_id = request_id, .end = std::move(end)};
}

std::size_t SpawnBook::share(std::uint32_t members) const {
  return std::max<std::size_t>(1, children_.size() / (std::size_t{2} * members));
}

bool SpawnBook::can_lend(std::uint32_t member) const {
  return spare() > 0 && !std::ranges::all_of(loans_[member], is_used);
}

std::optional<SpawnBook::Loan> SpawnBook::lend(std::uint32_t member) {
  if (!can_lend(member)) return std::nullopt;
  Loans& loans = loans_[member];
  const auto free = std::ranges::find_if_not(loans, is_used);
  Loan loan{.number = static_cast<std::uint8_t>(free - loans.begin()),
            .child = std::move(children_.front())};
  children_.pop_front();
  bytes_ -= size_of(loan.child);
  *free = Lent{.asker = loan.child.asker, .request_id = loan.child.header.request_id};
  ++lent_;
  return loan;
}

std::optional<Asker> SpawnBook::take_back(std::uint32_t member, std::uint32_t loan,
                                          std::uint64_t request_id) {
  if (member > crew::most_members || loan >= crew::loans) return std::nullopt;
  std::optional<Lent>& lent = loans_[member][loan];
  if (!lent || lent->request_id != request_id) return std::nullopt;
  --lent_;
  return std::exchange(lent, std::nullopt)->asker;
}

}  // namespace orchid::executor
