#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "run_orchid.h"
#include "scratch_folder.h"

namespace orchid::cli {
namespace {

using nlohmann::json;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

constexpr auto function_document =
    R"({"name":"f","version":"sha256:0123456789abcdef","size":10,"entries":[{"name":"f","signature":null}],"targets":[{"arch":"x86_64","kind":"bitcode"}],"calls":{"total":4,"ended":{"ok":3,"function_crashed":1},"tier":"quick","replacement_delay_ms":125}})";

}  // namespace

TEST_CASE("each command has help with examples") {
  const Ran all = orchid({"--help"});
  CHECK(all.status == 0);
  for (const char* command :
       {"up",      "build",  "inspect", "deploy", "list",       "describe", "delete",
        "invoke",  "status", "result",  "wait",   "cancel",     "logs",     "hosts",
        "explain", "leases", "token",   "doctor", "completion", "help"}) {
    CAPTURE(command);
    CHECK(all.out.find(std::string("  ") + command) != std::string::npos);
    const Ran help = orchid({command, "--help"});
    CHECK(help.status == 0);
    CHECK(help.out.find("Examples:\n  ") != std::string::npos);
    const bool has_json = command != std::string("completion") && command != std::string("help");
    CHECK((help.out.find("--json") != std::string::npos) == has_json);
    CHECK(help.err.empty());
  }
  CHECK(orchid({"--version"}).out.starts_with("orchid "));
}

TEST_CASE("help can be asked for by name") {
  CHECK(orchid({"help"}).out == orchid({"--help"}).out);
  CHECK(orchid({"help", "list"}).out == orchid({"list", "--help"}).out);
  CHECK(orchid({"help", "pilot", "start"}).out.contains("Usage: orchid pilot start"));
  const Ran unknown = orchid({"help", "nonsense"});
  CHECK(unknown.status == 2);
  CHECK(unknown.err.find("there is no command 'nonsense'") != std::string::npos);
}

TEST_CASE("common options may stand before the command") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{.body = R"({"functions":[]})"}; });
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--json", "--gateway", gateway.address(), "list"},
        {"--gateway=" + gateway.address(), "list", "--json"},
        {"--gateway", gateway.address(), "list", "--json"}}) {
    const Ran ran = orchid(words);
    CHECK(ran.status == 0);
    CHECK(json::parse(ran.out).at("functions").empty());
  }
  CHECK(orchid({"--json", "nonsense"}).err.find("there is no command 'nonsense'") !=
        std::string::npos);
  CHECK(orchid({"--json", "completion", "bash"}).status == 2);
  // What stands behind "--" is for the compiler, also then.
  CHECK(orchid({"--json", "build", "/nonexistent.c", "--", "--nonsense"}).err.find("--nonsense") ==
        std::string::npos);
}

TEST_CASE("a wrong option is told before a missing argument") {
  const Ran wrong = orchid({"invoke", "--nonsense"});
  CHECK(wrong.status == 2);
  CHECK(wrong.err == "orchid: there is no option '--nonsense' here; see 'orchid invoke --help'\n");
  CHECK(orchid({"--nonsense"}).err.find("'--nonsense'") != std::string::npos);
  CHECK(orchid({"list", "--nonsense"}).err.find("there is no option '--nonsense'") !=
        std::string::npos);
}

TEST_CASE("an invocation that nobody knows is looked for with orchid status") {
  FakeGateway gateway([](const FakeRequest&) {
    return FakeAnswer{.status = 404,
                      .body = R"({"type":"urn:orchid:problem:not_found","detail":"none",)"
                              R"("invocation":"i-1"})"};
  });
  const Ran unknown = orchid(gateway, {"status", "i-1"});
  CHECK(unknown.status == 2);
  CHECK(unknown.err.find("'orchid status'") != std::string::npos);
}

TEST_CASE("a wrong command line is told with what to type, exit status 2") {
  CHECK(orchid({}).status == 2);
  CHECK(orchid({"nonsense"}).err.find("there is no command 'nonsense'") != std::string::npos);
  CHECK(orchid({"invoke"}).err.find("orchid invoke --help") != std::string::npos);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"nonsense"},
                                                {"invoke"},
                                                {"list", "--nonsense"},
                                                {"invoke", "f", "--deadline", "soon"},
                                                {"invoke", "f", "--async", "--stats"},
                                                {"invoke", "f", "--args", "[]", "--in", "x"},
                                                {"up", "--port", "99999"},
                                                {"build", "/nonexistent.c"},
                                                {"inspect", "/nonexistent"},
                                                {"deploy", "/nonexistent.orc"},
                                                {"deploy", "a.cpp"},
                                                {"completion", "tcsh"},
                                                {"completion", "bash", "--json"},
                                                {"doctor", "--wait", "soon"}}) {
    CAPTURE(words.back());
    CHECK(orchid(words).status == 2);
  }
}

TEST_CASE("functions are listed for people, as names, and as the gateway's JSON") {
  FakeGateway gateway([](const FakeRequest&) {
    return FakeAnswer{.body = std::string(R"({"functions":[)") + function_document + "]}"};
  });
  const Ran table = orchid(gateway, {"list"});
  CHECK(table.status == 0);
  CHECK(table.out.starts_with("NAME"));
  CHECK(table.out.find("0123456789ab ") != std::string::npos);
  CHECK(orchid(gateway, {"list", "--names"}).out == "f\n");
  CHECK(json::parse(orchid(gateway, {"list", "--json"}).out).at("functions").size() == 1);
}

TEST_CASE("one function is described, with how its calls ended") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{.body = function_document}; });
  const Ran described = orchid(gateway, {"describe", "f"});
  CHECK(described.out.find("4: 1 function_crashed, 3 ok; the last ran quickly made code (quick); "
                           "its calls end workers") != std::string::npos);
  CHECK(json::parse(orchid(gateway, {"describe", "f", "--json"}).out).at("size") == 10);
}

TEST_CASE("deploying takes the file's name unless another one is given") {
  FakeGateway gateway(
      [](const FakeRequest&) { return FakeAnswer{.status = 201, .body = function_document}; });
  const tests::Scratch scratch;
  std::ofstream(scratch / "dot.orc") << "module";
  const Ran deployed = orchid(gateway, {"deploy", scratch / "dot.orc"});
  CHECK(deployed.status == 0);
  CHECK(deployed.out.find("deployed f@0123456789ab") != std::string::npos);
  CHECK(orchid(gateway, {"deploy", scratch / "dot.orc", "--name", "other"}).status == 0);
  CHECK(orchid(gateway, {"deploy", scratch / "dot.orc", "--name", "9"}).status == 2);
  const auto requests = gateway.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].target == "/v1/functions/dot");
  CHECK(requests[0].body == "module");
  CHECK(requests[1].target == "/v1/functions/other");
}

TEST_CASE("a call's output goes to the file as it is, and its cost to standard error") {
  FakeGateway gateway([](const FakeRequest& request) {
    return FakeAnswer{.body = request.body + std::string("\0out", 4),
                      .headers = {"Orchid-Invocation: i-1", "Server-Timing: run;dur=2"}};
  });
  const tests::Scratch scratch;
  std::ofstream(scratch / "in") << "in ";
  const Ran called = orchid(gateway, {"invoke", "f", "--in", scratch / "in", "--out",
                                      scratch / "out", "--time", "--deadline", "1.5s"});
  CHECK(called.status == 0);
  CHECK(called.out.empty());
  CHECK(called.err.find("run 2 ms") != std::string::npos);
  CHECK(gateway.requests()[0].header("orchid-deadline-ms") == "1500");
  std::ifstream file(scratch / "out");
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == std::string("in \0out", 7));
  const Ran repeated = orchid(gateway, {"invoke", "f", "--in", scratch / "in", "--out", "/dev/null",
                                        "--repeat", "9", "--stats", "--json"});
  CHECK(json::parse(repeated.err).at("succeeded") == 9);
}

TEST_CASE("an asynchronous call prints its id and nothing else") {
  FakeGateway gateway(
      [](const FakeRequest&) { return FakeAnswer{.status = 202, .body = R"({"id":"i-77"})"}; });
  const Ran submitted = orchid(gateway, {"invoke", "f", "--in", "/dev/null", "--async"});
  CHECK(submitted.out == "i-77\n");
  CHECK(submitted.err.empty());
  CHECK(gateway.requests()[0].header("prefer") == "respond-async");
}

TEST_CASE("the way a call failed decides the exit status") {
  struct Case {
    int http;
    const char* type;
    int status;
  };
  for (const Case& c :
       {Case{502, "function_error", 1}, Case{504, "deadline_exceeded", 4}, Case{503, "evicted", 5},
        Case{401, "unauthenticated", 6}, Case{403, "denied", 6}, Case{404, "not_found", 2},
        Case{503, "no_capacity", 3}, Case{500, "internal", 3}}) {
    FakeGateway gateway([&c](const FakeRequest&) {
      return FakeAnswer{.status = c.http,
                        .body = std::string(R"({"type":"urn:orchid:problem:)") + c.type +
                                R"(","detail":"because"})"};
    });
    CAPTURE(c.type);
    const Ran failed = orchid(gateway, {"invoke", "f", "--in", "/dev/null"});
    CHECK(failed.status == c.status);
    CHECK(failed.out.empty());
    CHECK(failed.err.starts_with("orchid: because"));
    const Ran as_json = orchid(gateway, {"invoke", "f", "--in", "/dev/null", "--json"});
    CHECK(json::parse(as_json.err).at("error") == c.type);
    CHECK(json::parse(as_json.err).at("exit_status") == c.status);
  }
}

TEST_CASE("waiting ends with the status of how the invocation ended, or 4 when the time was up") {
  std::string outcome = "\"evicted\"";
  FakeGateway gateway([&outcome](const FakeRequest&) {
    return FakeAnswer{.body =
                          R"({"id":"i-1","state":"x","message":"why","outcome":)" + outcome + "}"};
  });
  const Ran evicted = orchid(gateway, {"wait", "i-1"});
  CHECK(evicted.status == 5);
  CHECK(evicted.out == "i-1  evicted  why\n");
  outcome = "\"ok\"";
  CHECK(orchid(gateway, {"wait", "i-1", "i-2"}).status == 0);
  outcome = "null";
  CHECK(orchid(gateway, {"wait", "i-1", "--timeout", "0s"}).status == 4);
  CHECK(orchid(gateway, {"status", "i-1"}).out.find("i-1") != std::string::npos);
}

TEST_CASE("a log is printed as it is, and how much of it was not kept on standard error") {
  std::string dropped = "0";
  FakeGateway gateway([&dropped](const FakeRequest&) {
    return FakeAnswer{.body = "said\n", .headers = {"Orchid-Log-Dropped: " + dropped}};
  });
  const Ran whole = orchid(gateway, {"logs", "i-1"});
  CHECK(whole.out == "said\n");
  CHECK(whole.err.empty());
  dropped = "77";
  const Ran cut = orchid(gateway, {"logs", "i-1"});
  CHECK(cut.status == 0);
  CHECK(cut.out == "said\n");
  CHECK(cut.err ==
        "orchid: 77 more bytes were written and not kept: a call's log is cut at 1 MiB\n");
}

TEST_CASE("a followed log is printed once, and what is missing at its end") {
  int asked = 0;
  FakeGateway gateway([&asked](const FakeRequest& request) -> FakeAnswer {
    if (!request.target.ends_with("/logs"))
      return {.body = ++asked < 3 ? R"({"id":"i-1","state":"running"})"
                                  : R"({"id":"i-1","state":"done","outcome":"ok"})"};
    return {.body = asked < 3 ? "one\n" : "one\ntwo\n", .headers = {"Orchid-Log-Dropped: 5"}};
  });
  const Ran followed = orchid(gateway, {"logs", "--follow", "i-1"});
  CHECK(followed.out == "one\ntwo\n");
  CHECK(followed.err.starts_with("orchid: 5 more bytes"));
  CHECK(std::ranges::count(followed.err, '\n') == 1);
}

TEST_CASE("the token is that of the gateway which was asked for") {
  const tests::Scratch scratch;
  std::ofstream(scratch / "token") << "orc_secret\n";
  std::ofstream(scratch / "gateway.json") << json{{"addresses", {"http://127.0.0.1:1"}},
                                                  {"token_file", (scratch / "token").string()},
                                                  {"socket", (scratch / "gateway.sock").string()}};
  const std::string gateway = "unix:" + (scratch / "gateway.sock").string();
  CHECK(orchid({"token", "--gateway", gateway}).out == "orc_secret\n");
  CHECK(orchid({"token", "--url", "--gateway", gateway}).out == "http://127.0.0.1:1\n");
}

TEST_CASE("data is put from a file, shown, and fetched into a file as a whole or not at all") {
  const tests::Scratch scratch;
  const std::string source = scratch / "source";
  const std::string target = scratch / "target";
  std::ofstream(source) << "some bytes";
  std::vector<std::string> asked;
  FakeGateway gateway([&asked](const FakeRequest& request) {
    asked.push_back(request.method + " " + request.target + " " + request.body);
    const std::string document =
        R"({"id":"d-1","name":"climate","version":3,"bytes":10,"state":"sealed","hosts":["n17"]})";
    if (request.target.ends_with("d-1")) return FakeAnswer{.status = 410, .body = "{}"};
    if (request.target == "/v1/data") return FakeAnswer{.body = "{\"data\":[" + document + "]}"};
    return FakeAnswer{.status = request.method == "PUT" ? 201 : 200, .body = document};
  });
  CHECK(orchid(gateway, {"data", "put", "climate", source}).out == "climate@3\n");
  CHECK(asked.back() == "PUT /v1/data/climate some bytes");
  const Ran listed = orchid(gateway, {"data", "list"});
  CHECK(listed.out.find("climate@3") != std::string::npos);
  CHECK(listed.out.find("n17") != std::string::npos);
  CHECK(orchid(gateway, {"data", "describe", "climate"}).out.find("10 bytes") != std::string::npos);
  const Ran lost = orchid(gateway, {"data", "get", "climate", "--out", target});
  CHECK(lost.status != 0);
  CHECK(std::distance(std::filesystem::directory_iterator(scratch.path()), {}) == 1);
  CHECK(orchid(gateway, {"data", "put", "climate", scratch / "nothing"}).status != 0);
  CHECK(orchid(gateway, {"data", "put", "--unnamed", source, "another"}).status == 2);
  CHECK(orchid(gateway, {"data", "get", "climate", "--json"}).status == 2);
}

TEST_CASE("copies of data are ordered, and it is said where they are to be") {
  const tests::Scratch scratch;
  const std::string source = scratch / "source";
  std::ofstream(source) << "some bytes";
  std::vector<std::string> asked;
  FakeGateway gateway([&asked](const FakeRequest& request) -> FakeAnswer {
    asked.push_back(request.method + " " + request.target + " " + request.body);
    const bool is_there = request.target.starts_with("/v1/data/there");
    return {.status = 202,
            .body = R"({"id":"d-1","name":"climate","version":3,"bytes":10,"state":"sealed",)"
                    R"("hosts":["n17"],"copies_wanted":2,"arriving_at":)" +
                    std::string(is_there ? "[]}" : R"(["n18","n19"]})")};
  });
  CHECK(orchid(gateway, {"data", "copy", "climate", "--to", "n18"}).out ==
        "climate@3 is being copied to n18,n19\n");
  CHECK(asked.back() == R"(POST /v1/data/climate/copies {"host":"n18"})");
  CHECK(orchid(gateway, {"data", "copy", "there", "--copies", "2"}).out == "climate@3 is on n17\n");
  CHECK(asked.back() == R"(POST /v1/data/there/copies {"copies":2})");
  const Ran described = orchid(gateway, {"data", "describe", "climate"});
  CHECK(described.out.find("n18,n19") != std::string::npos);
  CHECK(described.out.find("at least 2") != std::string::npos);
  CHECK(orchid(gateway, {"data", "copy", "climate"}).status == 2);
  CHECK(orchid(gateway, {"data", "copy", "climate", "--copies", "0"}).status == 2);
  CHECK(orchid(gateway, {"data", "put", "climate", source, "--copies", "65"}).status == 2);
}

TEST_CASE("leases are shown with their hosts and given back by name") {
  std::vector<std::string> released;
  FakeGateway gateway([&](const FakeRequest& request) -> FakeAnswer {
    if (request.method == "DELETE") {
      released.push_back(request.target);
      return {.status = 204};
    }
    return {.body = R"({"leases":[{"id":"l-3-17","state":"open","wait":"hot","cores_per_worker":2,)"
                    R"("memory_bytes":1073741824,"workers_wanted":3,"expires_in_ms":59000,)"
                    R"("workers":[{"node":"n1"},{"node":"n2"}]}]})"};
  });
  const Ran shown = orchid(gateway, {"leases"});
  CHECK(shown.status == 0);
  for (const char* part : {"l-3-17", "open", "2 of 3", "1 GiB", "hot", "n1,n2", "59 s"}) {
    CAPTURE(part);
    CHECK(shown.out.find(part) != std::string::npos);
  }
  FakeGateway mixed([](const FakeRequest&) {
    return FakeAnswer{.body = R"({"leases":[{"id":"l-3-18","workers":[)"
                              R"({"node":"n1","cores":1,"memory_bytes":1073741824,"gpus":[0]},)"
                              R"({"node":"n2","cores":4,"memory_bytes":1073741824,"gpus":[]}]}]})"};
  });
  CHECK(orchid(mixed, {"leases"}).out.find("1 + 1 GPU or 4") != std::string::npos);
  CHECK(orchid(gateway, {"leases", "--release", "l-3-17"}).out == "released l-3-17\n");
  CHECK(released == std::vector<std::string>{"/v1/leases/l-3-17"});
}

TEST_CASE("hosts shows whose the cores are, what a cluster has, and what will stay free") {
  FakeGateway gateway([](const FakeRequest&) -> FakeAnswer {
    return {.body = R"({"hosts":[{"name":"n7","hostname":"node7","cores":8,"cores_leased":3,)"
                    R"("gpus":[{"index":0,"model":""}],"gpus_usable":1,"gpus_leased":1,)"
                    R"("executors":[{"state":"connected","workers_ready":2,)"
                    R"("data_memory_bytes":4096,"data_used_bytes":3072,"data_leased_bytes":2048,)"
                    R"("data_on_disk_bytes":1024,)"
                    R"("grant":{"source":"pilot","job":4711}}]}],)"
                    R"("clusters":[{"cluster":"fern","backend":"Slurm 22.05.8","state":"stale",)"
                    R"("message":"slurmctld does not answer","nodes":[{"name":"n7","kind":"gpu",)"
                    R"("state":"usable","cores":8,"cores_free":4,"free_cores":"4-7",)"
                    R"("features":["fast","near"],"gpus":[{"index":0,"type":""},)"
                    R"({"index":1,"type":""}],"gpus_free":1,"free_gpus":"1","forecast":)"
                    R"([{"from_s":0,"until_s":90,"cores":4},{"from_s":90,"cores":8}]},)"
                    R"({"name":"n8","kind":"dpu","state":"unusable","why":["drained"],)"
                    R"("cores":2,"cores_free":0}]}]})"};
  });
  const Ran shown = orchid(gateway, {"hosts"});
  CHECK(shown.status == 0);
  for (const char* part :
       {"pilot 4711", "1 of 1 leased", "3 KiB of 4 KiB (2 KiB of it leased), 1 KiB on disk",
        "cluster fern (Slurm 22.05.8), stale: slurmctld does not", "4 (4-7)", "1 (1) of 2",
        "fast,near", "unusable: drained", "dpu"}) {
    CAPTURE(part);
    CHECK(shown.out.find(part) != std::string::npos);
  }
  const Ran forecast = orchid(gateway, {"hosts", "--forecast"});
  CHECK(forecast.out.find("4 for 90") != std::string::npos);
  CHECK(forecast.out.find("then 8\n") != std::string::npos);
  CHECK(forecast.out.find("pilot 4711") == std::string::npos);
  FakeGateway alone([](const FakeRequest&) { return FakeAnswer{.body = R"({"hosts":[]})"}; });
  CHECK(orchid(alone, {"hosts", "--forecast"}).err.find("no batch system") != std::string::npos);
}

TEST_CASE("explain says where a lease was placed and why not elsewhere, for calls as well") {
  FakeGateway gateway([](const FakeRequest& request) -> FakeAnswer {
    if (request.target == "/v1/leases/l-1-2/placement")
      return {.body = R"({"decisions":[{"number":7,"age_ms":1500,"policy":"pack","placed":false,)"
                      R"("refusal":"no host has room: 1 drained","chosen":[],"alternatives":)"
                      R"([{"wanted":"1 core, 1 GPU","summary":"no host has room: 7 drained",)"
                      R"("counts":{"drained":7},"examples":["n1: drained"]}]},)"
                      R"({"number":8,"age_ms":10,"policy":"pack","placed":true,)"
                      R"("chosen":["n2: 3 of 4 cores free, wanted 1"],"alternatives":[]}]})"};
    if (request.target == "/v1/invocations/i-1")
      return {.body = R"({"id":"i-1","node":"n2","lease":"l-1-2"})"};
    if (request.target == "/v1/invocations/i-2")
      return {.body = R"({"id":"i-2","message":"no worker came free"})"};
    if (request.target == "/v1/invocations/i-3")
      return {.body = R"({"id":"i-3","message":"no worker came free","lease":"l-1-2"})"};
    if (request.target == "/v1/invocations/i-4")
      return {.body = R"({"id":"i-4","message":"no worker came free","lease":"l-0-9"})"};
    if (request.target == "/v1/placement?cores=1" || request.target == "/v1/placement?cores=4" ||
        request.target == "/v1/placement?cores=1&gpus=2" ||
        request.target == "/v1/placement?cores=1&memory_bytes=2048&features=ib,ssd&kind=gpu")
      return {.body = R"({"hosts":[{"host":"n1","fits":false,"text":"n1: drained"},)"
                      R"({"host":"n2","fits":true,"text":"n2: 3 of 4 cores free, wanted 1"}]})"};
    if (request.target == "/v1/hosts")
      return {.body = R"({"hosts":[],"clusters":[{"nodes":[{"name":"n1","state":"usable"},)"
                      R"({"name":"n3","state":"usable","cores_free":2},)"
                      R"({"name":"n4","state":"unusable","cores_free":0},)"
                      R"({"name":"n5","state":"usable","cores_free":0}]}]})"};
    return {.status = 404, .body = R"({"title":"no"})"};
  });
  const Ran lease = orchid(gateway, {"explain", "l-1-2"});
  CHECK(lease.status == 0);
  CHECK(lease.out.find("refused: no host has room: 1 drained (policy pack") != std::string::npos);
  CHECK(lease.out.find("  for 1 core, 1 GPU: no host has room: 7 drained\n") != std::string::npos);
  CHECK(lease.out.find("  not n1: drained\n") != std::string::npos);
  CHECK(lease.out.find("  on n2: 3 of 4") != std::string::npos);
  const Ran call = orchid(gateway, {"explain", "i-1"});
  CHECK(call.out.starts_with("the call ran on n2, in a worker of lease l-1-2\n"));
  CHECK(call.out.find("  on n2: 3 of 4") != std::string::npos);
  const Ran waiting = orchid(gateway, {"explain", "i-2"});
  CHECK(waiting.err.find("no worker came free") != std::string::npos);
  CHECK(waiting.out.find("n1: drained") != std::string::npos);
  const Ran refused = orchid(gateway, {"explain", "i-3"});
  CHECK(refused.out.starts_with("the call has reached no worker; the last search for one:\n"));
  CHECK(refused.out.find("refused: no host has room: 1 drained") != std::string::npos);
  const Ran forgotten = orchid(gateway, {"explain", "i-4"});  // another gateway's decision
  CHECK(forgotten.status == 0);
  CHECK(forgotten.err.find("each host now") != std::string::npos);
  CHECK(forgotten.out.find("n1: drained") != std::string::npos);
  CHECK(orchid(gateway, {"explain", "--cores", "4"}).out.find("yes") != std::string::npos);
  CHECK(orchid(gateway, {"explain", "--gpus", "2"}).out.find("yes") != std::string::npos);
  CHECK(forgotten.out.find("no executor: 2 cores that a pilot could grant") != std::string::npos);
  CHECK(forgotten.out.find("the cluster does not offer it now") != std::string::npos);
  CHECK(forgotten.out.find("no executor, and jobs have all its cores") != std::string::npos);
  CHECK(orchid(gateway, {"explain", "--memory", "2KiB", "--features", "ib,ssd", "--kind", "gpu"})
            .status == 0);
  CHECK(orchid(gateway, {"explain", "--host", "a&b"}).status == 2);
  CHECK(orchid(gateway, {"explain", "l-9-9"}).status != 0);
  const Ran nonsense = orchid(gateway, {"explain", "1"});
  CHECK(nonsense.status == 2);
  CHECK(nonsense.err.find("'1' is not an id: calls have ids like i-") != std::string::npos);
}

TEST_CASE("an answer that nobody can understand is Orchid's failure, in one line") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{.body = "<html>"}; });
  for (const std::vector<std::string>& words : {std::vector<std::string>{"list"},
                                                {"hosts"},
                                                {"leases"},
                                                {"explain"},
                                                {"explain", "l-1-1"},
                                                {"status"},
                                                {"list", "--json"},
                                                {"hosts", "--json"},
                                                {"leases", "--json"},
                                                {"status", "--json"}}) {
    CAPTURE(words.back());
    const Ran ran = orchid(gateway, words);
    CHECK(ran.status == 3);
    CHECK(ran.out.empty());
    CHECK(std::ranges::count(ran.err, '\n') == 1);
  }
}

TEST_CASE("completion is offered for the three shells, with all commands") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran script = orchid({"completion", shell});
    CHECK(script.status == 0);
    for (const char* word : {"invoke", "doctor", "concurrency"})
      CHECK(script.out.find(word) != std::string::npos);
  }
}

}  // namespace orchid::cli
