#include "flow/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <variant>

#include "flow/own_share.h"
#include "host_speeds.h"
#include "known_objects.h"
#include "variant_book.h"

namespace orchid::flow {
namespace {

/// Nodes that an optimiser is shown at a time; more than these are behind others anyway.
constexpr std::size_t most_nodes = 256;
/// So often it is asked about nodes that have changed, at most; and of large flows less often,
/// since it takes longer: for each of their nodes so much more.
constexpr std::chrono::milliseconds ask_every{5};
constexpr std::chrono::microseconds ask_every_per_node{1};
/// A number that is near the one that was said before is no news: decisions are kept in journals.
constexpr double near = 0.1;

bool is_near(double a, double b) {
  return std::abs(a - b) <= near * std::max(std::abs(a), std::abs(b));
}

bool is_near(const DevicePart& a, const DevicePart& b) {
  const auto near_to = [](auto one, auto other) {
    return is_near(static_cast<double>(one), static_cast<double>(other));
  };
  return a.calls == b.calls && near_to(a.from, b.from) && near_to(a.pieces, b.pieces) &&
         near_to(a.share, b.share);
}

bool says_the_same(const std::optional<Devices>& a, const std::optional<Devices>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return is_near(a->cores, b->cores) && is_near(a->gpu, b->gpu);
}

/// A trial is one more, whatever was said before.
bool says_the_same(const std::vector<VariantTurns>& a, const std::vector<VariantTurns>& b) {
  const auto tries = [](const VariantTurns& turns) { return !turns.trials.empty(); };
  return std::ranges::none_of(b, tries) &&
         std::ranges::equal(a, b, {}, &VariantTurns::usual, &VariantTurns::usual);
}

bool says_the_same(const Advice& a, const Advice& b) {
  return a.priority.has_value() == b.priority.has_value() &&
         is_near(static_cast<double>(a.priority.value_or(0)),
                 static_cast<double>(b.priority.value_or(0))) &&
         is_near(static_cast<double>(a.pieces), static_cast<double>(b.pieces)) &&
         a.share == b.share && a.prepare == b.prepare && says_the_same(a.devices, b.devices) &&
         says_the_same(a.variants, b.variants);
}

/// What a later optimiser says of the same counts.
void add(Advice& all, const Advice& one) {
  all.node = one.node;
  if (one.priority) all.priority = one.priority;
  if (one.pieces != 0) {
    all.pieces = one.pieces;
    all.share = one.share;
  }
  if (one.devices) all.devices = one.devices;
  if (!one.variants.empty()) all.variants = one.variants;
  if (one.prepare != 0) all.prepare = one.prepare;
  if (!one.why.empty()) all.why += (all.why.empty() ? "" : "; ") + one.why;
}

/// Who was to say how long runs are may have gone: two for each call that may be open.
void cut_evenly(const Situation& situation, std::map<std::uint32_t, Advice>& nodes) {
  const std::uint64_t runs = 2ULL * situation.window;
  for (const ReadyNode& node : situation.nodes) {
    if (!node.in_runs) continue;
    Advice& advice = nodes[node.node];
    advice.node = node.node;
    if (advice.pieces == 0)
      advice.pieces = node.pieces_left / runs + (node.pieces_left % runs == 0 ? 0 : 1);
  }
}

}  // namespace

Tuner::Tuner(const Plan& plan, std::vector<std::unique_ptr<Optimiser>> optimisers)
    : plan_(plan),
      optimisers_(std::move(optimisers)),
      objects_(std::make_unique<KnownObjects>()),
      variants_(std::make_unique<VariantBook>(plan)),
      speeds_(std::make_unique<HostSpeeds>()),
      ranks_(plan.nodes.size(), 0) {
  const auto is_data = [](const PlannedPort& port) { return port.type.is_data(); };
  for (const PlannedNode& node : plan.nodes)
    is_given_data_.push_back(std::ranges::any_of(node.ports, is_data));
}

Tuner::~Tuner() = default;

void Tuner::set_hosts(std::vector<HostSituation> hosts) {
  hosts_ = hosts;
  first_look_ = std::move(hosts);
  hosts_changed_ = true;
}

/// What is its own is found at once: with calls that end later the same look would blame others.
void Tuner::see_hosts(std::vector<HostSituation> hosts) {
  objects_->look_again();
  for (const std::uint32_t node : running_) {
    look_at(node);
    look_behind(node);
  }
  if (first_look_.empty()) return set_hosts(std::move(hosts));
  OwnPlaces own;
  std::uint32_t calls = 0;  // on a lease more are open than run
  for (const auto& [number, call] : open_) {
    if (calls++ == workers_) break;
    own.cores +=
        call.device == Device::cores ? std::max(plan_.nodes[call.node].cores_of_call, 1U) : 1;
    own.gpus += call.device == Device::gpu ? 1 : 0;
  }
  hosts_ = with_own_share(first_look_, std::move(hosts), own);
  hosts_changed_ = true;
}

/// At once when there are other nodes; then whenever an eighth more calls have ended, since only
/// then something more is known.
bool Tuner::is_due(Time now) const {
  if (optimisers_.empty() || running_.empty()) return false;
  const auto every = std::max<Time>(ask_every, ask_every_per_node * plan_.nodes.size());
  if (asked_ && now - *asked_ < every && calls_seen_ < ask_at_calls_) return false;
  return nodes_changed_ || hosts_changed_ || objects_changed_ || calls_seen_ >= ask_at_calls_;
}

void Tuner::rank(const Engine& engine, const Room& room) {
  RankOptions options{.times = {}, .bytes = {}, .pieces = {}, .workers = room.workers};
  double known_seconds = 0;
  for (const auto& [name, times] : times_) {
    if (!name.second.empty()) continue;
    options.times.push_back(times);
    known_seconds += times.seconds_of_piece();
  }
  // A function that has not run yet is taken for one like those that have.
  if (!options.times.empty())
    options.unknown_seconds = known_seconds / static_cast<double>(options.times.size());
  options.pieces.assign(plan_.nodes.size(), 0);
  for (const std::uint32_t node : running_) options.pieces[node] = engine.progress(node).total;
  // On the average, as HEFT has it: of H hosts one does not have to be sent what it has made.
  const auto hosts = static_cast<double>(std::max<std::size_t>(hosts_.size(), 1));
  if (hosts_.size() > 1) options.bytes_per_second *= hosts / (hosts - 1);
  for (const PlannedNode& node : plan_.nodes) {
    const PlannedCall& last = node.merge.exists() ? node.merge : node.main;
    options.bytes.push_back(hosts_.size() == 1 ? 0 : objects_->bytes_given_by(last.function));
  }
  ranks_ = seconds_to_end(plan_, options);
}

void Tuner::add_coming(const Engine& engine, Situation& all) const {
  std::set<std::uint32_t> seen;
  for (const std::uint32_t node : running_)
    for (const std::uint32_t next : plan_.nodes[node].consumers) {
      if (all.coming.size() == most_nodes) return;
      if (engine.progress(next).state != NodeState::waiting || !seen.insert(next).second) continue;
      all.coming.push_back({.node = next,
                            .name = plan_.nodes[next].name,
                            .function = plan_.nodes[next].main.function,
                            .after = plan_.nodes[node].name,
                            .values_there = engine.values_there(next)});
    }
}

Situation Tuner::situation(const Engine& engine, const Room& room) const {
  Situation all{.nodes = {},
                .coming = {},
                .running = {},
                .hosts = hosts_,
                .times = {},
                .workers = std::max(room.workers, 1U),
                .window = std::max(room.window, 1U)};
  for (const auto& [function, times] : times_) all.times.push_back(times);
  const std::map<std::string, double> speeds = speeds_->all();
  for (HostSituation& host : all.hosts)
    if (const auto known = speeds.find(host.name); known != speeds.end())
      host.speed = known->second;
  const auto show = [&](std::uint32_t node) {
    if (all.nodes.size() == most_nodes) return;
    // The next step of an iteration begins as soon as the last one has ended: what is said before
    // that is in time for the one behind it.
    const bool goes_on =
        plan_.nodes[node].kind == NodeKind::iterate && engine.open_calls_of(node) != 0 &&
        (plan_.nodes[node].cores_of_call != 0 || plan_.nodes[node].chooses_variant);
    const std::uint64_t left = std::max<std::uint64_t>(engine.not_started(node), goes_on ? 1 : 0);
    if (left == 0) return;
    all.nodes.push_back({.node = node,
                         .name = plan_.nodes[node].name,
                         .kind = plan_.nodes[node].kind,
                         .function = plan_.nodes[node].main.function,
                         .input_bytes = engine.input_bytes(node),
                         .seconds_to_end = ranks_[node],
                         .pieces_left = left,
                         .pieces_total = std::max(engine.progress(node).total, left),
                         .open_calls = engine.open_calls_of(node),
                         .in_runs = plan_.nodes[node].in_runs,
                         .cores_of_call = plan_.nodes[node].cores_of_call,
                         .constraints = plan_.nodes[node].constraints,
                         .data = objects_->of(engine.data_at(node)),
                         .variants = variants_->choices_of(node)});
  };
  for (const std::uint32_t node : undecided_) show(node);
  for (const std::uint32_t node : running_) {
    if (!undecided_.contains(node)) show(node);
    if (std::ranges::find(all.running, plan_.nodes[node].constraints) == all.running.end())
      all.running.push_back(plan_.nodes[node].constraints);
  }
  add_coming(engine, all);
  return all;
}

Decided Tuner::ask_all(const Situation& situation) {
  std::map<std::uint32_t, Advice> nodes;
  Decided all;
  for (std::unique_ptr<Optimiser>& optimiser : optimisers_) {
    auto decided = optimiser->decide(situation);
    std::string fault = decided ? fault_of(*decided, situation) : decided.error().message;
    if (!fault.empty()) {
      troubles_.push_back(
          fmt::format("optimiser '{}' {}; 'speed' decides in its place", optimiser->name(), fault));
      optimiser = make_optimiser({.name = "speed", .options = {}});
      replaced_ = true;
      decided = optimiser->decide(situation);
    }
    for (const Advice& one : decided->nodes) add(nodes[one.node], one);
    if (decided->open_calls) all.open_calls = decided->open_calls;
  }
  if (replaced_) cut_evenly(situation, nodes);
  for (auto& [node, advice] : nodes) all.nodes.push_back(std::move(advice));
  return all;
}

bool Tuner::has_news(const Decided& decided) const {
  if (decided.open_calls && decided.open_calls != open_calls_) return true;
  return std::ranges::any_of(decided.nodes, [this](const Advice& one) {
    const auto before = said_.find(one.node);
    return before == said_.end() || !says_the_same(before->second, one);
  });
}

void Tuner::begins(std::uint32_t node) {
  running_.insert(node);
  look_at(node);
  look_behind(node);
  const auto said = said_.find(node);
  const bool was_told = said != said_.end();
  const bool has_devices = was_told && said->second.devices;
  const bool has_variants = was_told && !said->second.variants.empty();
  const PlannedNode& planned = plan_.nodes[node];
  if ((planned.cores_of_call != 0 && !has_devices) || (planned.chooses_variant && !has_variants))
    undecided_.insert(node);
}

bool Tuner::is_awaited(const Engine& engine) const {
  return !optimisers_.empty() && std::ranges::any_of(undecided_, [&](std::uint32_t node) {
    return engine.not_started(node) != 0;
  });
}

/// An engine that goes on from a snapshot does not tell of nodes that ran then.
void Tuner::find_running(const Engine& engine) {
  if (std::exchange(has_looked_, true)) return;
  for (std::uint32_t node = 0; node < plan_.nodes.size(); ++node) {
    if (engine.progress(node).state != NodeState::running) continue;
    begins(node);
  }
}

std::optional<Decided> Tuner::decide(const Engine& engine, const Room& room, Time now) {
  find_running(engine);
  workers_ = room.workers;
  if (!is_due(now) && !is_awaited(engine)) return std::nullopt;
  hosts_changed_ = false;
  objects_changed_ = false;
  asked_ = now;
  nodes_changed_ = false;
  ask_at_calls_ = calls_seen_ + std::max<std::uint64_t>(calls_seen_ / 8, 1);
  rank(engine, room);
  const Situation now_there = situation(engine, room);
  if (now_there.nodes.empty() && now_there.coming.empty()) return std::nullopt;
  // Whoever says nothing of a node now is not asked about it at each event.
  for (const ReadyNode& node : now_there.nodes) undecided_.erase(node.node);
  Decided decided = ask_all(now_there);
  if (!has_news(decided)) return std::nullopt;
  std::erase_if(decided.nodes, [this](const Advice& one) {
    const auto before = said_.find(one.node);
    return before != said_.end() && says_the_same(before->second, one);
  });
  return decided;
}

std::vector<std::string> Tuner::take_troubles() { return std::exchange(troubles_, {}); }

const std::string& Tuner::why(std::uint32_t node) const {
  static const std::string nothing;
  const auto found = said_.find(node);
  return found == said_.end() ? nothing : found->second.why;
}

std::string fault_of(const Decided& decided, const Situation& situation) {
  if (decided.open_calls && *decided.open_calls == 0) return "lets no call be open";
  for (const Advice& one : decided.nodes) {
    if (one.prepare != 0 &&
        std::ranges::find(situation.coming, one.node, &ComingNode::node) != situation.coming.end())
      continue;
    const auto node = std::ranges::find(situation.nodes, one.node, &ReadyNode::node);
    if (node == situation.nodes.end())
      return fmt::format("speaks of node {}, which is not ready", one.node);
    if (one.pieces != 0 && !node->in_runs)
      return fmt::format("divides node '{}', which does not take pieces in runs", node->name);
  }
  return {};
}

}  // namespace orchid::flow
