// What capacity sources say, and what becomes of it: conversation, view, facts, report, metrics.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "clusters/cluster_report.h"
#include "clusters/cluster_view.h"
#include "clusters/clusters.h"
#include "clusters/configured_sources.h"
#include "clusters/source_conversation.h"
#include "worker_requests.h"

namespace orchid::gateway {
namespace {

constexpr MonotonicTime start{std::chrono::seconds(100)};

nlohmann::json clusters_json(const std::vector<const ClusterState*>& clusters, MonotonicTime now) {
  ClustersReport report(clusters);
  while (report.go_on(now)) {
  }
  return report.take();
}

SourceNode node(std::string name, std::uint32_t cores) {
  SourceNode one{.name = name,
                 .address = "10.0.0.1",
                 .hostname = name + "-host",
                 .architecture = "x86_64",
                 .cores_per_socket = cores,
                 .cores_usable = cores,
                 .memory = 8_GiB,
                 .cores_free = cores,
                 .free_cores = first_numbers(cores),
                 .memory_free = 8_GiB};
  return one;
}

SourceJob job(std::uint64_t id, const std::string& on, CoreList cores) {
  return {.id = id,
          .state = SourceJobState::running,
          .shares = {{.node = on, .cores = std::move(cores), .memory = 1_GiB, .gpus = {}}}};
}

SourceUpdate full(std::vector<SourceNode> nodes, std::vector<SourceJob> jobs,
                  std::uint64_t sequence = 1) {
  return {.sequence = sequence,
          .full = true,
          .time = 1'000,
          .nodes = std::move(nodes),
          .jobs = std::move(jobs)};
}

SourceConversation::Heard heard(SourceConversation& source, const std::string& line,
                                MonotonicTime now = start) {
  auto result = source.line(line, now);
  REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().message));
  return *result;
}

const std::string hello =
    encode(SourceHello{.source = "slurm", .cluster = "fern", .backend = "Slurm 22.05.8"});

Executor executor(std::string id, std::string hostname, CoreList cores, GrantTerms grant = {}) {
  return {.id = ExecutorId(std::move(id)),
          .owner = {},
          .host = {.boot_id = "boot", .hostname = std::move(hostname), .cores = std::move(cores)},
          .grant = std::move(grant)};
}

TEST_CASE("a source is greeted, told to start, and its complete updates are taken") {
  ClusterState state;
  SourceConversation source(state);
  const auto greeted = heard(source, hello);
  REQUIRE(greeted.answer.has_value());
  CHECK(std::holds_alternative<SourceStart>(*greeted.answer));
  CHECK(state.hello.cluster == "fern");
  auto first = nlohmann::json::parse(encode(full({node("n1", 4)}, {}))[0]);
  first["more"] = true;
  CHECK_FALSE(heard(source, first.dump()).inventory_changed);
  CHECK(state.inventory.nodes().empty());
  CHECK(heard(source, encode(full({node("n2", 4)}, {}, 2))[0]).inventory_changed);
  CHECK(state.inventory.nodes().size() == 2);
  heard(source, encode(SourceReport{.is_current = false, .message = "slurmctld is silent"}));
  CHECK(state.trouble == "slurmctld is silent");
}

TEST_CASE("a line that was lost is asked for again, and what was known stays") {
  ClusterState state;
  SourceConversation source(state);
  heard(source, hello);
  heard(source, encode(full({node("n1", 4)}, {}))[0]);
  const SourceUpdate late{.sequence = 3, .nodes = {node("n2", 4)}};
  const auto answer = heard(source, encode(late)[0]).answer;
  REQUIRE(answer.has_value());
  CHECK(std::holds_alternative<SourceResync>(*answer));
  CHECK(state.inventory.nodes().size() == 1);
  CHECK(heard(source, encode(full({node("n3", 4)}, {}, 4))[0]).inventory_changed);
  CHECK(state.inventory.nodes().contains("n3"));
}

TEST_CASE("a source that is started again replaces what is known with its first full update") {
  ClusterState state;
  {
    SourceConversation first(state);
    heard(first, hello);
    heard(first, encode(full({node("n1", 4)}, {}))[0]);
  }
  SourceConversation second(state);
  heard(second, hello);
  CHECK(state.inventory.nodes().contains("n1"));
  heard(second, encode(full({node("n2", 4)}, {}))[0]);
  CHECK_FALSE(state.inventory.nodes().contains("n1"));
  CHECK(state.inventory.nodes().contains("n2"));
}

TEST_CASE("nonsense, another version and last words end the process, with a reason") {
  const auto fault_of = [](const std::vector<std::string>& lines) {
    ClusterState state;
    SourceConversation source(state);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) heard(source, lines[i]);
    const auto last = source.line(lines.back(), start);
    return last ? std::string() : last.error().message;
  };
  CHECK(fault_of({"{"}).find("JSON") != std::string::npos);
  CHECK(fault_of({encode(SourceReport{})}).find("first line must be a hello") != std::string::npos);
  CHECK(fault_of({hello, hello}).find("hello once") != std::string::npos);
  CHECK(fault_of({encode(SourceHello{
                     .oldest_protocol = 2, .newest_protocol = 3, .source = "s", .cluster = "c"})})
            .find("install it from the same release") != std::string::npos);
  CHECK(fault_of({encode(SourceError{ErrorCode::unsupported, "no libslurm"})}) == "no libslurm");
}

struct KnownCluster {
  ClusterState state;
  KnownCluster(std::vector<SourceNode> nodes, std::vector<SourceJob> jobs) {
    REQUIRE(state.inventory.apply(full(std::move(nodes), std::move(jobs))).has_value());
  }
  [[nodiscard]] ClusterView view() const { return {name, state.inventory}; }
  std::string name = "fern";
};

TEST_CASE("a host is the node that its pilot names, or that is called as it is") {
  SourceNode twin = node("n3", 4);
  twin.hostname = "n2-host";
  const KnownCluster cluster({node("n1", 4), node("n2", 4), twin}, {});
  const ClusterView view = cluster.view();
  const auto name_of = [&view](const Executor& one) {
    const SourceNode* found = view.node_of({&one});
    return found == nullptr ? std::string() : found->name;
  };
  const GrantTerms pilot{.source = GrantSource::pilot, .cluster = "fern", .job = 5, .node = "n2"};
  CHECK(name_of(executor("a", "whatever", {0}, pilot)) == "n2");
  CHECK(name_of(executor("a", "n1", {0})) == "n1");
  CHECK(name_of(executor("a", "n1-host", {0})) == "n1");
  CHECK(name_of(executor("a", "n1.example.org", {0})) == "n1");
  CHECK(name_of(executor("a", "n2-host", {0})).empty());  // it fits two
  CHECK(name_of(executor("a", "laptop", {0})).empty());
  GrantTerms elsewhere = pilot;
  elsewhere.cluster = "moss";
  CHECK(name_of(executor("a", "n1", {0}, elsewhere)).empty());
}

TEST_CASE("a job's cores are those that its pilot names, others' are the batch system's numbers") {
  SourceJob suspended = job(9, "n1", {3});
  suspended.state = SourceJobState::suspended;
  const KnownCluster cluster({node("n1", 4)}, {job(5, "n1", {0, 1}), job(6, "n1", {2}), suspended});
  const ClusterView view = cluster.view();
  const Executor local = executor("local", "n1", {0, 1, 2, 3});
  const Executor pilot =
      executor("pilot", "x", {2, 3}, {.source = GrantSource::pilot, .cluster = "fern", .job = 5});
  const auto allocation =
      view.allocation_of(cluster.state.inventory.nodes().at("n1"), {&local, &pilot});
  REQUIRE(allocation.jobs.size() == 3);
  CHECK(allocation.jobs[0].cores == placement::CoreSet{2, 3});
  CHECK(allocation.jobs[0].memory == 1_GiB);
  CHECK(allocation.jobs[1].cores.empty());  // core 2 is the pilot's, whatever it is called there
  CHECK(allocation.jobs[2].state == placement::JobState::suspended);
  CHECK_FALSE(allocation.drained);
}

TEST_CASE("where jobs are hidden, only what a job of one's own has is used") {
  SourceNode secret = node("n1", 4);
  secret.cores_free = 2;
  secret.free_cores.reset();
  secret.hidden_cores = 1;
  secret.memory_free = 5_GiB;
  const auto jobs_of = [&secret](std::vector<SourceJob> seen) {
    const KnownCluster cluster({secret}, std::move(seen));
    const Executor local = executor("local", "n1", {0, 1, 2, 3});
    const Executor pilot =
        executor("pilot", "x", {3}, {.source = GrantSource::pilot, .cluster = "fern", .job = 5});
    return cluster.view()
        .allocation_of(cluster.state.inventory.nodes().at("n1"), {&local, &pilot})
        .jobs;
  };
  const auto hidden = jobs_of({job(5, "n1", {3})});
  REQUIRE(hidden.size() == 2);
  CHECK(hidden[0].cores == placement::CoreSet{3});
  CHECK(hidden[1].job == placement::JobId(0));
  CHECK(hidden[1].cores == placement::CoreSet{0, 1, 2});
  CHECK(hidden[1].memory == 2_GiB);
  secret.hidden_cores = 0;
  CHECK(jobs_of({job(5, "n1", {3}), job(6, "n1", {0})}).size() == 2);  // both are seen
  CHECK(jobs_of({job(5, "n1", {3})}).size() == 1);  // another core is reserved, or just taken
}

TEST_CASE("what a pilot has of GPUs no other job has, whoever had it before") {
  SourceJob before = job(4, "n1", {0});
  before.shares[0].gpus = {0, 1};
  const KnownCluster cluster({node("n1", 4)}, {before});
  Executor pilot =
      executor("pilot", "x", {0}, {.source = GrantSource::pilot, .cluster = "fern", .job = 5});
  pilot.host.gpus = {{.index = 0, .model = "a100"}};
  const auto allocation =
      cluster.view().allocation_of(cluster.state.inventory.nodes().at("n1"), {&pilot});
  REQUIRE(allocation.jobs.size() == 1);
  CHECK(allocation.jobs[0].cores.empty());
  CHECK(allocation.jobs[0].gpus == placement::CoreSet{1});
}

TEST_CASE("what the steps of a shared job use is not free for others") {
  const KnownCluster cluster({node("n1", 4)}, {job(5, "n1", {0, 1, 2})});
  const Executor local = executor("local", "n1", {0, 1, 2, 3});
  const Executor share =
      executor("share", "x", {2}, {.source = GrantSource::share, .cluster = "fern", .job = 5});
  const auto allocation =
      cluster.view().allocation_of(cluster.state.inventory.nodes().at("n1"), {&local, &share});
  CHECK(allocation.jobs.at(0).cores == placement::CoreSet{0, 1, 2});
}

TEST_CASE("a share has a place for its owner's functions, and for nobody else's") {
  HostBook hosts;
  Executor share = executor("share", "n1", {0}, {.source = GrantSource::share, .job = 5});
  share.owner.tenant = {.uid = 1000, .name = "ada"};
  share.host.memory = 8_GiB;
  hosts.join(share);
  Capacity capacity(hosts, {});
  CHECK(capacity.refresh("boot", start).empty());
  placement::Request request{.tenant = placement::TenantId(1001),
                             .worker = on_host("boot", {{.memory = 1_GiB}})};
  CHECK_FALSE(capacity.place(request, start).placed());
  request.tenant = placement::TenantId(1000);
  CHECK(capacity.place(request, start).placed());
}

TEST_CASE("an exclusive job has all of its node, with all threads of its cores") {
  SourceJob alone = job(7, "n1", {0});
  alone.exclusive = true;
  SourceNode threaded = node("n1", 2);
  threaded.threads_per_core = 2;
  threaded.state = SourceNodeState::unusable;
  const KnownCluster cluster({threaded}, {alone});
  const Executor local = executor("local", "n1", {0, 1, 2, 3});
  const auto allocation =
      cluster.view().allocation_of(cluster.state.inventory.nodes().at("n1"), {&local});
  CHECK(allocation.jobs.at(0).cores == placement::CoreSet{0, 1, 2, 3});
  CHECK(allocation.drained);
}

TEST_CASE("where executors tell the order of their machine's threads, others' jobs follow it") {
  SourceNode two_sockets = node("n1", 2);
  two_sockets.sockets = 2;
  two_sockets.threads_per_core = 2;
  const KnownCluster cluster({two_sockets}, {job(7, "n1", {1})});
  Executor local = executor("a", "n1", first_numbers(8));
  local.host.thread_order = {0, 4, 2, 6, 1, 5, 3, 7};
  local.host.thread_numa_nodes = {0, 0, 0, 0, 1, 1, 1, 1};
  const auto allocation =
      cluster.view().allocation_of(cluster.state.inventory.nodes().at("n1"), {&local});
  REQUIRE(allocation.jobs.size() == 1);
  CHECK(allocation.jobs[0].cores == placement::CoreSet{2, 6});
}

TEST_CASE("what a batch system gives to a job is taken from the local source, and comes back") {
  struct Knowledge final : HostKnowledge {
    KnownCluster cluster{{node("n1", 4)}, {}};
    std::optional<HostFacts> facts_of(
        const std::vector<const Executor*>& executors) const override {
      const ClusterView view = cluster.view();
      const SourceNode* found = view.node_of(executors);
      if (found == nullptr) return std::nullopt;
      return facts_of_node(*found, view.allocation_of(*found, executors));
    }
  } knowledge;
  HostBook hosts;
  Executor local = executor("local", "n1", {0, 1, 2, 3});
  local.host.memory = 8_GiB;
  hosts.join(local);
  Capacity capacity(hosts, {.knowledge = &knowledge});
  CHECK(capacity.refresh("boot", start).empty());
  const placement::Request request{.worker = on_host("boot", {{.cores = 4, .memory = 1_GiB}})};
  const auto placed = capacity.place(request, start);
  REQUIRE(placed.placed());
  SourceNode gpu_node = node("n1", 4);
  gpu_node.kind = SourceNodeKind::gpu;
  gpu_node.features = {"fast"};
  gpu_node.gpus = {{.index = 1, .type = "a100"}};
  knowledge.cluster = KnownCluster({gpu_node}, {job(6, "n1", {2})});
  const auto lost = capacity.refresh_facts({"boot"}, start);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].lease == placed.id);
  const auto host = capacity.placement().host(placement::HostId("boot"));
  CHECK(host->granted == placement::CoreSet{0, 1, 3});
  CHECK(host->host.kind == placement::HostKind::gpu);
  CHECK(host->host.features == std::vector<std::string>{"fast"});
  CHECK(host->host.gpus.at(0).index == 1);
  CHECK_FALSE(capacity.place(request, start).placed());
  Executor card = local;  // a batch system knows no DPUs
  card.host.kind = "dpu";
  hosts.join(card);
  CHECK(capacity.refresh("boot", start).empty());
  CHECK(capacity.placement().host(placement::HostId("boot"))->host.kind ==
        placement::HostKind::dpu);
  knowledge.cluster = KnownCluster({gpu_node}, {});
  CHECK(capacity.refresh_facts({"boot"}, start).empty());
  CHECK(capacity.place(request, start).placed());
  CHECK_FALSE(capacity.placement().audit().has_value());
}

/// Four hosts and six nodes, of which two are like their hosts by name and two by hostname.
struct RandomCluster {
  struct Knowledge final : HostKnowledge {
    std::string name = "fern";
    SourceInventory inventory;
    std::optional<HostFacts> facts_of(
        const std::vector<const Executor*>& executors) const override {
      const ClusterView view(name, inventory);
      const SourceNode* found = view.node_of(executors);
      if (found == nullptr) return std::nullopt;
      return facts_of_node(*found, view.allocation_of(*found, executors));
    }
  };
  std::mt19937 random;
  Knowledge knowledge;
  HostBook hosts;
  Capacity by_touch{hosts, {.knowledge = &knowledge}};
  Capacity by_all{hosts, {.knowledge = &knowledge}};
  std::uint64_t sequence = 0;

  explicit RandomCluster(unsigned seed) : random(seed) {
    for (const std::uint32_t i : {0U, 1U, 2U, 3U}) {
      const std::string boot_id = "boot" + std::to_string(i);
      Executor one = executor(boot_id, (i < 2 ? "n" : "h") + std::to_string(i), first_numbers(4));
      one.host.boot_id = boot_id;
      one.host.memory = 8_GiB;
      hosts.join(one);
      for (Capacity* capacity : {&by_touch, &by_all})
        REQUIRE(capacity->refresh(boot_id, start).empty());
    }
  }
  std::uint32_t below(std::uint32_t limit) {
    return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random);
  }
  std::string node_name() { return "n" + std::to_string(below(6)); }
  SourceNode some_node(const std::string& called) {
    SourceNode one = node(called, 4);
    one.hostname = "h" + std::to_string(below(5));
    if (below(4) == 0) one.features = {"fast"};
    if (below(4) == 0) one.state = SourceNodeState::unusable;
    return one;
  }
  SourceJob some_job(std::uint64_t id) {
    SourceJob one = job(id, node_name(), {below(4)});
    const std::string second = node_name();
    if (second != one.shares[0].node)
      one.shares.push_back({.node = second, .cores = {below(4)}, .memory = 1_GiB});
    return one;
  }
  SourceUpdate some_update() {
    SourceUpdate update{.sequence = ++sequence, .full = sequence == 1 || below(20) == 0};
    std::set<std::string> nodes;
    std::set<std::uint64_t> jobs;
    for (std::uint32_t i = below(4); i > 0; --i)
      if (const std::string name = node_name(); nodes.insert(name).second) {
        if (!update.full && knowledge.inventory.nodes().contains(name) && below(3) == 0)
          update.nodes_gone.push_back(name);
        else
          update.nodes.push_back(some_node(name));
      }
    for (std::uint32_t i = below(5); i > 0; --i)
      if (const std::uint64_t id = below(8) + 1; jobs.insert(id).second) {
        if (!update.full && knowledge.inventory.jobs().contains(id) && below(2) == 0)
          update.jobs_gone.push_back(id);
        else
          update.jobs.push_back(some_job(id));
      }
    return update;
  }
};

TEST_CASE("what only an update's own nodes are asked again for is what all would be asked for") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomCluster cluster(seed);
    for (int step = 0; step < 60; ++step) {
      CAPTURE(seed);
      CAPTURE(step);
      REQUIRE(cluster.knowledge.inventory.apply(cluster.some_update()).value());
      const TouchedNodes& touched = cluster.knowledge.inventory.touched();
      const auto all = cluster.hosts.boot_ids();
      (void)cluster.by_touch.refresh_facts(cluster.hosts.boot_ids_of(touched), start);
      (void)cluster.by_all.refresh_facts(all, start);
      for (const std::string& boot_id : all) {
        const auto one = cluster.by_touch.placement().host(placement::HostId(boot_id));
        const auto other = cluster.by_all.placement().host(placement::HostId(boot_id));
        REQUIRE((one && other));
        REQUIRE(one->granted == other->granted);
        REQUIRE(one->drained == other->drained);
        REQUIRE(one->host.features == other->host.features);
      }
    }
    CHECK_FALSE(cluster.by_touch.placement().audit().has_value());
  }
}

TEST_CASE("the report counts a forecast from now, and leaves out what is past") {
  ClusterState state;
  state.source = "slurm";
  state.hello.cluster = "fern";
  state.running = true;
  state.heard = start;
  state.told = start - std::chrono::seconds(2);
  state.report = {.is_current = true, .age_ms = 2'000, .counters = {{"requests", 12}}};
  SourceUpdate update = full({node("n1", 4), node("n2", 2)}, {});
  update.forecasts = {{.node = "n1",
                       .windows = {{.from = 0, .until = 1'004, .cores = 1},
                                   {.from = 1'004, .until = 1'100, .cores = 2},
                                   {.from = 1'100, .until = 0, .cores = 4}}}};
  REQUIRE(state.inventory.apply(update).has_value());
  const auto later = start + std::chrono::seconds(8);
  const auto json = clusters_json({&state}, later);
  REQUIRE(json.size() == 1);
  CHECK(json[0]["state"] == "current");
  CHECK(json[0]["age_ms"] == 10'000);
  const auto& windows = json[0]["nodes"][0]["forecast"];
  REQUIRE(windows.size() == 2);  // the first has ended
  CHECK(windows[0]["from_s"] == 0);
  CHECK(windows[0]["until_s"] == 90);
  CHECK(windows[1]["from_s"] == 90);
  CHECK_FALSE(windows[1].contains("until_s"));
  CHECK_FALSE(json[0]["nodes"][1].contains("forecast"));
  CHECK(json[0]["nodes"][0]["free_cores"] == "0-3");
  state.running = false;
  CHECK(clusters_json({&state}, later)[0]["state"] == "down");
  MetricsText text;
  add_metrics(text, {&state}, later);
  const std::string metrics = text.take();
  CHECK(metrics.find("orchid_source_requests_total{source=\"slurm\",cluster=\"fern\"} 12\n") !=
        std::string::npos);
  CHECK(metrics.find("orchid_source_current{source=\"slurm\",cluster=\"fern\"} 0\n") !=
        std::string::npos);
  CHECK(metrics.find("orchid_source_age_seconds{source=\"slurm\",cluster=\"fern\"} 10\n") !=
        std::string::npos);
  CHECK(metrics.find("orchid_source_cores_free{source=\"slurm\",cluster=\"fern\"} 6\n") !=
        std::string::npos);
  MetricsText none;
  add_metrics(none, {}, later);
  CHECK(none.take().empty());
}

TEST_CASE("a forecast goes on while reports say that nothing has changed") {
  ClusterState state;
  SourceConversation source(state);
  heard(source, hello);
  SourceUpdate update = full({node("n1", 4)}, {});
  update.forecasts = {{.node = "n1",
                       .windows = {{.from = 0, .until = 4'600, .cores = 4},
                                   {.from = 4'600, .until = 0, .cores = 1}}}};
  heard(source, encode(update)[0]);
  const auto windows_at = [&](MonotonicTime now) {
    heard(source, encode(SourceReport{.is_current = true, .age_ms = 100}), now);
    return clusters_json({&state}, now)[0]["nodes"][0]["forecast"];
  };
  CHECK(windows_at(start)[0]["until_s"] == 3'600);
  CHECK(windows_at(start + std::chrono::minutes(50))[0]["until_s"] == 600);
  CHECK(windows_at(start + std::chrono::minutes(50))[1]["from_s"] == 600);
  CHECK(windows_at(start + std::chrono::minutes(60))[0]["cores"] == 1);
  // A process that is started again has told nothing before its update is complete.
  SourceConversation second(state);
  heard(second, hello, start + std::chrono::minutes(50));
  auto part = nlohmann::json::parse(encode(update)[0]);
  part["more"] = true;
  heard(second, part.dump(), start + std::chrono::minutes(50));
  CHECK(clusters_json({&state}, start + std::chrono::minutes(
                                            50))[0]["nodes"][0]["forecast"][0]["until_s"] == 600);
}

TEST_CASE("sources are named, found by themselves where Slurm is, or paths") {
  const auto names = [](std::vector<std::string> wanted, bool has_slurm) {
    std::vector<std::string> found;
    const auto sources = configured_sources(
        {.sources = std::move(wanted), .slurm_program = "/x/orchid-slurm"}, has_slurm);
    if (!sources) return std::vector<std::string>{sources.error().message};
    for (const auto& source : *sources) found.push_back(source.program);
    return found;
  };
  CHECK(names({"auto"}, false).empty());
  CHECK(names({"auto"}, true) == std::vector<std::string>{"/x/orchid-slurm"});
  CHECK(names({"slurm", "/opt/site/lsf"}, false) ==
        std::vector<std::string>{"/x/orchid-slurm", "/opt/site/lsf"});
  CHECK(names({"none"}, true).empty());
  const auto two = configured_sources({.sources = {"slurm:/a/slurm.conf", "slurm:/b/slurm.conf"},
                                       .slurm_program = "/x/orchid-slurm",
                                       .slurm_requests_per_minute = 90},
                                      false);
  REQUIRE(two->size() == 2);
  CHECK(two->at(0).name == "slurm");
  CHECK(two->at(1).program == "/x/orchid-slurm");
  CHECK(two->at(1).arguments == std::vector<std::string>{"--configuration", "/b/slurm.conf",
                                                         "--requests-per-minute", "90"});
  CHECK(names({"slurm:b"}, true).at(0).find("'slurm:b' is not slurm") != std::string::npos);
  CHECK(names({"pbs"}, true).at(0).find("'pbs' is not slurm, slurm:/path") != std::string::npos);
  const auto own = configured_sources({.sources = {"/opt/site/lsf  --queue idle "}}, false);
  REQUIRE(own->size() == 1);
  CHECK(own->at(0).name == "lsf");
  CHECK(own->at(0).program == "/opt/site/lsf");
  CHECK(own->at(0).arguments == std::vector<std::string>{"--queue", "idle"});
  const auto sources = configured_sources({.sources = {"slurm"},
                                           .slurm_program = "/x",
                                           .slurm_requests_per_minute = 90,
                                           .slurm_interval = std::chrono::milliseconds(500),
                                           .slurm_dpu_features = {"bluefield"}},
                                          true);
  CHECK(sources->at(0).arguments == std::vector<std::string>{"--requests-per-minute", "90",
                                                             "--interval-ms", "500",
                                                             "--dpu-feature", "bluefield"});
}

}  // namespace
}  // namespace orchid::gateway
