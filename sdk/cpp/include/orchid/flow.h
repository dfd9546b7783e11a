// orchid/flow.h: a flow built in C++ instead of written by hand. It gives the same document, which
// `orchid flow check`, `show` and `run` take.
//
//   orchid::Flow flow("sums");
//   const auto numbers = flow.input<std::span<const double>>("numbers");
//   const auto square = flow.map("square", {.each = {"square"}, .takes = {"list"}});
//   const auto total = flow.reduce("total", {.function = "sum"});
//   flow.connect(numbers, square.port("list"));
//   flow.connect(square, total);
//   flow.output("result", total);
//   std::cout << flow.json();
//
// What does not fit together is found when the document is checked, not here.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchid/values.h"

namespace orchid {

namespace sdk {
struct FlowDocument;
}

/// Where an edge begins or ends: an input, a node, or a port of a node. A value.
class FlowPlace {
 public:
  explicit FlowPlace(std::string name) : name_(std::move(name)) {}
  /// A port of this node, or an output of this flow that is a node.
  [[nodiscard]] FlowPlace port(std::string_view name) const {
    return FlowPlace(name_ + "." + std::string(name));
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// A function of a node with several, and the ports of the node that it takes; none given: those
/// that follow from its place.
struct FlowStep {
  std::string function{};
  std::vector<std::string> takes{};
  bool takes_no_port = false;  // not even those that follow from its place
};

/// How often a call is made before its node fails.
struct FlowRetry {
  unsigned attempts = 3;
  std::chrono::milliseconds back_off{100};
  std::vector<std::string> outcomes{};  // empty: what the platform is to blame for
};

/// What all nodes that call functions have.
struct FlowNodeOptions {
  std::vector<std::string>
      takes{};          // ports, in the order of the function's arguments; empty: 1, 2, …
  unsigned window = 0;  // calls that run at once; 0: any
  std::chrono::milliseconds deadline{0};  // of each call; 0: the platform's
  FlowRetry retry{};
  /// Functions that do the same as the node's own, of which the optimiser `grid` finds the fastest.
  /// Of call, map (of its `each`), reduce and iterate.
  std::vector<std::string> variants{};
  std::string host_kind{};  // of the hosts that its calls run on: "cpu", "gpu", "dpu"; empty: any
  std::string device{};     // of their workers: "cores", "gpu"; empty: as functions prefer
  std::string cluster{};    // of these hosts: its batch system's name; empty: any
};

struct FlowMap {
  FlowStep partition{};  // without one, the elements of the first port are the pieces
  FlowStep each{};
  std::string merge{};
  bool until_found = false;
  std::string until{};  // a function; not with `until_found`
  std::vector<std::string> takes{};
  FlowNodeOptions node{};  // its `takes` is not looked at
};

struct FlowReduce {
  std::string function{};
  unsigned fan = 16;
  FlowNodeOptions node{};
};

struct FlowIterate {
  std::string function{};
  unsigned times = 0;        // at most; 0: once, or as often as a step function wants
  bool until_found = false;  // a state that is not 0, false or empty ends it
  std::string until{};       // a function; not with `until_found`
  /// Of a step function (orchid/step.hpp): how long, and how many steps, a batch is. 0: not said.
  std::chrono::milliseconds budget{0};
  unsigned steps = 0;
  unsigned durable = 0;  // each so many'th state is kept as a file; 0: none
  FlowNodeOptions node{};
};

struct FlowEdge {
  bool durable = false;  // what goes over it is kept as a file
};

/// Hands out work while it goes, and gathers; its first port is the state.
struct FlowMaster {
  FlowStep hand_out{};   // span<WORK>(STATE)
  FlowStep each{};       // RESULT(WORK)
  std::string gather{};  // STATE(STATE,RESULT)
  FlowNodeOptions node{};
};

/// Divides a problem until its parts are small, solves these and combines.
struct FlowDivide {
  std::string divide{};   // span<PROBLEM>(PROBLEM); nothing where a problem is small enough
  FlowStep solve{};       // RESULT(PROBLEM)
  std::string combine{};  // RESULT(span<RESULT>)
  FlowNodeOptions node{};
};

struct FlowChoice {
  std::string if_true{};
  std::string if_false{};
  FlowNodeOptions node{};
};

/// Move-only; owned by one thread. A name that is used again replaces what had it.
class Flow {
 public:
  explicit Flow(std::string_view name);
  Flow(Flow&&) noexcept;
  Flow& operator=(Flow&&) noexcept;
  ~Flow();

  /// Says a function's signature, for a check where no Orchid runs.
  template <typename F>
  void declare(std::string_view function) {
    declare(function, values::signature_of<F>());
  }
  void declare(std::string_view function, std::string_view signature);

  template <typename T>
  FlowPlace input(std::string_view name) {
    const std::string_view type = values::signature_of<void(T)>();  // "void(T)"
    return input(name, type.substr(5, type.size() - 6));
  }
  FlowPlace input(std::string_view name, std::string_view type);

  FlowPlace call(std::string_view name, std::string_view function,
                 const FlowNodeOptions& options = {});
  FlowPlace map(std::string_view name, const FlowMap& map);
  FlowPlace reduce(std::string_view name, const FlowReduce& reduce);
  FlowPlace iterate(std::string_view name, const FlowIterate& iterate);
  FlowPlace choose(std::string_view name, const FlowChoice& choice);
  FlowPlace master(std::string_view name, const FlowMaster& master);
  FlowPlace divide(std::string_view name, const FlowDivide& division);
  /// Another flow, in a file beside this one's.
  FlowPlace flow(std::string_view name, std::string_view file);

  void connect(const FlowPlace& from, const FlowPlace& to, const FlowEdge& edge = {});
  /// A value as JSON. Throws `orchid::Error` `bad_request`: it is none.
  void set(const FlowPlace& to, std::string_view json);
  void output(std::string_view name, const FlowPlace& from);

  /// What decides how it runs: "speed", "granularity", or a library by its path; with options as
  /// JSON: {"watts": 120}. Those that are added later count more. Throws as `set`.
  void optimise(std::string_view optimiser, std::string_view options = "{}");

  /// The document.
  [[nodiscard]] std::string json() const;

 private:
  std::unique_ptr<sdk::FlowDocument> document_;
};

}  // namespace orchid
