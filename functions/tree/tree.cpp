// tree: counts the nodes of an unbalanced tree that nobody has stored, with all members of a crew.
//
// How many children a node has follows from its name, so that some branches end at once and others
// go on for long: nobody can say beforehand how to share the work. A call visits a node, spawns a
// call for each child that is worth it, and goes on when these have answered.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "orchid/function.hpp"

namespace {

struct Branch {
  std::uint64_t name;   // of the node at its root
  std::uint32_t depth;  // of that node
  std::uint32_t grain;  // below it so many levels are walked by one call
};

constexpr std::uint32_t deepest = 24;
constexpr std::uint32_t most_children = 3;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint32_t child_count(const Branch& node) {
  if (node.depth == deepest) return 0;
  return static_cast<std::uint32_t>(mix(node.name) % (most_children + 1));
}
Branch child_of(const Branch& node, std::uint32_t number) {
  return {mix(node.name + 0x9e3779b97f4a7c15ULL * (number + 1)), node.depth + 1, node.grain};
}

/// Of the whole branch, without spawning: depth first, with what is to come on a stack.
std::uint64_t count_here(const Branch& root) {
  std::array<Branch, std::size_t{deepest} * most_children + 1> waiting;
  std::size_t left = 1;
  waiting[0] = root;
  std::uint64_t nodes = 0;
  while (left > 0) {
    const Branch node = waiting[--left];
    ++nodes;
    for (std::uint32_t i = 0; i < child_count(node); ++i) waiting[left++] = child_of(node, i);
  }
  return nodes;
}

std::int32_t answer(orchid_call* call, std::uint64_t nodes) {
  void* output = orchid_output(call, sizeof(nodes));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &nodes, sizeof(nodes));
  return ORCHID_OK;
}

}  // namespace

/// Input: u64 name of the root, u32 0, u32 grain (see Branch). Output: u64, the nodes of the tree.
ORCHID_ENTRY(tree) {
  orchid::Call running(call);
  Branch root{};
  if (input_size != sizeof(root)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&root, input, sizeof(root));
  if (root.depth > deepest) return ORCHID_BAD_ARGUMENTS;
  if (root.depth + root.grain >= deepest) return answer(call, count_here(root));
  for (std::uint32_t i = 0; i < child_count(root); ++i) {
    const Branch child = child_of(root, i);
    if (!running.spawn("tree", std::as_bytes(std::span(&child, 1)))) return ORCHID_ERROR;
  }
  return running.then("tree_sum", {}) ? ORCHID_OK : ORCHID_ERROR;
}

/// Goes on here when all children have answered: the node itself, and what is below it.
ORCHID_ENTRY(tree_sum) {
  orchid::Call running(call);
  std::uint64_t nodes = 1;
  for (std::uint32_t i = 0; i < running.child_count(); ++i) {
    std::uint64_t below = 0;
    std::memcpy(&below, running.child(i).data(), sizeof(below));
    nodes += below;
  }
  return answer(call, nodes);
}
