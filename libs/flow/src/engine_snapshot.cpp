// The engine's state as JSON, and back. What is open or delayed is not in it: it is done again.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine_branching.h"
#include "flow/engine.h"
#include "foundation/base64.h"

namespace orchid::flow {
namespace {

using Json = nlohmann::json;

constexpr int format = 1;

Json json_of(std::span<const std::byte> bytes) { return to_base64(bytes); }

/// Throws nlohmann's exceptions, as all that reads here.
Bytes bytes_of(const Json& json) {
  auto bytes = parse_base64(json.get_ref<const std::string&>());
  if (!bytes) throw std::invalid_argument(bytes.error().message);
  return std::move(*bytes);
}

void must(bool holds) {
  if (!holds) throw std::invalid_argument("its parts do not fit together");
}

}  // namespace

/// What a snapshot sees of an engine.
struct EngineSnapshot {
  using Stage = Engine::Stage;
  using NodeRun = Engine::NodeRun;

  static Json json_of_master(const Engine::MasterRun& master) {
    Json work = Json::array();
    for (const auto& [number, item] : master.work) work.push_back({number, json_of(item)});
    Json results = Json::array();
    for (const Bytes& result : master.results) results.push_back(json_of(result));
    Json json{{"asks", master.asks},         {"asked", master.asked},
              {"gathered", master.gathered}, {"handed_out", master.handed_out},
              {"work", std::move(work)},     {"results", std::move(results)}};
    if (master.head) json["head"] = *master.head;
    return json;
  }

  static Json json_of_tree(const std::vector<Engine::Branch>& tree) {
    Json list = Json::array();
    for (const Engine::Branch& branch : tree)
      list.push_back({static_cast<int>(branch.state), json_of(branch.problem), branch.parent,
                      branch.first_child, branch.children, json_of(branch.result)});
    return list;
  }

  static void read_master(NodeRun& run, const PlannedNode& planned, const Json& json) {
    auto master = std::make_unique<Engine::MasterRun>();
    master->asks = json.at("asks").get<bool>();
    master->asked = json.at("asked").get<std::uint64_t>();
    master->gathered = json.at("gathered").get<std::uint64_t>();
    master->handed_out = json.at("handed_out").get<std::uint64_t>();
    for (const Json& one : json.at("work")) {
      const auto number = one.at(0).get<std::uint64_t>();
      must(number < master->handed_out);
      Bytes item = bytes_of(one.at(1));
      must(fits(element_of(planned.pieces), item));
      master->work[number] = std::move(item);
    }
    for (const Json& one : json.at("results")) {
      master->results.push_back(bytes_of(one));
      must(fits(planned.main.result, master->results.back()));
    }
    if (json.contains("head")) {
      master->head = json.at("head").get<std::uint64_t>();
      const BranchRole role = role_of(*master->head);
      must(role == BranchRole::begin || (role == BranchRole::end && !master->results.empty()));
    }
    // It would wait for ever.
    must(master->head.has_value() || !master->work.empty());
    must(fits(planned.gives, *run.about));
    run.master = std::move(master);
  }

  /// What its branches say of each other is followed later without a look.
  static void read_tree(NodeRun& run, const PlannedNode& planned, const Json& json) {
    using State = Engine::Branch::State;
    auto tree = std::make_unique<std::vector<Engine::Branch>>();
    for (const Json& one : json) {
      const int state = one.at(0).get<int>();
      must(state >= 0 && state <= static_cast<int>(State::done));
      tree->push_back({.state = static_cast<State>(state),
                       .problem = bytes_of(one.at(1)),
                       .parent = one.at(2).get<std::uint64_t>(),
                       .first_child = one.at(3).get<std::uint64_t>(),
                       .children = one.at(4).get<std::uint64_t>(),
                       .result = bytes_of(one.at(5))});
    }
    must(!tree->empty());
    std::uint64_t next = 1;  // the first that is nobody's child yet
    for (std::uint64_t i = 0; i < tree->size(); ++i) {
      Engine::Branch& branch = (*tree)[i];
      const bool has_problem = branch.state == State::divides || branch.state == State::solves;
      if (has_problem) must(fits(element_of(planned.pieces), branch.problem));
      const bool was_divided = branch.children != 0;
      must(!has_problem || !was_divided);
      must(was_divided || (branch.state != State::waits && branch.state != State::combines));
      if (!was_divided) continue;
      must(branch.first_child > i && branch.first_child < tree->size() &&
           branch.children <= tree->size() - branch.first_child);
      for (std::uint64_t k = 0; k < branch.children; ++k) {
        const Engine::Branch& child = (*tree)[branch.first_child + k];
        must(child.parent == i);
        ++next;
        const bool is_done = child.state == State::done;
        if (!is_done) ++branch.missing;
        const bool is_wanted = is_done && branch.state != State::done;
        if (is_wanted) must(fits(planned.main.result, child.result));
      }
      if (branch.state == State::waits) must(branch.missing != 0);
      if (branch.state == State::combines || branch.state == State::done) must(branch.missing == 0);
    }
    must(next == tree->size());
    must(tree->front().state != State::done);
    run.tree = std::move(tree);
  }

  static Json json_of_node(const NodeRun& run) {
    Json json{{"state", to_string(run.state)}};
    if (run.kept != nullptr) json["kept"] = {run.kept_step, json_of(*run.kept)};
    if (run.state == NodeState::done) {
      if (run.value) json["value"] = json_of(*run.value);
      json["total"] = run.total;
      json["in_order"] = run.in_order;
      json["step"] = run.step;
      return json;
    }
    if (run.about == nullptr) return json;
    json["about"] = json_of(*run.about);
    json["stage"] = static_cast<int>(run.stage);
    if (run.stage == Stage::merge) json["pieces"] = run.pieces;
    json["step"] = run.step;
    json["total"] = run.total;
    json["in_order"] = run.in_order;
    json["gathered"] = {run.gathered.count(), json_of(run.gathered.elements())};
    for (const auto& [index, ahead] : run.ahead)
      json["ahead"].push_back({index, json_of(ahead.result), ahead.pieces});
    if (run.state_step != run.step) json["state_step"] = run.state_step;
    if (run.keeping) json["keeping"] = json_of(run.result);
    if (run.master != nullptr) json["master"] = json_of_master(*run.master);
    if (run.tree != nullptr) json["tree"] = json_of_tree(*run.tree);
    if (!run.last.empty()) json["last"] = json_of(run.last);
    for (const auto& [index, count] : run.failures) json["failures"].push_back({index, count});
    return json;
  }

  static std::string write(const Engine& engine) {
    Json nodes = Json::array();
    for (std::size_t i = 0; i < engine.nodes_.size(); ++i)
      if (engine.nodes_[i].state != NodeState::waiting || engine.nodes_[i].kept != nullptr)
        nodes.push_back({i, json_of_node(engine.nodes_[i])});
    Json rounds = Json::array();
    for (std::size_t i = 0; i < engine.nodes_.size(); ++i)
      if (engine.nodes_[i].round != 0) rounds.push_back({i, engine.nodes_[i].round});
    Json inputs = Json::array();
    for (const Value& input : engine.inputs_) inputs.push_back(json_of(*input));
    return Json{{"format", format},
                {"flow", engine.plan_->name},
                {"fingerprint", fmt::format("{:016x}", engine.plan_->fingerprint)},
                {"key", engine.options_.key},
                {"generation", engine.generation_},
                {"outcome", to_string(engine.outcome_)},
                {"inputs", std::move(inputs)},
                {"rounds", std::move(rounds)},
                {"nodes", std::move(nodes)}}
        .dump();
  }

  template <typename Enum, typename... Values>
  static Enum named(const Json& json, Values... values) {
    const auto& name = json.get_ref<const std::string&>();
    std::optional<Enum> found;
    ((to_string(values) == name ? void(found = values) : void()), ...);
    must(found.has_value());
    return *found;
  }

  static void read_node(Engine& engine, std::uint32_t node, const Json& json) {
    const PlannedNode& planned = engine.plan_->nodes[node];
    NodeRun& run = engine.nodes_[node];
    run.state = named<NodeState>(json.at("state"), NodeState::waiting, NodeState::running,
                                 NodeState::done, NodeState::failed, NodeState::cancelled);
    must(run.state != NodeState::waiting || json.contains("kept"));
    if (json.contains("kept")) {
      must(planned.kind == NodeKind::iterate && planned.gives.is_data());
      run.kept_step = json.at("kept").at(0).get<std::uint64_t>();
      run.kept = std::make_shared<const Bytes>(bytes_of(json.at("kept").at(1)));
      must(fits(planned.gives, *run.kept));
    }
    if (run.state == NodeState::done) {
      read_done(run, planned, json);
      return;
    }
    if (!json.contains("about")) {
      run.state = run.state == NodeState::running ? NodeState::waiting : run.state;
      return;
    }
    run.about = std::make_shared<const Bytes>(bytes_of(json.at("about")));
    const int stage = json.at("stage").get<int>();
    must(stage >= 0 && stage <= static_cast<int>(Stage::merge));
    run.stage = static_cast<Stage>(stage);
    run.step = json.at("step").get<std::uint64_t>();
    run.total = json.at("total").get<std::uint64_t>();
    run.pieces = json.value("pieces", std::uint64_t{0});
    run.in_order = json.at("in_order").get<std::uint64_t>();
    must(run.in_order < run.total || is_branching(planned.kind));
    const Json& gathered = json.at("gathered");
    run.gathered = Gathering::of(planned.main.result, gathered.at(0).get<std::uint64_t>(),
                                 bytes_of(gathered.at(1)));
    for (const Json& one : json.value("ahead", Json::array()))
      run.ahead[one.at(0).get<std::uint64_t>()] = {
          .result = bytes_of(one.at(1)),
          // Those from before there were runs have no number.
          .pieces = one.size() > 2 ? one.at(2).get<std::uint64_t>() : 1};
    for (const Json& one : json.value("failures", Json::array()))
      run.failures[one.at(0).get<std::uint64_t>()] = one.at(1).get<unsigned>();
    if (json.contains("last")) run.last = bytes_of(json.at("last"));
    run.state_step = json.value("state_step", run.step);
    run.has_own_state = planned.kind == NodeKind::iterate && run.state_step != 0;
    read_keeping(run, planned, json);
    if (is_branching(planned.kind)) return read_branching(run, planned, json);
    check(engine, node);
    Engine::rewind(run);
  }

  static void read_keeping(NodeRun& run, const PlannedNode& planned, const Json& json) {
    run.keeping = json.contains("keeping");
    if (!run.keeping) return;
    run.result = bytes_of(json.at("keeping"));
    must(planned.gives.is_data());
    must(run.result.empty() ? run.has_own_state : fits(planned.gives, run.result));
  }

  static void read_branching(NodeRun& run, const PlannedNode& planned, const Json& json) {
    must(run.stage == Stage::main && run.total == 0 && run.in_order == 0 && run.ahead.empty());
    if (planned.kind == NodeKind::master)
      read_master(run, planned, json.at("master"));
    else
      read_tree(run, planned, json.at("tree"));
    Engine::rewind(run);
  }

  static void read_done(NodeRun& run, const PlannedNode& planned, const Json& json) {
    run.total = json.at("total").get<std::uint64_t>();
    run.in_order = json.at("in_order").get<std::uint64_t>();
    run.step = json.at("step").get<std::uint64_t>();
    if (!json.contains("value")) return;
    run.value = std::make_shared<const Bytes>(bytes_of(json.at("value")));
    must(fits(planned.gives, *run.value));
  }

  /// Whether the elements are as many as there is room for.
  static bool holds(const Gathering& gathering, const PortType& result) {
    const bool counts = !result.is_bytes && !result.is_nothing();
    const std::size_t size = gathering.elements().size();
    return !counts ||
           (gathering.count() <= size && gathering.count() * result.type.element_size() == size);
  }

  /// Whether what is read later by index is there.
  static void check(const Engine& engine, std::uint32_t node) {
    const PlannedNode& planned = engine.plan_->nodes[node];
    const NodeRun& run = engine.nodes_[node];
    std::uint64_t begin = run.in_order + 1;
    for (const auto& [index, ahead] : run.ahead) {
      must(index >= begin && index < run.total);
      must(ahead.pieces != 0 && ahead.pieces <= run.total - index);
      must(planned.in_runs || ahead.pieces == 1);
      begin = index + ahead.pieces;
      must(fits(planned.main.result, ahead.result) ||
           (ahead.result.empty() && planned.ends != Until::never));
    }
    must(run.last.empty() || fits(planned.main.result, run.last));
    must(holds(run.gathered, planned.main.result));
    if (planned.kind == NodeKind::iterate) must(fits(planned.gives, *run.about));
    if (run.stage == Stage::merge) must(fits(gathered(planned.main.result), *run.about));
    const bool has_pieces = planned.kind == NodeKind::map || planned.kind == NodeKind::reduce;
    if (run.stage != Stage::main || !has_pieces) {
      must(run.total == 1);
      return;
    }
    must(fits(planned.pieces, *run.about));
    const std::uint64_t fan = planned.kind == NodeKind::reduce ? planned.fan : 1;
    must(run.total == (count_of(*run.about) + fan - 1) / fan);
  }

  static void count_data_of(Engine& engine, std::uint32_t node) {
    const PlannedNode& planned = engine.plan_->nodes[node];
    const NodeRun& run = engine.nodes_[node];
    if (run.value != nullptr) engine.count_data(planned.gives, *run.value);
    if (run.has_own_state) engine.count_data(planned.gives, *run.about);
    if (!run.result.empty()) engine.count_data(planned.gives, run.result);
    if (run.kept != nullptr) engine.count_data(planned.gives, *run.kept);
    if (run.kept != nullptr) engine.in_files_.insert(data_of(*run.kept));
    if (run.value != nullptr && planned.keeps_value) engine.in_files_.insert(data_of(*run.value));
  }

  /// What follows from the states of all nodes.
  static void derive(Engine& engine) {
    for (std::uint32_t i = 0; i < engine.nodes_.size(); ++i) {
      const bool is_done = engine.nodes_[i].state == NodeState::done;
      if (!is_done) continue;
      --engine.nodes_left_;
      for (const std::uint32_t consumer : engine.plan_->nodes[i].consumers)
        --engine.nodes_[consumer].missing;
      for (const PlannedPort& port : engine.plan_->nodes[i].ports)
        if (port.source.kind == Source::Kind::node) --engine.nodes_[port.source.index].uses;
    }
    for (std::uint32_t i = 0; i < engine.nodes_.size(); ++i) {
      NodeRun& run = engine.nodes_[i];
      // What it was given may be on its way to be made again, for others.
      if (run.state == NodeState::done) run.missing = 0;
      count_data_of(engine, i);
      if (run.state == NodeState::done)
        must(run.value != nullptr || (run.uses == 0 && !engine.plan_->nodes[i].is_output));
      else
        must(run.missing == 0 || run.about == nullptr);
      if (run.state == NodeState::running) engine.queue(i);
    }
  }

  static Result<Engine> read(const Plan& plan, std::string_view text,
                             const EngineOptions& options) {
    const Json json = Json::parse(text);
    must(json.at("format") == format);
    if (json.at("fingerprint") != fmt::format("{:016x}", plan.fingerprint))
      return fail(ErrorCode::bad_request,
                  fmt::format("the snapshot is of another flow than '{}' is now; run it from the "
                              "beginning",
                              plan.name));
    std::vector<Value> inputs;
    for (const Json& input : json.at("inputs"))
      inputs.push_back(std::make_shared<const Bytes>(bytes_of(input)));
    auto engine = Engine::start(plan, std::move(inputs), options);
    if (!engine) return engine;
    engine->options_.key = json.at("key").get<std::string>();
    engine->generation_ = json.at("generation").get<std::uint32_t>();
    for (const Json& node : json.at("nodes")) {
      const auto index = node.at(0).get<std::uint32_t>();
      must(index < plan.nodes.size());
      read_node(*engine, index, node.at(1));
    }
    for (const Json& one : json.value("rounds", Json::array())) {
      const auto index = one.at(0).get<std::uint32_t>();
      must(index < plan.nodes.size());
      engine->nodes_[index].round = one.at(1).get<std::uint32_t>();
    }
    engine->outcome_ =
        named<FlowOutcome>(json.at("outcome"), FlowOutcome::running, FlowOutcome::done,
                           FlowOutcome::failed, FlowOutcome::cancelled);
    derive(*engine);
    return engine;
  }
};

std::string Engine::snapshot() const { return EngineSnapshot::write(*this); }

Result<Engine> Engine::resume(const Plan& plan, std::string_view snapshot,
                              const EngineOptions& options) {
  try {
    return EngineSnapshot::read(plan, snapshot, options);
  } catch (const std::exception& error) {  // nlohmann's, and those of `must`
    return fail(
        ErrorCode::bad_request,
        fmt::format("the snapshot is damaged: {}; run the flow from the beginning", error.what()));
  }
}

}  // namespace orchid::flow
