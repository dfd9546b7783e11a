// The nodes whose calls lead to further calls: `master`, which hands out work as it goes and
// gathers, and `divide`, divide and conquer. A call's index says what it is for: four roles for
// each number.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine_branching.h"
#include "flow/engine.h"

namespace orchid::flow {
namespace {

constexpr std::uint64_t most_branches = std::uint64_t{1} << 24;

}  // namespace

bool is_branching(NodeKind kind) { return kind == NodeKind::master || kind == NodeKind::divide; }

BranchRole role_of(std::uint64_t index) { return static_cast<BranchRole>(index % roles); }
std::uint64_t number_of(std::uint64_t index) { return index / roles; }
std::uint64_t index_of(std::uint64_t number, BranchRole role) {
  return number * roles + static_cast<std::uint64_t>(role);
}

// ---- both ----

void Engine::begin_branching(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  set_stage(run, Stage::main, 0);
  if (plan_->nodes[node].kind == NodeKind::master) {
    run.master = std::make_unique<MasterRun>();
    run.master->asks = true;
    find_next_of_master(node);
  } else {
    run.tree = std::make_unique<std::vector<Branch>>();
    run.tree->push_back({.problem = *run.about});
    run.again.push_back({.index = index_of(0, BranchRole::begin)});
  }
}

const PlannedCall& Engine::call_of_branching(const PlannedNode& planned, const Work& work) {
  switch (role_of(work.index)) {
    case BranchRole::begin:
      return planned.partition;
    case BranchRole::end:
      return planned.merge;
    case BranchRole::each:
      break;
  }
  return planned.main;
}

void Engine::append_branching(std::uint32_t node, const Work& work, Bytes& input) const {
  const NodeRun& run = nodes_[node];
  const BranchRole role = role_of(work.index);
  const auto append = [&input](const Bytes& bytes) {
    input.insert(input.end(), bytes.begin(), bytes.end());
  };
  if (run.master != nullptr) {
    if (role == BranchRole::each) return append(run.master->work.at(number_of(work.index)));
    append(*run.about);
    if (role == BranchRole::end) append(run.master->results.front());
    return;
  }
  const Branch& branch = (*run.tree)[number_of(work.index)];
  if (role != BranchRole::end) return append(branch.problem);
  Gathering parts;
  for (std::uint64_t i = 0; i < branch.children; ++i)
    parts.add(plan_->nodes[node].main.result, (*run.tree)[branch.first_child + i].result);
  append(parts.take(plan_->nodes[node].main.result));
}

void Engine::take_branching(std::uint32_t node, std::uint64_t index, Bytes output) {
  if (nodes_[node].master != nullptr)
    take_of_master(node, index, std::move(output));
  else
    take_of_tree(node, index, std::move(output));
}

/// All that has begun, and not ended, is to be done.
void Engine::rewind_branching(NodeRun& run) {
  if (run.master != nullptr) {
    if (run.master->head) run.again.push_back({.index = *run.master->head});
    for (const auto& [number, item] : run.master->work)
      run.again.push_back({.index = index_of(number, BranchRole::each)});
  }
  if (run.tree == nullptr) return;
  for (std::uint64_t i = run.tree->size(); i-- > 0;) {
    const Branch::State state = (*run.tree)[i].state;
    if (state == Branch::State::divides)
      run.again.push_back({.index = index_of(i, BranchRole::begin)});
    else if (state == Branch::State::solves)
      run.again.push_back({.index = index_of(i, BranchRole::each)});
    else if (state == Branch::State::combines)
      run.again.push_back({.index = index_of(i, BranchRole::end)});
  }
}

void Engine::fail_branching(std::uint32_t node) {
  AttemptFailed failure{.node = node,
                        .part = {},
                        .attempt = 1,
                        .outcome = "bad_request",
                        .message = fmt::format("it has made more than {} pieces of work; make "
                                               "larger ones",
                                               most_branches)};
  NodeRun& run = nodes_[node];
  failure_ = failure;
  run.state = NodeState::failed;
  // It begins anew when the flow goes on.
  run.about = nullptr;
  run.master.reset();
  run.tree.reset();
  actions_.emplace_back(std::move(failure));
  actions_.emplace_back(NodeChanged{.node = node, .state = run.state});
  stop(FlowOutcome::failed);
  // Nothing is left that a late answer could be for.
  std::erase_if(stopped_, [node](const auto& one) { return one.second.node == node; });
}

std::string Engine::part_of_branching(std::uint32_t node, const Work& work) const {
  const bool is_master = nodes_[node].master != nullptr;
  const std::uint64_t number = number_of(work.index) + 1;
  switch (role_of(work.index)) {
    case BranchRole::begin:
      return is_master ? "hand_out" : fmt::format("divide of branch {}", number);
    case BranchRole::end:
      return is_master ? "gather" : fmt::format("combine of branch {}", number);
    case BranchRole::each:
      break;
  }
  return is_master ? fmt::format("work {}", number) : fmt::format("solve of branch {}", number);
}

NodeProgress Engine::progress_of_branching(const NodeRun& run) {
  if (run.master != nullptr)
    return {.state = run.state,
            .done = run.master->handed_out - run.master->work.size(),
            .total = run.master->handed_out};
  if (run.tree == nullptr) return {.state = run.state, .done = run.in_order, .total = run.total};
  const auto done = static_cast<std::uint64_t>(std::ranges::count_if(
      *run.tree, [](const Branch& one) { return one.state == Branch::State::done; }));
  return {.state = run.state, .done = done, .total = run.tree->size()};
}

// ---- master ----

/// Its own calls come one after the other: results are gathered first, then it is asked for more.
void Engine::find_next_of_master(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  MasterRun& master = *run.master;
  if (master.head) return;
  if (!master.results.empty()) {
    master.head = index_of(master.gathered, BranchRole::end);
  } else if (master.asks) {
    master.head = index_of(master.asked, BranchRole::begin);
  } else {
    if (master.work.empty()) end_node(node, Bytes(*run.about));
    return;
  }
  run.again.push_front({.index = *master.head});
}

void Engine::take_of_master(std::uint32_t node, std::uint64_t index, Bytes output) {
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  MasterRun& master = *run.master;
  switch (role_of(index)) {
    case BranchRole::begin: {
      const std::uint64_t count = count_of(output);
      master.head.reset();
      master.asks = false;
      ++master.asked;
      if (master.handed_out + count > most_branches) return fail_branching(node);
      for (std::uint64_t i = 0; i < count; ++i) {
        append_element(planned.pieces, output, i, master.work[master.handed_out]);
        run.again.push_back({.index = index_of(master.handed_out++, BranchRole::each)});
      }
      break;
    }
    case BranchRole::each:
      master.work.erase(number_of(index));
      master.results.push_back(std::move(output));
      break;
    case BranchRole::end:
      master.head.reset();
      master.results.pop_front();
      ++master.gathered;
      master.asks = true;
      run.about = std::make_shared<const Bytes>(std::move(output));
      break;
  }
  find_next_of_master(node);
}

// ---- divide ----

void Engine::take_of_tree(std::uint32_t node, std::uint64_t index, Bytes output) {
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  std::vector<Branch>& tree = *run.tree;
  const std::uint64_t number = number_of(index);
  if (role_of(index) != BranchRole::begin) return end_branch(node, number, std::move(output));
  const std::uint64_t count = count_of(output);
  if (count == 0) {  // small enough
    tree[number].state = Branch::State::solves;
    run.again.push_front({.index = index_of(number, BranchRole::each)});
    return;
  }
  if (tree.size() + count > most_branches) return fail_branching(node);
  tree[number].state = Branch::State::waits;
  tree[number].first_child = tree.size();
  tree[number].children = tree[number].missing = count;
  tree[number].problem = {};
  for (std::uint64_t i = 0; i < count; ++i) {
    Branch child{.parent = number};
    append_element(planned.pieces, output, i, child.problem);
    tree.push_back(std::move(child));
  }
  // The deepest first: so the tree stays small.
  for (std::uint64_t i = tree.size(); i-- > tree[number].first_child;)
    run.again.push_front({.index = index_of(i, BranchRole::begin)});
}

void Engine::end_branch(std::uint32_t node, std::uint64_t number, Bytes output) {
  NodeRun& run = nodes_[node];
  std::vector<Branch>& tree = *run.tree;
  Branch& branch = tree[number];
  for (std::uint64_t i = 0; i < branch.children; ++i) tree[branch.first_child + i].result = {};
  branch.state = Branch::State::done;
  branch.problem = {};
  if (number == 0) return end_node(node, std::move(output));
  branch.result = std::move(output);
  Branch& parent = tree[branch.parent];
  if (--parent.missing != 0) return;
  parent.state = Branch::State::combines;
  run.again.push_front({.index = index_of(branch.parent, BranchRole::end)});
}

}  // namespace orchid::flow
