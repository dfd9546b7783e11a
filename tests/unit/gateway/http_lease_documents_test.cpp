#include "leases/lease_documents.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "foundation/files.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string fault_of(std::string_view body) {
  const auto parsed = parse_lease_request(as_bytes(body));
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error().code == ErrorCode::bad_request);
  return parsed.error().message;
}

TEST_CASE("an empty request asks for one worker for a minute") {
  const auto request = parse_lease_request({});
  REQUIRE(request.has_value());
  CHECK(request->workers == 1);
  CHECK(request->at_least == 1);
  CHECK(request->worker.alternatives == std::vector<placement::WorkerShape>{{.cores = 1}});
  CHECK(request->wait == WaitMode::adaptive);
  CHECK(request->duration == seconds(60));
  CHECK(request->within == seconds(10));
  CHECK_FALSE(request->worker.client_host_only);
  CHECK_FALSE(request->separate_processes);
}

TEST_CASE("a client may ask for separate processes, and the lease says so") {
  CHECK(parse_lease_request(as_bytes(R"({"separate_processes":true})"))->separate_processes);
  CHECK_FALSE(parse_lease_request(as_bytes(R"({"separate_processes":false})"))->separate_processes);
  CHECK(fault_of(R"({"separate_processes":1})") == "'separate_processes' must be true or false");
  for (const bool separate : {true, false}) {
    const auto shown = nlohmann::json::parse(
        lease_json({.id = {3, 17}, .separate_processes = separate}, Secrets::hidden));
    CHECK(shown.at("separate_processes") == separate);
  }
}

TEST_CASE("a client may ask for a crew, which is on its host, and the lease says so") {
  const auto crew = parse_lease_request(as_bytes(R"({"crew":true,"workers":4,"boot_id":"b"})"));
  REQUIRE(crew.has_value());
  CHECK(crew->crew);
  CHECK(crew->at_least == 4);
  CHECK(crew->worker.client_host_only);
  CHECK_FALSE(crew->crew_spreads);
  const auto spread =
      parse_lease_request(as_bytes(R"({"crew":true,"workers":4,"remote":true,"boot_id":"b"})"));
  REQUIRE(spread.has_value());
  CHECK(spread->crew_spreads);
  CHECK_FALSE(spread->worker.client_host_only);
  CHECK_FALSE(parse_lease_request(as_bytes(R"({"workers":4})"))->crew);
  CHECK(fault_of(R"({"crew":true,"workers":1,"boot_id":"b"})") ==
        "'workers' must be 2 to 64 for a crew");
  CHECK(fault_of(R"({"crew":true,"workers":65,"boot_id":"b"})") ==
        "'workers' must be 2 to 64 for a crew");
  CHECK(parse_lease_request(as_bytes(R"({"crew":true,"workers":4,"at_least":2,"boot_id":"b"})"))
            ->at_least == 2);
  CHECK(fault_of(R"({"crew":true,"workers":4,"at_least":1,"boot_id":"b"})") ==
        "'at_least' must be 2 to the number of workers for a crew");
  for (const char* const wrong : {"0", "5", "-1", "2.5", "\"2\""})
    CHECK_FALSE(parse_lease_request(
                    as_bytes(std::string(R"({"crew":true,"workers":4,"boot_id":"b","at_least":)") +
                             wrong + "}"))
                    .has_value());
  CHECK(fault_of(R"({"crew":true,"workers":4})") ==
        "'boot_id' must name the client's host, on which its crew is");
  CHECK(fault_of(R"({"crew":true,"workers":4,"boot_id":"b","separate_processes":true})") ==
        "'separate_processes' cannot be: a crew's members run all modules of the crew");
  for (const bool is_crew : {true, false}) {
    const auto shown =
        nlohmann::json::parse(lease_json({.id = {3, 17}, .crew = is_crew}, Secrets::hidden));
    CHECK(shown.at("crew") == is_crew);
  }
}

TEST_CASE("a client may ask for workers of its own host alone") {
  CHECK(
      parse_lease_request(as_bytes(R"({"boot_id":"b","remote":false})"))->worker.client_host_only);
  CHECK(fault_of(R"({"remote":"no"})") == "'remote' must be true or false");
}

TEST_CASE("every field of a request is taken over") {
  const auto request = parse_lease_request(as_bytes(
      R"({"workers":4,"at_least":2,"cores_per_worker":3,"memory_bytes":1048576,)"
      R"("wait":"hot","duration_ms":5000,"within_ms":0,"boot_id":"b",)"
      R"("constraints":{"host":"n1","avoid_host":["n2","n3"],"architecture":"aarch64","kind":"dpu",)"
      R"("images":["aarch64","x86_64"],"features":["fast","near"],"lifetime_ms":90000,)"
      R"("watts_at_most":350.5}})"));
  REQUIRE_MESSAGE(request.has_value(), (request ? "" : request.error().message));
  CHECK(request->workers == 4);
  CHECK(request->at_least == 2);
  CHECK(request->worker.alternatives ==
        std::vector<placement::WorkerShape>{{.cores = 3, .memory = 1_MiB}});
  CHECK(request->wait == WaitMode::hot);
  CHECK(request->duration == seconds(5));
  CHECK(request->within == milliseconds(0));
  CHECK(request->worker.client_host == placement::HostId("b"));
  CHECK(request->worker.host == "n1");
  CHECK(request->worker.avoid_host == std::vector<std::string>{"n2", "n3"});
  CHECK(request->worker.architecture == "aarch64");
  CHECK(request->worker.images == std::vector<std::string>{"aarch64", "x86_64"});
  CHECK(request->worker.kind == placement::HostKind::dpu);
  CHECK(request->worker.features == std::vector<std::string>{"fast", "near"});
  CHECK(request->worker.lifetime == seconds(90));
  CHECK(request->worker.watts_at_most == 350.5);
}

TEST_CASE("all workers are asked for unless fewer will do") {
  CHECK(parse_lease_request(as_bytes(R"({"workers":4})"))->at_least == 4);
}

TEST_CASE("what is wrong in a request is named, and what is not known is wrong") {
  CHECK(fault_of("[]") == "the body must be a JSON object");
  CHECK(fault_of("{").starts_with("the body is not JSON from byte "));
  CHECK(fault_of(R"({"workers":1,"workers":2})") == "the body names 'workers' twice");
  CHECK(fault_of(R"({"workers":0})").find("'workers' must be a whole number from 1") !=
        std::string::npos);
  CHECK(fault_of(R"({"workers":-1})").find("'workers'") != std::string::npos);
  CHECK(fault_of(R"({"workers":2,"at_least":3})").find("'at_least'") != std::string::npos);
  CHECK(fault_of(R"({"wait":"eager"})") == "'wait' must be hot, adaptive or blocking");
  CHECK(fault_of(R"({"wait":1})").find("'wait' must be a text") != std::string::npos);
  CHECK(fault_of(R"({"duration_ms":10})").find("'duration_ms'") != std::string::npos);
  CHECK(fault_of(R"({"wrkers":1})").find("'wrkers' is not known here") != std::string::npos);
  CHECK(fault_of(R"({"constraints":{"avoid_host":"n1"}})") ==
        "'constraints.avoid_host' must be a list of at most 64 texts");
  CHECK(fault_of(R"({"constraints":{"rack":1}})").find("'constraints.rack'") != std::string::npos);
  CHECK(fault_of(R"({"constraints":{"kind":"tpu"}})") ==
        "'constraints.kind' must be cpu, gpu or dpu");
  CHECK(fault_of(R"({"constraints":[]})").find("'constraints' must be an object") !=
        std::string::npos);
}

TEST_CASE("alternatives are taken over in their order, and nothing beside them") {
  const auto request =
      parse_lease_request(as_bytes(R"({"alternatives":[{"gpus":1,"gpu_model":"a100"},)"
                                   R"({"cores":4,"memory_bytes":1048576}]})"));
  REQUIRE_MESSAGE(request.has_value(), (request ? "" : request.error().message));
  CHECK(request->worker.alternatives ==
        std::vector<placement::WorkerShape>{{.cores = 1, .gpus = 1, .gpu_model = "a100"},
                                            {.cores = 4, .memory = 1_MiB}});
  const auto simple = parse_lease_request(as_bytes(R"({"gpus":2,"gpu_model":"a100"})"));
  REQUIRE(simple.has_value());
  CHECK(simple->worker.alternatives ==
        std::vector<placement::WorkerShape>{{.cores = 1, .gpus = 2, .gpu_model = "a100"}});

  CHECK(fault_of(R"({"alternatives":[]})") == "'alternatives' must be a list of 1 to 8 objects");
  CHECK(fault_of(R"({"alternatives":[1]})") == "'alternatives' must be a list of 1 to 8 objects");
  CHECK(fault_of(R"({"alternatives":{"cores":1}})").find("'alternatives'") != std::string::npos);
  CHECK(fault_of(R"({"alternatives":[{},{"cores":0}]})")
            .starts_with("'alternatives[1].cores' must be a whole number from 1"));
  CHECK(fault_of(R"({"alternatives":[{"cpus":1}]})")
            .starts_with("'alternatives[0].cpus' is not known here"));
  CHECK(fault_of(R"({"alternatives":[{"gpu_model":"a100"}]})") ==
        "'alternatives[0].gpu_model' needs a number of 'gpus'");
  CHECK(fault_of(R"({"cores_per_worker":2,"alternatives":[{}]})") ==
        "'cores_per_worker' belongs in each of the 'alternatives'");
  CHECK(fault_of(R"({"gpus":-1})").find("'gpus'") != std::string::npos);
  CHECK(fault_of(R"({"constraints":{"watts_at_most":0}})") ==
        "'constraints.watts_at_most' must be a number above 0");
}

TEST_CASE("each worker says what it has") {
  ClientLeaseView lease{.id = {3, 17}, .open = true};
  lease.worker.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 4, .memory = 1_MiB}};
  lease.workers.push_back({.lease = {3, 18},
                           .node = "n1",
                           .cores = 1,
                           .memory = 1_MiB,
                           .gpus = {2},
                           .gpu_model = "a100"});
  const auto shown = nlohmann::json::parse(lease_json(lease, Secrets::hidden));
  CHECK(shown.at("alternatives").at(1).at("cores") == 4);
  CHECK(shown.at("cores_per_worker") == 1);
  CHECK(shown.at("workers").at(0).at("gpus") == nlohmann::json::array({2}));
  CHECK(shown.at("workers").at(0).at("gpu_model") == "a100");
  CHECK(shown.at("workers").at(0).at("memory_bytes") == 1 << 20);
}

TEST_CASE("secrets are shown only to whoever opens or renews a lease") {
  ClientLeaseView lease{.id = {3, 17}, .open = true, .expires_in = seconds(9)};
  lease.workers.push_back({.lease = {3, 18},
                           .secret = "geheim",
                           .executor = ExecutorId("e"),
                           .lane_socket = "/run/x",
                           .lane_address = "10.0.0.1:4711",
                           .node = "n1",
                           .boot_id = "b"});
  const auto shown = nlohmann::json::parse(lease_json(lease, Secrets::shown));
  CHECK(shown.at("id") == "l-3-17");
  CHECK(shown.at("state") == "open");
  CHECK(shown.at("expires_in_ms") == 9000);
  CHECK(shown.at("workers").at(0).at("executor") == "e");
  CHECK(shown.at("workers").at(0).at("secret") == "geheim");
  CHECK(shown.at("workers").at(0).at("lane_address") == "10.0.0.1:4711");
  CHECK(lease_json(lease, Secrets::hidden).find("geheim") == std::string::npos);
  CHECK(lease_list_json({lease}).find("geheim") == std::string::npos);
}

TEST_CASE("what a worker's host must be like can be asked for in a query") {
  const auto worker = parse_placement_query(
      "cores=2&memory_bytes=1024&gpus=1&gpu_model=a100&host=n1&kind=gpu&architecture=x86_64"
      "&images=aarch64&features=ib%2Cssd,&avoid_host=n2,n3&lifetime_ms=5000&watts_at_most=300");
  REQUIRE(worker.has_value());
  CHECK(worker->alternatives.at(0).cores == 2);
  CHECK(worker->alternatives.at(0).memory.value == 1024);
  CHECK(worker->alternatives.at(0).gpu_model == "a100");
  CHECK(worker->host == "n1");
  CHECK(worker->kind == placement::HostKind::gpu);
  CHECK(worker->architecture == "x86_64");
  CHECK(worker->images == std::vector<std::string>{"aarch64"});
  CHECK(worker->features == std::vector<std::string>{"ib", "ssd"});
  CHECK(worker->avoid_host == std::vector<std::string>{"n2", "n3"});
  CHECK(worker->lifetime == seconds(5));
  CHECK(worker->watts_at_most == 300);
  CHECK(parse_placement_query("lifetime_ms=long").error().code == ErrorCode::bad_request);
  CHECK(parse_placement_query("kind=tpu").error().code == ErrorCode::bad_request);
  for (const char* wrong : {"cores=0", "cores=65537", "gpus=1025", "memory_bytes=-1"}) {
    CAPTURE(wrong);
    CHECK(parse_placement_query(wrong).error().code == ErrorCode::bad_request);
  }
  const auto names = placement_query_names();
  for (const char* name : {"cores", "gpu_model", "host", "avoid_host", "watts_at_most"}) {
    CAPTURE(name);
    CHECK(std::ranges::find(names, name) != names.end());
  }
}

}  // namespace
}  // namespace orchid::gateway
