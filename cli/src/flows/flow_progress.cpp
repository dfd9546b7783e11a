#include "flows/flow_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "calls/call_watch.h"
#include "foundation/visible_text.h"
#include "terminal/duration.h"

namespace orchid::cli {
namespace {

/// So long a second Ctrl-C is the answer to the question.
constexpr std::chrono::seconds time_to_answer{5};
/// So often what was reached is kept while the flow runs.
constexpr std::chrono::seconds keep_every{5};
/// No more of its time than one part in so many goes there.
constexpr int part_of_time = 20;

const char* parts_of(const flow::PlannedNode& node) {
  switch (node.kind) {
    case flow::NodeKind::map:
    case flow::NodeKind::master:
      return "pieces";
    case flow::NodeKind::reduce:
      return "groups";
    case flow::NodeKind::divide:
      return "branches";
    default:
      return "steps";
  }
}

bool has_parts(const flow::PlannedNode& node) {
  return node.kind != flow::NodeKind::call && node.kind != flow::NodeKind::condition;
}

}  // namespace

std::string describe(const flow::Plan& plan, const flow::AttemptFailed& attempt) {
  return fmt::format("node '{}'{}{}, attempt {}: {}: {}", plan.nodes[attempt.node].name,
                     attempt.part.empty() ? "" : ", ", attempt.part, attempt.attempt,
                     attempt.outcome, visible_text(attempt.message, LineEnds::shown));
}

void FlowProgress::changed(const flow::NodeChanged& change) {
  const flow::PlannedNode& node = plan_.nodes[change.node];
  if (change.state == flow::NodeState::running) {
    begun_[change.node] = Clock::now();
    running_.push_back(change.node);
    return;
  }
  const bool ran = std::erase(running_, change.node) != 0;
  if (change.state != flow::NodeState::done) {
    if (ran && !shell_.json)
      shell_.note(fmt::format("{}: {}", node.name, flow::to_string(change.state)));
    return;
  }
  if (shell_.json) return;  // the document says it at the end
  const flow::NodeProgress progress = engine_.progress(change.node);
  std::string parts;
  if (has_parts(node) && progress.done == progress.total)
    parts = fmt::format(", {} {}", progress.done, parts_of(node));
  else if (has_parts(node))
    parts = fmt::format(", after {} of {} {}", progress.done, progress.total, parts_of(node));
  shell_.note(fmt::format("{}: done in {}{}", node.name,
                          format_duration(Clock::now() - begun_[change.node]), parts));
}

void FlowProgress::failed(const flow::AttemptFailed& attempt) {
  if (!shell_.json)
    shell_.note(describe(plan_, attempt) + (attempt.again ? "; it is tried again" : ""));
}

/// Also with --json: what was printed may have another reason than was asked for.
void FlowProgress::optimiser_failed(std::string_view trouble) {
  shell_.note(visible_text(std::string(trouble), LineEnds::shown));
}

bool FlowProgress::look() {
  show_bars();
  if (!keep_) return true;
  const Clock::time_point begin = Clock::now();
  if (begin < keep_again_) return false;
  keep_();
  const Clock::duration took = Clock::now() - begin;
  keep_again_ = begin + std::max<Clock::duration>(keep_every, took * part_of_time);
  return true;
}

std::string FlowProgress::bar_of(std::uint32_t node, std::size_t width) const {
  const flow::NodeProgress progress = engine_.progress(node);
  const double fraction = progress.total == 0 ? 0.0
                                              : static_cast<double>(progress.done) /
                                                    static_cast<double>(progress.total);
  const std::string& name = plan_.nodes[node].name;
  if (!has_parts(plan_.nodes[node])) return fmt::format("{}  {}", progress_bar(fraction), name);
  return fmt::format("{}  {:{}} {}/{}", progress_bar(fraction), name, width, progress.done,
                     progress.total);
}

/// A line for each node that runs, in the order in which they began, and one for the flow.
void FlowProgress::show_bars() {
  if (!shell_.err_is_terminal || shell_.json || running_.empty()) return;
  const std::size_t room = std::max<std::size_t>(shell_.err_size().rows, 2) - 1;
  const auto shown = std::span(running_).first(std::min(running_.size(), room));
  std::size_t width = 0;
  for (const std::uint32_t node : shown) width = std::max(width, plan_.nodes[node].name.size());
  std::vector<std::string> lines;
  for (const std::uint32_t node : shown) lines.push_back(bar_of(node, width));
  const std::size_t left = running_.size() - shown.size();
  lines.push_back(fmt::format("{} of {} nodes done{}", engine_.nodes_done(), plan_.nodes.size(),
                              left == 0 ? "" : fmt::format(", and {} more run", left)));
  shell_.show_passing_lines(lines);
}

bool FlowProgress::interrupted() {
  const Clock::time_point now = Clock::now();
  if (!shell_.err_is_terminal || shell_.json || (has_asked_ && now - asked_ < time_to_answer))
    return true;
  has_asked_ = true;
  asked_ = now;
  shell_.note("cancel the flow? Press Ctrl-C again within 5 s; otherwise it goes on");
  return false;
}

}  // namespace orchid::cli
