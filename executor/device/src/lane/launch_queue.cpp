#include "lane/launch_queue.h"

#include <algorithm>
#include <numeric>

#include "transport/lane_layout.h"

namespace orchid::executor {
namespace {

constexpr std::size_t most_running = 8;

}  // namespace

void LaunchQueue::add(KernelLaunch launch) {
  ++figures_.launches;
  waiting_.push_back({.launch = std::move(launch)});
}

DriverResult<bool> LaunchQueue::advance() {
  const auto collected = collect();
  if (!collected) return collected;
  const auto dispatched = dispatch();
  if (!dispatched) return dispatched;
  return *collected || *dispatched;
}

DriverResult<bool> LaunchQueue::collect() {
  bool some = false;
  while (!running_.empty()) {
    const Running& piece = running_.front();
    const auto passed = driver_.is_passed(piece.behind);
    if (!passed) return passed;
    if (!*passed) break;
    const auto time = driver_.time_between(piece.before, piece.behind);
    if (!time) return std::unexpected(time.error());
    piece.kernel->size.measured(piece.items, *time);
    figures_.kernel_time += *time;
    if (*time > longest_sub_range) ++figures_.long_sub_ranges;
    progress_ = Progress{.launch = piece.launch,
                         .thousandths = static_cast<std::uint64_t>(
                             static_cast<double>(piece.end) / static_cast<double>(piece.all) *
                             static_cast<double>(transport::whole_progress))};
    free_marks_.insert(free_marks_.end(), {piece.before, piece.behind});
    running_.pop_front();
    some = true;
  }
  return some;
}

std::chrono::nanoseconds LaunchQueue::expected_to_run() const {
  return std::accumulate(running_.begin(), running_.end(), std::chrono::nanoseconds(0),
                         [](auto sum, const Running& piece) { return sum + piece.expected; });
}

DriverResult<bool> LaunchQueue::dispatch() {
  bool some = false;
  while (!waiting_.empty()) {
    Waiting& next = waiting_.front();
    const std::uint64_t left = next.launch.items - next.begun;
    if (left != 0) {
      const SubRangeSize& size = next.launch.kernel->size;
      const std::uint64_t items = size.next(left);
      // Of a kernel about which nothing is known one piece runs alone.
      const bool alone =
          !size.is_known() || (!running_.empty() && !running_.back().kernel->size.is_known());
      if (!running_.empty() && (alone || running_.size() >= most_running ||
                                expected_to_run() + size.expected(items) > longest_sub_range))
        return some;
      if (auto given = give(next, items); !given) {
        if (ends_context(given.error())) return std::unexpected(std::move(given.error()));
        failure_ = std::move(given.error());
        next.begun = next.launch.items;
      }
      some = true;
    }
    if (next.begun == next.launch.items) waiting_.pop_front();
  }
  return some;
}

DriverResult<void> LaunchQueue::give(Waiting& waiting, std::uint64_t items) {
  LoadedKernel& kernel = *waiting.launch.kernel;
  const auto before = take_mark();
  if (!before) return std::unexpected(before.error());
  const auto behind = take_mark();
  if (!behind) return std::unexpected(behind.error());
  const std::uint64_t blocks = (items + kernel.threads - 1) / kernel.threads;
  // A grid strides over its items: more blocks than some times what fills the device only cost.
  constexpr std::uint64_t waves = 32;
  const std::uint64_t most = waves * kernel.function.suggested_blocks;
  const std::uint64_t end = waiting.begun + items;
  auto done = driver_.place(*before);
  if (done)
    done = driver_.launch({.function = kernel.function.handle,
                           .blocks = static_cast<std::uint32_t>(std::min(blocks, most)),
                           .threads = kernel.threads,
                           .args = waiting.launch.args.get(),
                           .begin = waiting.begun,
                           .end = end});
  if (done) done = driver_.place(*behind);
  if (!done) {
    free_marks_.insert(free_marks_.end(), {*before, *behind});
    return done;
  }
  ++figures_.sub_ranges;
  running_.push_back({.launch = waiting.launch.number,
                      .kernel = &kernel,
                      .items = items,
                      .end = end,
                      .all = waiting.launch.items,
                      .expected = kernel.size.expected(items),
                      .before = *before,
                      .behind = *behind});
  waiting.begun = end;
  return {};
}

DriverResult<MarkHandle> LaunchQueue::take_mark() {
  if (free_marks_.empty()) return driver_.make_mark();
  const MarkHandle mark = free_marks_.back();
  free_marks_.pop_back();
  return mark;
}

bool LaunchQueue::has_ended(std::uint64_t number) const {
  const auto is_open = [number](std::uint64_t other) { return other <= number; };
  return (running_.empty() || !is_open(running_.front().launch)) &&
         (waiting_.empty() || !is_open(waiting_.front().launch.number));
}

std::optional<LaunchQueue::Progress> LaunchQueue::progress() const { return progress_; }

}  // namespace orchid::executor
