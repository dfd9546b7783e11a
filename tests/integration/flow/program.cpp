// A program that runs a flow by itself: program NUMBER. With `cancel` behind it, it stops the flow
// once the first node is done.
#include <cstdint>
#include <exception>
#include <iostream>
#include <stop_token>
#include <string>
#include <vector>

#include "orchid/run_flow.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    orchid::Flow flow("program");
    const auto number = flow.input<std::uint64_t>("n");
    const auto first = flow.call("first", "parts.twice");
    const auto all = flow.map(
        "all",
        {.partition = {"parts.up_to", {"n"}}, .each = {"parts.stays_at_three"}, .takes = {"n"}});
    flow.connect(number, first);
    flow.connect(first, all.port("n"));
    flow.output("numbers", all);
    std::stop_source source;
    orchid::FlowRunOptions options{.workers = 2, .stop = source.get_token()};
    options.node_changed = [&](const orchid::FlowNodeStatus& node) {
      std::cout << node.name << " " << to_string(node.state) << "\n";
      if (argc > 2 && node.name == "first" && node.state == orchid::FlowNodeState::done)
        source.request_stop();
    };
    orchid::Client client;
    const auto result = orchid::run_flow(
        client, flow, orchid::FlowInputs().set<std::uint64_t>("n", std::stoul(argv[1])), options);
    std::cout << to_string(result.outcome()) << "\n";
    if (result.outcome() == orchid::FlowOutcome::done)
      for (const std::uint64_t one : result.get<std::vector<std::uint64_t>>("numbers"))
        std::cout << one << "\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
