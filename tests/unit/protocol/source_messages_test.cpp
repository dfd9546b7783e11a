#include "protocol/source_messages.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace orchid {
namespace {

SourceNode a_node(const std::string& name = "n1") {
  return {.name = name,
          .address = "10.0.0.1",
          .hostname = "host1",
          .architecture = "x86_64",
          .kind = SourceNodeKind::gpu,
          .features = {"avx512"},
          .partitions = {"batch"},
          .sockets = 2,
          .cores_per_socket = 4,
          .threads_per_core = 2,
          .reserved_cores = {7},
          .cores_usable = 7,
          .memory = 8_GiB,
          .gpus = {{0, "a100"}, {1, "a100"}},
          .state = SourceNodeState::planned,
          .why = {"planned"},
          .reason = "soon",
          .cores_free = 3,
          .free_cores = CoreList{0, 1, 4},
          .hidden_cores = 1,
          .memory_free = 4_GiB,
          .gpus_free = 1,
          .free_gpus = CoreList{1}};
}

SourceJob a_job() {
  return {.id = 12,
          .array = 10,
          .array_tasks = "2",
          .uid = 1000,
          .partition = "batch",
          .state = SourceJobState::running,
          .exclusive = true,
          .start_time = 1000,
          .end_time = 2000,
          .shares = {{.node = "n1", .cores = {2, 3}, .memory = 1_GiB, .gpus = {0}}},
          .nodes_wanted = 1,
          .cores_wanted = 2};
}

SourceUpdate an_update() {
  return {
      .sequence = 1,
      .full = true,
      .time = 1500,
      .nodes = {a_node()},
      .jobs = {a_job(), {.id = 13, .planned_nodes = {"n1"}, .nodes_wanted = 1}},
      .forecasts = {{.node = "n1", .windows = {{0, 2000, 3, 4_GiB, 1}, {2000, 0, 7, 8_GiB, 2}}}}};
}

/// The one line of `update` with `from` replaced by `to`, which must be in it.
std::string line_with(const std::string& from, const std::string& to) {
  std::string line = encode(an_update()).at(0);
  const std::size_t at = line.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return line.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("an update is read as it was written") {
  const SourceUpdate update = an_update();
  const auto lines = encode(update);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find('\n') == std::string::npos);
  const auto message = parse_source_message(lines[0]);
  REQUIRE_MESSAGE(message.has_value(), message.error().message);
  const auto& read = std::get<SourceUpdate>(*message);
  CHECK(read.sequence == 1);
  CHECK(read.full);
  CHECK_FALSE(read.more);
  CHECK(read.time == 1500);
  CHECK(read.nodes == update.nodes);
  CHECK(read.jobs == update.jobs);
  CHECK(read.forecasts == update.forecasts);
}

TEST_CASE("a large update becomes several lines, in their order") {
  SourceUpdate update{.sequence = 7, .full = true, .time = 1};
  for (int i = 0; i < 3000; ++i) update.nodes.push_back(a_node("n" + std::to_string(i)));
  update.jobs_gone = {1, 2};
  const auto lines = encode(update);
  REQUIRE(lines.size() > 3);
  std::size_t nodes = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i].size() < usual_source_line + 4096);
    const auto message = parse_source_message(lines[i]);
    REQUIRE(message.has_value());
    const auto& part = std::get<SourceUpdate>(*message);
    CHECK(part.sequence == 7 + i);
    CHECK(part.more == (i + 1 < lines.size()));
    CHECK(part.full);
    nodes += part.nodes.size();
  }
  CHECK(nodes == 3000);
}

TEST_CASE("hello, report, error and commands are read as they were written") {
  const auto hello = parse_source_message(encode(SourceHello{.source = "slurm",
                                                             .version = "1",
                                                             .cluster = "c",
                                                             .backend = "Slurm 22.05",
                                                             .requests_per_minute = 60}));
  REQUIRE(hello.has_value());
  CHECK(std::get<SourceHello>(*hello).cluster == "c");
  CHECK(std::get<SourceHello>(*hello).requests_per_minute == 60);
  const auto report = parse_source_message(encode(SourceReport{.is_current = false,
                                                               .age_ms = 5,
                                                               .code = ErrorCode::unreachable,
                                                               .message = "down",
                                                               .counters = {{"requests", 3}}}));
  REQUIRE(report.has_value());
  CHECK_FALSE(std::get<SourceReport>(*report).is_current);
  CHECK(std::get<SourceReport>(*report).code == ErrorCode::unreachable);
  CHECK(std::get<SourceReport>(*report).counters.at("requests") == 3);
  CHECK(parse_source_message(encode(SourceReport{}))->index() == 2);
  const auto error = parse_source_message(encode(SourceError{ErrorCode::unsupported, "no Slurm"}));
  REQUIRE(error.has_value());
  CHECK(std::get<SourceError>(*error).message == "no Slurm");
  const auto start = parse_source_command(encode(SourceCommand(SourceStart{})));
  REQUIRE(start.has_value());
  CHECK(std::get<SourceStart>(*start).protocol == source_protocol_version);
  CHECK(parse_source_command(encode(SourceCommand(SourceResync{})))->index() == 1);
}

TEST_CASE("a source may leave out what it does not know, and say more than we read") {
  const auto message = parse_source_message(
      R"({"type":"update","sequence":1,"time":5,"color":"red","nodes":[{"name":"a","address":"",)"
      R"("sockets":1,"cores_per_socket":4,"threads_per_core":1,"cores_usable":4,)"
      R"("memory_bytes":100,"memory_free_bytes":50,"state":"usable","cores_free":2,"x":[]}]})");
  REQUIRE_MESSAGE(message.has_value(), message.error().message);
  const SourceNode& node = std::get<SourceUpdate>(*message).nodes.at(0);
  CHECK(node.kind == SourceNodeKind::cpu);
  CHECK_FALSE(node.free_cores.has_value());
}

TEST_CASE("a node that counts what it does not have is refused, with the field") {
  const std::pair<const char*, std::pair<const char*, const char*>> cases[] = {
      {"cores_free", {R"("cores_free":3)", R"("cores_free":8)"}},
      {"free_cores", {R"("free_cores":"0-1,4")", R"("free_cores":"0-1")"}},
      {"free_cores", {R"("free_cores":"0-1,4")", R"("free_cores":"0-1,8")"}},
      {"free_cores", {R"("free_cores":"0-1,4")", R"("free_cores":"0-1,7")"}},
      {"free_cores", {R"("free_cores":"0-1,4")", R"("free_cores":[0,1,4])"}},
      {"free_cores", {R"("free_cores":"0-1,4")", R"("free_cores":"all")"}},
      {"hidden_cores", {R"("hidden_cores":1)", R"("hidden_cores":100)"}},
      {"cores_usable", {R"("cores_usable":7)", R"("cores_usable":8)"}},
      {"reserved_cores", {R"("reserved_cores":"7")", R"("reserved_cores":"8")"}},
      {"cores_per_socket", {R"("cores_per_socket":4)", R"("cores_per_socket":0)"}},
      {"cores_per_socket", {R"("cores_per_socket":4)", R"("cores_per_socket":4000000000)"}},
      {"memory_free_bytes",
       {R"("memory_free_bytes":4294967296)", R"("memory_free_bytes":99999999999)"}},
      {"memory_free_bytes", {R"("memory_free_bytes":4294967296)", R"("memory_free_bytes":-1)"}},
      {"gpus_free", {R"("gpus_free":1)", R"("gpus_free":3)"}},
      {"free_gpus", {R"("free_gpus":"1")", R"("free_gpus":"2")"}},
      {"gpus", {R"("index":1)", R"("index":0)"}},
      {"state", {R"("state":"planned")", R"("state":"unusable")"}},
      {"state", {R"("state":"planned")", R"("state":"fine")"}},
      {"name", {R"("name":"n1")", R"("name":"")"}},
      {"name", {R"("name":"n1")", R"("name":7)"}},
      {"windows", {R"("from":2000)", R"("from":2001)"}},
      {"windows", {R"("until":2000)", R"("until":0)"}},
      {"cores", {R"("cores":"2-3")", R"("cores":"3-2")"}},
      {"shares", {R"("state":"running")", R"("state":"pending")"}},
      {"uid", {R"("uid":1000)", R"("uid":-1)"}},
      {"end_time", {R"("end_time":2000)", R"("end_time":-5)"}},
      {"sequence", {R"("sequence":1)", R"("sequence":1.5)"}},
      {"full", {R"("full":true)", R"("full":1)"}},
  };
  for (const auto& [field, change] : cases) {
    CAPTURE(std::string(change.second));
    const auto message = parse_source_message(line_with(change.first, change.second));
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error().code == ErrorCode::bad_request);
    CHECK(message.error().message.find(std::string(field) + "' ") != std::string::npos);
  }
}

TEST_CASE("what is no message is refused") {
  for (const std::string line :
       {"", "x", "[]", "{}", "null", R"({"type":"dance"})", R"({"type":7})", R"({"type":"hello"})",
        R"({"type":"hello","protocol":[2,1],"source":"s","version":"","cluster":"c"})",
        R"({"type":"update"})", R"({"type":"update","sequence":1,"time":1,"nodes":{}})",
        R"({"type":"update","sequence":1,"time":1,"nodes":[1]})",
        R"({"type":"update","sequence":1,"time":1,"jobs_gone":["1"]})",
        R"({"type":"report","state":"well","age_ms":1})",
        R"({"type":"report","state":"stale","age_ms":1,"code":"bored","message":""})",
        R"({"type":"report","state":"current","age_ms":1,"counters":{"a":-1}})",
        R"({"type":"error","code":"internal"})"})
    CHECK_FALSE_MESSAGE(parse_source_message(line).has_value(), line);
  for (const std::string line : {"", "{}", R"({"type":"start"})", R"({"type":"hello"})",
                                 R"({"type":"start","protocol":"1"})"})
    CHECK_FALSE_MESSAGE(parse_source_command(line).has_value(), line);
  const std::string endless(longest_source_line + 1, ' ');
  CHECK(parse_source_message(endless).error().code == ErrorCode::too_large);
}

TEST_CASE("a line with a damaged byte is read or refused, and never anything else") {
  const std::string line = encode(an_update()).at(0);
  std::mt19937 random(20261122);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = line;
    for (int i = 0; i < 2; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto message = parse_source_message(damaged);
    if (!message || !std::holds_alternative<SourceUpdate>(*message)) continue;
    for (const SourceNode& node : std::get<SourceUpdate>(*message).nodes)
      CHECK(node.cores_free <= node.cores());
  }
}

}  // namespace orchid
