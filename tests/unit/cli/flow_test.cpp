// `orchid flow` without an Orchid: what it says of documents, and what it writes.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_orchid.h"
#include "scratch_folder.h"

namespace orchid::cli {
namespace {

constexpr auto good_flow =
    "flow: sums\n"
    "functions: {sum: 'f64(span<f64>)'}\n"
    "inputs: {list: span<f64>}\n"
    "nodes: {total: {kind: reduce, function: sum, fan: 16}}\n"
    "edges: [{from: list, to: total}]\n"
    "outputs: {r: total}\n";

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

struct FlowFolder {
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path() / name) << text;
    return folder.path() / name;
  }
  tests::Scratch folder;
};

bool tells(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a flow is checked offline by what it says of its functions") {
  const FlowFolder place;
  const Ran ran = orchid({"flow", "check", "--offline", place.write("a.yaml", good_flow)});
  CHECK(ran.status == 0);
  CHECK(tells(ran.out, "a.yaml: good; 1 node\n"));
  const Ran as_json =
      orchid({"flow", "check", "--offline", "--json", place.write("a.yaml", good_flow)});
  CHECK(nlohmann::json::parse(as_json.out).at("compared_with_deployed") == false);
}

TEST_CASE("all faults of a flow are told, as lines and as a document") {
  const FlowFolder place;
  const std::string file = place.write("a.yaml", std::string(good_flow) + "colour: red\n");
  const Ran ran = orchid({"flow", "check", "--offline", file});
  CHECK(ran.status == 2);
  CHECK(tells(ran.err, "a.yaml:7:1: the flow has no field 'colour'"));
  const Ran as_json = orchid({"flow", "check", "--offline", "--json", file});
  CHECK(as_json.status == 2);
  CHECK(as_json.out.empty());
  const auto faults = nlohmann::json::parse(as_json.err).at("faults");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at("line") == 7);
  CHECK(faults[0].at("file") == file);
}

TEST_CASE("a flow is shown as text, as a picture and as a document in one form") {
  const FlowFolder place;
  const std::string file = place.write("a.yaml", good_flow);
  const auto shown = [&](const std::string& as) {
    const Ran ran = orchid({"flow", "show", "--offline", "--as", as, file});
    CHECK(ran.status == 0);
    return ran.out;
  };
  CHECK(tells(shown("text"), "  reduce  total: sum, groups of 16 gives f64\n"));
  CHECK(tells(shown("dot"), "digraph \"sums\""));
  CHECK_FALSE(tells(shown("yaml"), "fan"));  // 16 goes without saying
  const std::string again = place.write("b.yaml", shown("json"));
  CHECK(orchid({"flow", "show", "--offline", "--as", "json", again}).out == shown("json"));
}

TEST_CASE("a flow whose file is not there, or that has a node in a file that is not, is refused") {
  const FlowFolder place;
  const Ran missing = orchid({"flow", "check", "--offline", "/nowhere.yaml"});
  CHECK(missing.status == 2);
  CHECK(tells(missing.err, "/nowhere.yaml"));
  const std::string file =
      place.write("a.yaml", "flow: a\nnodes: {x: {kind: flow, file: no.yaml}}\noutputs: {r: x}\n");
  const Ran inner = orchid({"flow", "check", "--offline", file});
  CHECK(inner.status == 2);
  CHECK(tells(inner.err, "a.yaml:2:31:"));
  CHECK(tells(inner.err, "no.yaml"));
}

TEST_CASE("flows are made from templates, also from those of the user, and replace no file") {
  const FlowFolder place;
  const std::string own = place.folder.path();
  place.write("mine.yaml", "# Mine. More of it.\nflow: mine\n");
  CHECK(orchid({"flow", "new", "mine", "--templates", own}).out ==
        "# Mine. More of it.\nflow: mine\n");
  const auto listed =
      nlohmann::json::parse(orchid({"flow", "new", "--json", "--templates", own}).out);
  bool is_there = false;
  for (const auto& one : listed.at("templates"))
    is_there = is_there || (one.at("name") == "mine" && one.at("summary") == "Mine");
  CHECK(is_there);
  const Ran unknown = orchid({"flow", "new", "nothing"});
  CHECK(unknown.status == 2);
  CHECK(tells(unknown.err,
              "there is no template 'nothing'; there are: call, divide, flow, if, iterate, map"));
  const std::string out = own + "/new.yaml";
  CHECK(orchid({"flow", "new", "map", "--out", out}).status == 0);
  CHECK(tells(content_of(out), "kind: map"));
  const Ran again = orchid({"flow", "new", "map", "--out", out});
  CHECK(again.status == 2);
  CHECK(tells(again.err, "is there already"));
}

}  // namespace orchid::cli
