// benchmarks/spawn_tree.cpp: what does a child cost that a call of a crew spawns, until its output
// is there, against a task of OpenMP on the same cores?
//
// Trees of Fibonacci (two children for each call, and hardly any work) and the unbalanced tree of
// functions/tree, on two members with a core each. OpenMP is the floor: its tasks share one process
// and trust each other. The rivals are Dask.distributed and Ray on the same cores, with smaller
// trees, as they take long; where they are not installed their rows are left out.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include "harness/bench.h"
#include "harness/machine.h"
#include "local_crew.h"
#include "local_lease.h"
#include "task_system.h"

namespace orchid::bench {
namespace {

constexpr int members = 2;

struct Branch {
  std::uint64_t name = 0;
  std::uint32_t depth = 0;
  std::uint32_t grain = 0;
};
constexpr std::uint32_t deepest = 24;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}
std::uint64_t children_of(const Branch& node) {
  return node.depth == deepest ? 0 : mix(node.name) % 4;
}
Branch child_of(const Branch& node, std::uint64_t number) {
  return {mix(node.name + 0x9e3779b97f4a7c15ULL * (number + 1)), node.depth + 1, node.grain};
}

// A task for each call is what is measured.
std::uint64_t fib_of_tasks(std::uint32_t n) {
  if (n < 2) return n;
  std::uint64_t one = 0;
  std::uint64_t two = 0;
#pragma omp task shared(one)
  one = fib_of_tasks(n - 1);
#pragma omp task shared(two)
  two = fib_of_tasks(n - 2);
#pragma omp taskwait
  return one + two;
}

std::uint64_t tree_of_tasks(const Branch& node) {
  std::array<std::uint64_t, 3> below{};
  for (std::uint64_t i = 0; i < children_of(node); ++i) {
#pragma omp task shared(below, node) firstprivate(i)
    below[i] = tree_of_tasks(child_of(node, i));
  }
#pragma omp taskwait
  return 1 + below[0] + below[1] + below[2];
}

template <typename Work>
std::uint64_t in_tasks(Work work) {
  std::uint64_t result = 0;
#pragma omp parallel num_threads(members)
#pragma omp single
  result = work();
  return result;
}

std::uint64_t first_word(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  if (bytes.size() >= sizeof(word)) std::memcpy(&word, bytes.data(), sizeof(word));
  return word;
}

/// Microseconds for each of `tasks`.
template <typename Work>
Result<std::vector<double>> timed(std::uint64_t tasks, std::uint64_t expected, Work work) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t result = work();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  if (result != expected)
    return fail(ErrorCode::internal,
                "the tree came to " + std::to_string(result) + ", not " + std::to_string(expected));
  return std::vector{took.count() / static_cast<double>(tasks)};
}

/// Of the tree of calls: fib(n) has 2 fib(n + 1) - 1 of them.
constexpr std::uint32_t fib_input = 20;
constexpr std::uint64_t fib_output = 6765;
constexpr std::uint64_t fib_tasks = 21'891;

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

constexpr std::uint32_t small_input = 12;
constexpr std::uint64_t small_output = 144;
constexpr std::uint64_t small_tasks = 465;
constexpr std::uint64_t least_nodes = 300;  // of the tree
constexpr std::uint64_t most_nodes = 600;
/// What an Orchid crew has run, and a rival is to run as well.
struct Trees {
  const CrewFunction& fib;
  const CrewFunction& tree;
};

void compare_with(Bench& bench, const std::string& name, const std::string& what,
                  const Trees& trees) {
  auto system = find_rival(name, what, members);
  if (!system) return;
  const Description rival = description_of_rival(name, what + ", same cores");
  const std::vector<Promise> promises = promises_against_rivals();
  bench.compare(
      {.row = "fib(12), a child against " + name,
       .unit = "us",
       .round =
           [&] {
             return timed(small_tasks, small_output, [&] {
               return first_word(trees.fib.invoke(1, bytes_of(small_input)).output);
             });
           },
       .baseline = rival,
       .baseline_round = rival_round(*system, "fib " + std::to_string(small_input), small_output),
       .promises = promises});
  Branch root{.name = 1};
  std::uint64_t nodes = 0;
  while ((nodes = in_tasks([&] { return tree_of_tasks(root); })) < least_nodes ||
         nodes > most_nodes)
    ++root.name;
  bench.compare(
      {.row = "unbalanced tree, a node against " + name,
       .unit = "us",
       .round =
           [&] {
             return timed(nodes, nodes,
                          [&] { return first_word(trees.tree.invoke(1, bytes_of(root)).output); });
           },
       .baseline = rival,
       .baseline_round = rival_round(*system, "tree " + std::to_string(root.name) + " 0", nodes),
       .promises = promises});
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < members) {
    std::fputs("spawn_tree needs two cores\n", stderr);
    return 3;
  }
  tests::LocalExecutor executor({.programs = PROGRAMS});
  Crew crew = tests::take_crew(std::make_unique<tests::ExecutorCrews>(executor),
                               {.workers = members, .wait = Wait::blocking});
  const auto pids = crew.pids();
  for (std::size_t i = 0; i < pids.size(); ++i)
    if (auto pinned = pin(pids[i], cores[i % cores.size()]); !pinned) return 3;
  const std::filesystem::path functions(FUNCTIONS);
  const std::filesystem::path test_functions(TEST_FUNCTIONS);
  const CrewFunction fib =
      crew.function(tests::module_bytes(test_functions / "spawns_children.bc"), "fib");
  const CrewFunction tree = crew.function(tests::module_bytes(functions / "tree.bc"), "tree");
  const Description openmp{"OpenMP tasks (g++), same cores", bench.command_line(), ""};
  bench.compare({.row = "fib(20), a child",
                 .unit = "us",
                 .round =
                     [&] {
                       return timed(fib_tasks, fib_output, [&] {
                         return first_word(fib.invoke(1, bytes_of(fib_input)).output);
                       });
                     },
                 .baseline = openmp,
                 .baseline_round =
                     [&] {
                       return timed(fib_tasks, fib_output, [] {
                         return in_tasks([] { return fib_of_tasks(fib_input); });
                       });
                     },
                 .promises = {}});
  Branch root{.name = 1};
  while (in_tasks([&] { return tree_of_tasks(root); }) < 20'000) ++root.name;
  const std::uint64_t nodes = in_tasks([&] { return tree_of_tasks(root); });
  for (const std::uint32_t grain : {0U, 8U}) {
    root.grain = grain;
    bench.compare({.row = grain == 0 ? "unbalanced tree, a child for each node"
                                     : "unbalanced tree, the lowest 8 levels in one call, a node",
                   .unit = "us",
                   .round =
                       [&] {
                         return timed(nodes, nodes, [&] {
                           return first_word(tree.invoke(1, bytes_of(root)).output);
                         });
                       },
                   .baseline = openmp,
                   .baseline_round =
                       [&] {
                         return timed(nodes, nodes, [&] {
                           return in_tasks([&] { return tree_of_tasks(root); });
                         });
                       },
                   .promises = {}});
  }
  const Trees trees{.fib = fib, .tree = tree};
  compare_with(bench, "dask", "Dask.distributed", trees);
  compare_with(bench, "ray", "Ray", trees);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench{"spawn_tree", argc, argv};
  return orchid::bench::run(bench);
}
