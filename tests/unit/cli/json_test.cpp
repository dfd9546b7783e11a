#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "calls/reply_delivery.h"
#include "commands/commands.h"
#include "orchid/values.h"
#include "run_orchid.h"
#include "scratch_folder.h"

namespace orchid::cli {
namespace {

using nlohmann::json;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

const std::string described_function =
    R"json({"name":"f","version":"sha256:ab","size":1,"targets":[],
            "entries":[{"name":"f","signature":"f64(f64)"}]})json";
const std::string invocation_document = R"({"id":"i-1","state":"done","outcome":"ok"})";

FakeAnswer answer_invocation(const FakeRequest& request) {
  if (request.method == "DELETE") {
    if (request.target.ends_with("/missing")) return {.status = 404, .body = R"({"detail":"no"})"};
    return {.status = 202, .body = R"({"id":"i-1","cancelling":true})"};
  }
  if (request.target.ends_with("/logs"))
    return {.body = "said \xff\n", .headers = {"Orchid-Log-Dropped: 77"}};
  if (request.target.ends_with("/output"))
    return {.body = "kept", .headers = {"Server-Timing: run;dur=2"}};
  if (request.target == "/v1/invocations")
    return {.body = R"({"invocations":[)" + invocation_document + "]}"};
  return {.body = invocation_document};
}

FakeAnswer answer_data(const FakeRequest& request) {
  const std::string described =
      R"({"id":"d-1","name":"f","version":1,"bytes":4,"state":"sealed","hosts":["n1"]})";
  if (request.method == "DELETE") return {.status = 204};
  if (request.method != "GET") return {.status = 201, .body = described};
  if (request.target == "/v1/data") return {.body = "{\"data\": [" + described + "]}"};
  return {.body = request.target.ends_with("/document") ? described : "text"};
}

/// A gateway with one function, which gives its input back.
FakeAnswer answer(const FakeRequest& request) {
  if (request.target.starts_with("/v1/data")) return answer_data(request);
  if (request.target.starts_with("/v1/invocations")) return answer_invocation(request);
  if (request.target == "/v1/page/links")
    return {.status = 201, .body = R"({"path":"/#link=0a","addresses":[]})"};
  if (request.method == "POST" && request.header("prefer") == "respond-async")
    return {.status = 202, .body = R"({"id":"i-1"})"};
  if (request.method == "POST")
    return {.body = request.body,
            .headers = {"Orchid-Invocation: i-1", "Server-Timing: queue;dur=0.5, run;dur=2"}};
  if (request.method == "DELETE") return {.status = 204};
  if (request.method == "PUT") return {.status = 201, .body = described_function};
  if (request.target == "/v1/functions")
    return {.body = "{\n\"functions\": [" + described_function + "]}\n"};
  if (request.target == "/v1/flows/templates")
    return {.body = R"({"templates":[{"name":"map","summary":"Ours","text":"flow: ours"}]})"};
  if (request.target == "/v1/leases") return {.body = R"({"leases":[]})"};
  if (request.target.starts_with("/v1/hosts")) return {.body = R"({"hosts":[],"clusters":[]})"};
  if (request.target.starts_with("/v1/placement")) return {.body = R"({"hosts":[]})"};
  if (request.target.ends_with("/placement")) return {.body = R"({"decisions":[]})"};
  return {.body = described_function};
}

/// A folder with a running Orchid's files, a gateway behind them, and things to give to commands.
struct Place {
  Place() : gateway(scratch / "gateway.sock", answer) {
    write("gateway.json", json{{"addresses", {"http://127.0.0.1:1"}},
                               {"socket", (scratch / "gateway.sock").string()},
                               {"token_file", (scratch / "token").string()},
                               {"state", scratch.path().string()}}
                              .dump());
    write("token", "orc_secret\n");
    write("module.orc", "module");
    write("text", "text");
    write("flow.yaml",
          "flow: f\nfunctions: {f: bytes}\nnodes: {a: {kind: call, function: f}}\n"
          "edges: [{value: x, to: a}]\noutputs: {r: a}\n");
    write("bytes", std::string("\xff\0", 2));
    write("source.c",
          "#include \"orchid/function.h\"\n"
          "struct pair { int first, second; };\n"
          "ORCHID_ENTRY(nothing) {\n"
          "  (void)call, (void)input, (void)input_size;\n"
          "  struct pair both = {ORCHID_OK, 1};\n"
          "  return both.first;\n"
          "}\n");
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(scratch / name, std::ios::binary) << content;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(scratch / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] Ran run(std::vector<std::string> words) const {
    words.emplace_back("--json");
    return orchid(gateway, std::move(words));
  }
  [[nodiscard]] json document(std::vector<std::string> words) const {
    const Ran ran = run(std::move(words));
    REQUIRE_MESSAGE(ran.status == 0, ran.err);
    CHECK(ran.err.empty());
    return json::parse(ran.out);
  }
  tests::Scratch scratch;
  FakeGateway gateway;
};

using Words = std::vector<std::string>;

/// For each command some ways to call it that print a document.
std::map<std::string, std::vector<Words>> ways_to_call(const Place& place) {
  const std::string text = place.scratch / "text";
  const std::string out = place.scratch / "out";
  return {{"build", {{place.scratch / "source.c", "-o", place.scratch / "built.orc"}}},
          {"inspect", {{place.scratch / "built.orc"}}},  // what `build` has left
          {"deploy", {{place.scratch / "module.orc"}}},
          {"list", {{}, {"--names"}}},
          {"describe", {{"f"}}},
          {"delete", {{"f"}, {"f", "g"}}},
          {"invoke",
           {{"f", "--in", text},
            {"f", "--in", text, "--out", out, "--time"},
            {"f", "--in", text, "--async"},
            {"f", "--args", "[2.5]"}}},
          {"status", {{}, {"i-1"}, {"i-1", "i-2"}}},
          {"result", {{"i-1"}, {"i-1", "--out", out}}},
          {"wait", {{"i-1"}, {"i-1", "i-2"}}},
          {"cancel", {{"i-1"}, {"i-1", "i-2"}}},
          {"logs", {{"i-1"}, {"i-1", "--follow"}}},
          {"data",
           {{"list"},
            {"put", "f", text},
            {"put", "--unnamed", text},
            {"get", "f", "--out", out},
            {"copy", "f", "--to", "n1"},
            {"describe", "f"},
            {"delete", "f"},
            {"delete", "f", "f@1"}}},
          {"flow",
           {{"check", "--offline", place.scratch / "flow.yaml"},
            {"show", "--offline", place.scratch / "flow.yaml"},
            {"new"},
            {"new", "map"},
            {"new", "map", "--out", place.scratch / "new.yaml"}}},  // `run` is tried with workers
          {"hosts", {{}, {"--forecast"}}},
          {"explain", {{}, {"l-1-1"}, {"i-1"}}},
          {"leases", {{}, {"--release", "l-1-1"}, {"--release", "l-1-1", "l-1-2"}}},
          {"memory", {{"list"}, {"release", "l-1-1"}}},
          // Without Slurm: the last one gives the place its mark.
          {"pilot", {{"list"}, {"stop", "--all"}, {"start", "--dry-run", "--address", "h:1"}}},
          // The others are for the inside of jobs.
          {"share", {{"status"}, {"status", "17"}}},
          {"token", {{}, {"--url"}}},
          {"dashboard", {{"--no-open", "--url", "http://127.0.0.1:1"}}},
          {"doctor", {{}}}};
}

bool is_one_document(const std::string& text) {
  return std::ranges::count(text, '\n') == 1 && text.ends_with('\n') && json::accept(text);
}

std::vector<std::string> all_commands() {
  CLI::App app;
  std::ostringstream nowhere;
  Shell shell(nowhere, nowhere);
  add_commands(app, shell);
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

}  // namespace

TEST_CASE("with --json each command prints one document, and nothing else") {
  const Place place;
  const auto ways = ways_to_call(place);
  for (const std::string& command : all_commands()) {
    if (command == "completion" || command == "help" || command == "up") continue;  // below
    CAPTURE(command);
    REQUIRE(ways.contains(command));
    for (Words words : ways.at(command)) {
      CAPTURE(words.size());
      words.insert(words.begin(), command);
      const Ran ran = place.run(words);
      CHECK_MESSAGE(is_one_document(ran.out), ran.out);
      CHECK_MESSAGE(ran.err.empty(), ran.err);
      if (command != "doctor") CHECK(ran.status == 0);  // it judges this machine
    }
  }
}

TEST_CASE("what a compiler prints does not get into the document") {
  const Place place;
  const Ran ran = orchid({"build", place.scratch / "source.c", "-o", place.scratch / "built.orc",
                          "--json", "--", "-Xclang", "-fdump-record-layouts"});
  CHECK_MESSAGE(is_one_document(ran.out), ran.out);
  CHECK(ran.err.find("Dumping AST Record Layout") != std::string::npos);
}

TEST_CASE("with --json a failure is one document on standard error") {
  const Place place;
  for (const Words& words : {Words{"up", "--state", "/proc/none"}, Words{"invoke"},
                             Words{"cancel", "missing"}, Words{"inspect", "/nonexistent"}}) {
    CAPTURE(words.front());
    const Ran ran = place.run(words);
    CHECK(ran.status != 0);
    CHECK(ran.out.empty());
    CHECK_MESSAGE(is_one_document(ran.err), ran.err);
  }
}

TEST_CASE("a call's document has its output as text, as base64, as a value, or the file's name") {
  const Place place;
  const json text = place.document({"invoke", "f", "--in", place.scratch / "text"});
  CHECK(text.at("id") == "i-1");
  CHECK(text.at("output") == "text");
  CHECK(text.at("timings_ms").at("queue") == 0.5);
  CHECK(text.at("timings_ms").at("run") == 2);
  CHECK(text.at("timings_ms").at("total") > 0);
  for (const char* part : {"connect", "send", "wait", "receive"})
    CHECK(text.at("timings_ms").at(part) >= 0);
  const json bytes = place.document({"invoke", "f", "--in", place.scratch / "bytes"});
  CHECK(bytes.at("output_base64") == "/wA=");
  CHECK_FALSE(bytes.contains("output"));
  CHECK(place.document({"invoke", "f", "--args", "[2.5]"}).at("output") == 2.5);
  CHECK(place.document({"invoke", "f", "--args", "[-2.5]", "--raw"}).at("output_base64") ==
        "AAAAAAAABMA=");
  const std::string file = place.scratch / "out";
  const json filed =
      place.document({"invoke", "f", "--in", place.scratch / "bytes", "--out", file});
  CHECK(filed.at("output_file") == file);
  CHECK_FALSE(filed.contains("output_base64"));
  CHECK(place.read("out") == std::string("\xff\0", 2));
}

TEST_CASE("a kept result's document is that of a call") {
  const Place place;
  const json result = place.document({"result", "i-1"});
  CHECK(result.at("id") == "i-1");
  CHECK(result.at("output") == "kept");
  CHECK(result.at("timings_ms").at("run") == 2);
  for (const char* part : {"total", "connect", "send", "wait", "receive"})
    CHECK_FALSE(result.at("timings_ms").contains(part));
  const std::string file = place.scratch / "out";
  CHECK(place.document({"result", "i-1", "--out", file}).at("output_file") == file);
  CHECK(place.read("out") == "kept");
}

TEST_CASE("a log's document says what was written and how much of it is missing") {
  const json log = Place().document({"logs", "i-1"});
  CHECK(log.at("id") == "i-1");
  CHECK(log.at("log") == "said \ufffd\n");
  CHECK(log.at("dropped") == 77);
}

TEST_CASE("one name gives its document, and several give a list of them") {
  const Place place;
  CHECK(place.document({"cancel", "i-1"}) == json{{"id", "i-1"}, {"cancelling", true}});
  CHECK(place.document({"delete", "f"}) == json{{"name", "f"}, {"deleted", true}});
  const json deleted = place.document({"delete", "f", "g"}).at("functions");
  REQUIRE(deleted.size() == 2);
  CHECK(deleted.at(1) == json{{"name", "g"}, {"deleted", true}});
  CHECK(place.document({"wait", "i-1", "i-2"}).at("invocations").size() == 2);
  CHECK(place.document({"list", "--names"}) == json{{"names", {"f"}}});
}

TEST_CASE("what was done before a failure is told all the same") {
  const Ran ran = Place().run({"cancel", "i-1", "missing", "i-2"});
  CHECK(ran.status == 2);
  CHECK(json::parse(ran.out).at("invocations").size() == 1);
  CHECK(json::parse(ran.err).at("error") == "not_found");
}

}  // namespace orchid::cli
