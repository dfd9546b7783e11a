#include "utilisation/core_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace orchid::utilisation {

SimTime usable(SimTime window, SimTime start_up, SimTime function) {
  if (window <= start_up) return SimTime(0);
  return (window - start_up) / function * function;
}

CoreLedger::CoreLedger(Options options) : options_(options), nodes_(options.shape.nodes) {
  for (Node& node : nodes_) {
    node.idle = CoreSet::first(options_.shape.cores_per_node);
    node.free_since.resize(options_.shape.cores_per_node);
  }
}

CoreSet CoreLedger::give_to_batch(NodeShare share, SimTime now) {
  Node& node = nodes_[share.node];
  const CoreSet cores = node.idle.lowest(share.cores);
  assert(cores.size() == share.cores);
  node.idle -= cores;
  node.batch |= cores;
  for (const std::uint32_t core : cores.numbers()) end_window(node.free_since[core], now);
  return cores;
}

CoreSet CoreLedger::give_to_pilot(NodeShare share) {
  Node& node = nodes_[share.node];
  const CoreSet cores = node.idle.lowest(share.cores);
  assert(cores.size() == share.cores);
  node.idle -= cores;
  node.pilots |= cores;
  return cores;
}

void CoreLedger::take_from_batch(std::uint32_t node_number, const CoreSet& cores, SimTime now) {
  Node& node = nodes_[node_number];
  assert(node.batch.includes(cores));
  node.batch -= cores;
  node.idle |= cores;
  for (const std::uint32_t core : cores.numbers()) node.free_since[core] = now;
}

void CoreLedger::take_from_pilot(std::uint32_t node_number, const CoreSet& cores) {
  Node& node = nodes_[node_number];
  assert(node.pilots.includes(cores));
  node.pilots -= cores;
  node.idle |= cores;
}

/// A window that reaches over an end of the counted time counts with what lies within.
void CoreLedger::end_window(SimTime from, SimTime until) {
  const SimTime length = options_.counted.within(from, until);
  if (length == SimTime(0)) return;
  idle_time_.whole += length;
  idle_time_.oracle += usable(length, options_.start_up, options_.function);
  ++idle_time_.windows;
  if (until - from < std::chrono::minutes(10)) ++idle_time_.under_ten_minutes;
  if (until - from < std::chrono::minutes(30)) ++idle_time_.under_half_an_hour;
}

void CoreLedger::finish(SimTime now) {
  for (Node& node : nodes_)
    for (std::uint32_t core = 0; core < options_.shape.cores_per_node; ++core)
      if (!node.batch.contains(core)) end_window(node.free_since[core], now);
}

std::optional<std::string> CoreLedger::audit() const {
  const CoreSet all = CoreSet::first(options_.shape.cores_per_node);
  for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    if (node.idle.intersects(node.batch) || node.idle.intersects(node.pilots) ||
        node.batch.intersects(node.pilots) || (node.idle | node.batch | node.pilots) != all)
      return fmt::format("node {}: idle {}, batch {}, pilots {}", number, to_string(node.idle),
                         to_string(node.batch), to_string(node.pilots));
  }
  return std::nullopt;
}

}  // namespace orchid::utilisation
