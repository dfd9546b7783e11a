#include "flow_under_test.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "flow/values.h"
#include "module/typed_values.h"

namespace orchid::flow {
namespace {

using Json = nlohmann::json;

struct Function {
  const char* signature;
  Json (*run)(const Json& arguments);
};

Json numbers_up_to(std::uint64_t count) {
  Json list = Json::array();
  for (std::uint64_t i = 1; i <= count; ++i) list.push_back(i);
  return list;
}

/// Variants of a function do what it does.
std::map<std::string, Function> with_variants(std::map<std::string, Function> all) {
  for (const char* name : {"twice_too", "twice_a", "twice_b", "twice_c", "twice_d"})
    all.emplace(name, all.at("twice"));
  all.emplace("doubles_too", all.at("doubles"));
  return all;
}

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = with_variants(
      {{"twice", {"u64(u64)", [](const Json& a) -> Json { return a[0].get<std::uint64_t>() * 2; }}},
       {"doubles",
        {"span<u64>(span<u64>)",
         [](const Json& a) {
           Json list = Json::array();
           for (const Json& one : a[0]) list.push_back(one.get<std::uint64_t>() * 2);
           return list;
         }}},
       {"sum",
        {"u64(span<u64>)",
         [](const Json& a) -> Json {
           std::uint64_t sum = 0;
           for (const Json& one : a[0]) sum += one.get<std::uint64_t>();
           return sum;
         }}},
       {"count",
        {"span<u64>(u64)", [](const Json& a) { return numbers_up_to(a[0].get<std::uint64_t>()); }}},
       {"empty", {"span<u64>(u64)", [](const Json&) { return Json::array(); }}},
       {"thrice",
        {"u64(u64)", [](const Json& a) -> Json { return a[0].get<std::uint64_t>() * 3; }}},
       {"is_big",
        {"bool(u64)", [](const Json& a) -> Json { return a[0].get<std::uint64_t>() > 50; }}},
       {"next",
        {"u64(u64,u64)",
         [](const Json& a) -> Json {
           return a[0].get<std::uint64_t>() + a[1].get<std::uint64_t>();
         }}},
       {"seven",
        {"string(u64,u64)",
         [](const Json& a) -> Json { return a[0] == a[1] ? "found " + a[0].dump() : ""; }}},
       {"join",
        {"string(string,string)",
         [](const Json& a) -> Json { return a[0].get<std::string>() + a[1].get<std::string>(); }}},
       {"add_three",
        {"u64(u64,u64,u64)",
         [](const Json& a) -> Json {
           return a[0].get<std::uint64_t>() + a[1].get<std::uint64_t>() + a[2].get<std::uint64_t>();
         }}},
       {"hand",  // four pieces at first, and another one when these have been gathered
        {"span<u64>(u64)",
         [](const Json& a) {
           const auto state = a[0].get<std::uint64_t>();
           return state == 0 ? numbers_up_to(4) : state == 20 ? Json::array({5}) : Json::array();
         }}},
       {"halves",
        {"span<u64>(u64)",
         [](const Json& a) {
           const auto size = a[0].get<std::uint64_t>();
           return size <= 2 ? Json::array() : Json::array({size / 2, size - size / 2});
         }}},
       {"all", {"span<u64>()", [](const Json&) { return numbers_up_to(3); }}},
       {"say", {"void(u64)", [](const Json&) -> Json { return nullptr; }}}});
  return all;
}

/// All of `bytes` as a list of arguments: their JSON is that of results, one after the other.
Json arguments_of(const module::Signature& signature, std::span<const std::byte> bytes) {
  Json list = Json::array();
  for (const module::Type& type : signature.arguments) {
    const PortType port{.is_bytes = false, .type = type};
    std::size_t size = 8;
    while (size <= bytes.size() && !fits(port, bytes.first(size))) size += 8;
    REQUIRE(size <= bytes.size());
    list.push_back(Json::parse(json_of_value(port, bytes.first(size)).value()));
    bytes = bytes.subspan(size);
  }
  REQUIRE(bytes.empty());
  return list;
}

}  // namespace

Value value(const std::string& type, const std::string& json) {
  return std::make_shared<const Bytes>(value_of_json(parse_port_type(type).value(), json).value());
}

std::string text_of(const PortType& type, const Value& value) {
  REQUIRE(value != nullptr);
  return json_of_value(type, *value).value();
}

std::vector<std::string> faults_of(const std::string& text) {
  const Parsed parsed = parse_document(text, "f.yaml");
  auto faults = parsed.faults;
  if (faults.empty()) faults = check(parsed.document, {}).faults;
  std::vector<std::string> lines;
  for (const Fault& fault : faults) lines.push_back(to_string(fault));
  return lines;
}

Plan plan_of(const std::string& text) {
  const Parsed parsed = parse_document(text, "f.yaml");
  for (const Fault& fault : parsed.faults) FAIL_CHECK(to_string(fault));
  Checked checked = check(parsed.document, {});
  for (const Fault& fault : checked.faults) FAIL_CHECK(to_string(fault));
  return std::move(checked.plan);
}

std::string functions_section() {
  std::string text = "functions:\n";
  for (const auto& [name, function] : functions())
    text += "  " + name + ": " + function.signature + "\n";
  return text;
}

std::string four_kinds() {
  return "flow: all\n" + functions_section() +
         "inputs: {n: u64, wanted: u64}\n"
         "nodes:\n"
         "  doubled: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: "
         "twice}\n"
         "  total: {kind: reduce, function: sum, fan: 3}\n"
         "  search: {kind: map, takes: [n, wanted], partition: {function: count, takes: [n]}, "
         "each: seven, until: found}\n"
         "  grow: {kind: iterate, function: next, takes: [state, by], times: 40, until: "
         "{function: is_big}}\n"
         "edges:\n"
         "  - {from: n, to: doubled.n}\n"
         "  - {from: doubled, to: total}\n"
         "  - {from: n, to: search.n}\n"
         "  - {from: wanted, to: search.wanted}\n"
         "  - {from: total, to: grow.state}\n"
         "  - {value: 3, to: grow.by}\n"
         "outputs: {total: total, search: search, grow: grow}\n";
}

std::string batches_of_steps() {
  return "flow: steps\nfunctions: {walk: \"step<u64>(struct<16,8:u64@0,u64@8>,u64)\"}\n"
         "inputs: {n: u64}\n"
         "nodes: {steps: {kind: iterate, function: walk, budget: 1s}}\n"
         "edges: [{from: n, to: steps}]\noutputs: {n: steps}\n";
}

Answered answer_of_batch(const StartCall& call, std::uint64_t steps) {
  const std::array<std::uint64_t, 3> words{0, steps, 7};  // the head, then a state
  const auto bytes = std::as_bytes(std::span(words));
  return {.call = call.call, .output = Bytes(bytes.begin(), bytes.end())};
}

Answered answer_to(const StartCall& call) {
  const std::string& text = call.function->signature;
  const auto signature = module::parse_signature(text);
  REQUIRE(signature.has_value());
  const Json result =
      functions().at(call.function->function).run(arguments_of(*signature, call.input));
  if (call.function->result.is_nothing()) return {.call = call.call, .output = {}};
  return {.call = call.call, .output = value_of_json(call.function->result, result.dump()).value()};
}

void Platform::take(std::vector<Action> actions) {
  for (Action& action : actions) {
    if (auto* start = std::get_if<StartCall>(&action)) {
      ++calls[start->function->function];
      open_.push_back(std::move(*start));
      most_open = std::max(most_open, open_.size());
    } else if (auto* stop = std::get_if<StopCall>(&action)) {
      std::erase_if(open_, [&](const StartCall& call) { return call.call == stop->call; });
      stopped.push_back(*stop);
    } else if (auto* changed = std::get_if<NodeChanged>(&action)) {
      CHECK(states[changed->node] != NodeState::done);
      states[changed->node] = changed->state;
    } else if (auto* failed = std::get_if<AttemptFailed>(&action)) {
      failures.push_back(std::move(*failed));
    } else if (auto* at = std::get_if<WakeAt>(&action)) {
      wake = at->at;
    } else {
      ++ends;
    }
  }
}

Answered Platform::answer(std::mt19937_64& random) {
  REQUIRE_FALSE(open_.empty());
  const auto at = static_cast<std::ptrdiff_t>(random() % open_.size());
  const StartCall call = std::move(open_[static_cast<std::size_t>(at)]);
  open_.erase(open_.begin() + at);
  return answer_to(call);
}

CallId Platform::lose(std::size_t number) {
  const CallId call = open_.at(number).call;
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(number));
  return call;
}

void Platform::restart(const Engine& engine) {
  open_.clear();
  wake.reset();
  for (auto& [node, state] : states) state = engine.progress(node).state;
}

std::map<std::string, std::string> outputs_of(const Plan& plan, const Engine& engine) {
  std::map<std::string, std::string> outputs;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    outputs[plan.outputs[i].name] = text_of(plan.outputs[i].type, engine.output(i));
  return outputs;
}

std::map<std::string, std::string> outputs_of(const Plan& plan, const std::vector<Value>& inputs) {
  auto engine = Engine::start(plan, inputs, {});
  REQUIRE(engine.has_value());
  Platform platform(plan);
  std::mt19937_64 random(1);
  platform.take(engine->apply(Tick{}, Time{}));
  while (engine->outcome() == FlowOutcome::running)
    platform.take(engine->apply(platform.answer(random), Time{}));
  REQUIRE_MESSAGE(engine->outcome() == FlowOutcome::done,
                  (engine->failure() ? engine->failure()->message : std::string()));
  CHECK(platform.ends == 1);
  return outputs_of(plan, *engine);
}

}  // namespace orchid::flow
