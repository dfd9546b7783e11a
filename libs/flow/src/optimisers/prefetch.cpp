// What the next nodes need, while those before them run: their code is loaded by workers, and the
// objects that they will be given are brought together. It is asked for once for each node, and
// again as more of its objects are there.
#include <fmt/format.h>

#include "optimisers.h"

namespace orchid::flow {
namespace {

/// Nodes that are prepared at a time; what is behind these is prepared when it is nearer.
constexpr std::size_t most_at_once = 16;

class Prefetch final : public Optimiser {
 public:
  [[nodiscard]] std::string_view name() const override { return "prefetch"; }
  [[nodiscard]] std::string description() const override {
    return "while a node runs, workers load the functions of those that come next, and their data "
           "is brought to one host";
  }
  [[nodiscard]] Result<Decided> decide(const Situation& situation) override {
    Decided decided;
    for (const ComingNode& node : situation.coming) {
      if (decided.nodes.size() == most_at_once) break;
      decided.nodes.push_back(
          {.node = node.node,
           .prepare = node.values_there + 1,
           .why = fmt::format("prefetch: {} and {} of its values are made ready while {} runs",
                              node.function, node.values_there, node.after)});
    }
    return decided;
  }
};

}  // namespace

std::unique_ptr<Optimiser> make_prefetch() { return std::make_unique<Prefetch>(); }

}  // namespace orchid::flow
