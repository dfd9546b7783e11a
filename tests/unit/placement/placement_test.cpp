#include "placement/placement.h"

#include "small_cluster.h"

namespace orchid::placement::tests {
namespace {

HostAllocation allocation(const Host& host, std::vector<JobAllocation> jobs) {
  return {.host = host.id, .drained = false, .jobs = std::move(jobs)};
}

std::vector<Displaced> apply(Placement& placement, const HostAllocation& one) {
  return placement.apply(std::span(&one, 1), start);
}

Grant pilot(const Host& host, const std::string& id, CoreSet cores, JobId job) {
  Grant grant = whole(host, id);
  grant.source = SourceId("slurm");
  grant.cores = std::move(cores);
  grant.memory = 8_GiB;
  grant.gpus = {};
  grant.job = job;
  return grant;
}

TEST_CASE("two pilots, a share and the local source on one host never count a core twice") {
  const Host host = host_named("n1", 8);
  SmallCluster cluster({host});  // the local source: 0-7
  Placement& placement = cluster.placement;
  REQUIRE(placement.put_grant(pilot(host, "pilot-1", {0, 1}, JobId(1)), start).has_value());
  REQUIRE(placement.put_grant(pilot(host, "pilot-2", {1, 2}, JobId(2)), start).has_value());
  REQUIRE(placement.put_grant(pilot(host, "share-3", {2, 3}, JobId(3)), start).has_value());
  CHECK(placement.host(host.id)->granted.size() == 8);
  CoreSet leased;
  for (int i = 0; i < 8; ++i) {
    CHECK(cluster.place(1) == "n1");
    CHECK_FALSE(leased.intersects(cluster.last.places[0].cores));
    leased |= cluster.last.places[0].cores;
  }
  CHECK(leased.size() == 8);
  CHECK(cluster.place(1).empty());
  CHECK_FALSE(placement.audit().has_value());
}

TEST_CASE("cores of a job are its own share's, and nobody else's") {
  const Host host = host_named("n1", 8);
  SmallCluster cluster({host});
  REQUIRE(cluster.placement.put_grant(pilot(host, "share", {0, 1}, JobId(7)), start).has_value());
  CHECK(apply(cluster.placement, allocation(host, {{.job = JobId(7), .cores = {0, 1, 2, 3}},
                                                   {.job = JobId(8), .cores = {4, 5}}}))
            .empty());
  CHECK(cluster.placement.host(host.id)->granted == CoreSet{0, 1, 6, 7});
  for (int i = 0; i < 4; ++i) {
    CHECK(cluster.place(1) == "n1");
    const bool in_share = cluster.last.places[0].grant == GrantId("share");
    CHECK(cluster.last.places[0].cores.intersects(in_share ? CoreSet{0, 1} : CoreSet{6, 7}));
  }
  CHECK(cluster.place(1).empty());
}

TEST_CASE("GPUs of jobs are told, but for those that a job grants") {
  const Host host = with_gpus(host_named("n1", 8), 4, "h100");
  SmallCluster cluster({host});  // the local source: 0-3
  Grant own = pilot(host, "pilot", {0}, JobId(7));
  own.gpus = {0};
  REQUIRE(cluster.placement.put_grant(own, start).has_value());
  CHECK(cluster.placement.host(host.id)->gpus_of_jobs == CoreSet{});
  (void)apply(cluster.placement,
              allocation(host, {{.job = JobId(7), .cores = {0}, .gpus = {0, 1}},
                                {.job = JobId(8), .cores = {4}, .gpus = {2, 9}}}));
  const auto view = cluster.placement.host(host.id);
  CHECK(view->gpus_of_jobs == CoreSet{1, 2});
  CHECK(view->gpus_granted == CoreSet{0, 3});
}

TEST_CASE("what a displaced worker is still on is nobody's before it has been vacated") {
  const Host host = host_named("n1", 2);
  SmallCluster cluster({host});
  Placement& placement = cluster.placement;
  CHECK(cluster.place(2) == "n1");
  REQUIRE(placement.put_grant(pilot(host, "pilot", {0, 1}, JobId(7)), start).has_value());
  const auto lost = apply(placement, allocation(host, {{.job = JobId(7), .cores = {0, 1}}}));
  REQUIRE(lost.size() == 1);  // the local source had it; now both cores are the pilot's alone
  const Place& place = lost[0].places.at(0);
  placement.vacating(place);
  CHECK(placement.host(host.id)->leased == CoreSet{0, 1});
  CHECK(cluster.place(1).empty());
  CHECK_FALSE(placement.audit().has_value());
  placement.vacated(place);
  placement.vacated(place);  // once more changes nothing
  CHECK(placement.host(host.id)->leased.empty());
  CHECK(cluster.place(2) == "n1");
  CHECK(cluster.last.places[0].grant == GrantId("pilot"));
  CHECK_FALSE(placement.audit().has_value());
  REQUIRE(placement.remove_host(host.id, start).has_value());
  placement.vacating(place);
  placement.vacated(place);
}

TEST_CASE("a grant that drains or is silent keeps what it has and gets nothing new") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({host});
  CHECK(cluster.place(1) == "n1");
  const DecisionId there = cluster.last.id;
  Grant grant = whole(host, "g-n1");
  for (const auto& [state, reason] : {std::pair{GrantState::draining, Reason::grant_draining},
                                      std::pair{GrantState::silent, Reason::grant_silent}}) {
    grant.state = state;
    const auto lost = cluster.placement.put_grant(grant, start);
    REQUIRE(lost.has_value());
    CHECK(lost->empty());
    CHECK(cluster.place(1).empty());
    CHECK(cluster.last.refusal->message.find(to_string(reason)) != std::string::npos);
    CHECK(cluster.placement.find(there).has_value());
  }
  grant.state = GrantState::open;
  REQUIRE(cluster.placement.put_grant(grant, start).has_value());
  CHECK(cluster.place(1) == "n1");
  CHECK_FALSE(cluster.placement.audit().has_value());
}

TEST_CASE("what only clients of a host can reach is placed for them, and for nobody else") {
  const Host near = host_named("n1", 2);
  const Host far = host_named("n2", 2);
  SmallCluster cluster({near, far});
  Grant grant = whole(near, "g-n1");
  grant.own_host_only = true;
  REQUIRE(cluster.placement.put_grant(grant, start).has_value());
  Request request{.tenant = alice, .worker = {.client_host = near.id}};
  for (int i = 0; i < 2; ++i) {
    const Decision anywhere = cluster.placement.open(request, start);
    REQUIRE(anywhere.placed());
    CHECK(anywhere.places[0].host == far.id);
  }
  const Decision none = cluster.placement.open(request, start);
  REQUIRE(none.refusal.has_value());
  CHECK(none.refusal->message.find("reached from its own host only") != std::string::npos);
  request.worker.client_host_only = true;
  CHECK(cluster.placement.open(request, start).places.at(0).host == near.id);
  request.worker.host = "n2";
  CHECK_FALSE(cluster.placement.open(request, start).placed());
  request.worker.host = "n1";
  CHECK(cluster.placement.open(request, start).placed());
  request = {.tenant = alice, .worker = {.client_host = HostId("elsewhere")}};
  request.worker.client_host_only = true;
  CHECK_FALSE(cluster.placement.open(request, start).placed());
}

TEST_CASE("workers on cores that Slurm gives away lose their place, the others keep it") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({host});
  const Decision lease = cluster.placement.open(
      {.tenant = alice, .workers = 2, .worker = {.alternatives = {{.cores = 2}}}}, start);
  REQUIRE(lease.placed());
  auto lost = apply(cluster.placement, allocation(host, {{.job = JobId(1), .cores = {3}}}));
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].lease == lease.id);
  CHECK_FALSE(lost[0].closed);
  REQUIRE(lost[0].places.size() == 1);
  CHECK(lost[0].places[0].cores == CoreSet{2, 3});
  CHECK(cluster.placement.find(lease.id)->size() == 1);
  CHECK(cluster.place(1) == "n1");
  CHECK(cluster.last.places[0].cores == CoreSet{2});
  CHECK(apply(cluster.placement, allocation(host, {{.job = JobId(1), .cores = {3}}})).empty());
  lost = apply(cluster.placement, allocation(host, {{.job = JobId(1), .cores = {0, 1, 2, 3}}}));
  CHECK(lost.size() == 2);
  CHECK(lost[0].closed);
  CHECK(lost[1].closed);
  CHECK(cluster.placement.lease_count() == 0);
}

TEST_CASE("a suspended job keeps its cores, and its own grants get nothing new") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({});
  REQUIRE(cluster.placement.put_host(host, start).has_value());
  REQUIRE(cluster.placement.put_grant(pilot(host, "pilot", {0, 1}, JobId(5)), start).has_value());
  CHECK(cluster.place(1) == "n1");
  const JobAllocation running{.job = JobId(5), .cores = {0, 1}};
  JobAllocation suspended = running;
  suspended.state = JobState::suspended;
  CHECK(apply(cluster.placement, allocation(host, {suspended})).empty());
  CHECK(cluster.place(1).empty());
  CHECK(cluster.last.refusal->message == "no host has room: 1 its job is not running");
  CHECK(apply(cluster.placement, allocation(host, {running})).empty());
  CHECK(cluster.place(1) == "n1");
}

TEST_CASE("a reclaimed grant takes its workers with it, and only those") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({});
  REQUIRE(cluster.placement.put_host(host, start).has_value());
  REQUIRE(cluster.placement.put_grant(pilot(host, "one", {0, 1}, JobId(1)), start).has_value());
  REQUIRE(cluster.placement.put_grant(pilot(host, "two", {2, 3}, JobId(2)), start).has_value());
  const Decision lease = cluster.placement.open({.tenant = alice, .workers = 3}, start);
  REQUIRE(lease.placed());
  const auto lost = cluster.placement.remove_grant(GrantId("one"), start).value();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].places.size() + cluster.placement.find(lease.id)->size() == 3);
  for (const Place& place : lost[0].places) CHECK(place.grant == GrantId("one"));
  CHECK_FALSE(cluster.placement.remove_grant(GrantId("one"), start).has_value());
  CHECK_FALSE(cluster.placement.audit().has_value());
}

TEST_CASE("a share that shrinks loses the workers on the cores that it gives up") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({});
  REQUIRE(cluster.placement.put_host(host, start).has_value());
  Grant share = pilot(host, "share", {0, 1, 2}, JobId(1));
  REQUIRE(cluster.placement.put_grant(share, start).has_value());
  const Decision lease = cluster.placement.open({.tenant = alice, .workers = 3}, start);
  REQUIRE(lease.placed());
  share.cores = {1, 2};
  const auto lost = cluster.placement.put_grant(share, start).value();
  REQUIRE(lost.size() == 1);
  REQUIRE(lost[0].places.size() == 1);
  CHECK(lost[0].places[0].cores == CoreSet{0});
}

TEST_CASE("a grant must last as long as the request says") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({});
  REQUIRE(cluster.placement.put_host(host, start).has_value());
  Grant grant = pilot(host, "pilot", {0, 1, 2, 3}, JobId(1));
  grant.until = start + seconds(40);
  REQUIRE(cluster.placement.put_grant(grant, start).has_value());
  CHECK(cluster.place({.tenant = alice, .worker = {.lifetime = seconds(41)}}).empty());
  CHECK(cluster.place({.tenant = alice, .worker = {.lifetime = seconds(40)}}) == "n1");
  grant.until = start + seconds(90);  // renewed
  REQUIRE(cluster.placement.put_grant(grant, start)->empty());
  CHECK(cluster.place({.tenant = alice, .worker = {.lifetime = seconds(41)}}) == "n1");
  CHECK(cluster.placement.expire(start + seconds(89)).empty());
  CHECK_FALSE(cluster.placement.open({.tenant = alice}, start + seconds(90)).placed());
  CHECK(cluster.placement.expire(start + seconds(90)).size() == 2);
  CHECK(cluster.placement.host(host.id)->grants.empty());
}

TEST_CASE("an owner's own grant is for nobody else") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({});
  REQUIRE(cluster.placement.put_host(host, start).has_value());
  Grant grant = whole(host, "share");
  grant.users = GrantUsers::owner_only;
  REQUIRE(cluster.placement.put_grant(grant, start).has_value());
  CHECK(cluster.place(1, bob).empty());
  CHECK(cluster.last.refusal->message == "no host has room: 1 owner only");
  CHECK(cluster.place(1, alice) == "n1");
}

TEST_CASE("memory is the grant's, and what jobs leave of the host's") {
  const Host host = host_named("n1", 8);  // 64 GiB
  SmallCluster cluster({host});
  CHECK(apply(cluster.placement,
              allocation(host, {{.job = JobId(1), .cores = {0}, .memory = 60_GiB}}))
            .empty());
  const Request two{.tenant = alice, .worker = {.alternatives = {{.cores = 1, .memory = 2_GiB}}}};
  CHECK(cluster.place(two) == "n1");
  CHECK(cluster.place(two) == "n1");
  const DecisionId newest = cluster.last.id;
  CHECK(cluster.place(two).empty());
  CHECK(cluster.last.refusal->message == "no host has room: 1 too little memory free");
  const auto lost = apply(cluster.placement,
                          allocation(host, {{.job = JobId(1), .cores = {0}, .memory = 61_GiB}}));
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].lease == newest);
}

TEST_CASE("a pilot's memory is what Slurm gave to its job, beside that of other jobs") {
  const Host host = host_named("n1", 8);
  SmallCluster cluster({});
  REQUIRE(cluster.placement.put_host(host, start).has_value());
  REQUIRE(
      cluster.placement.put_grant(pilot(host, "pilot", {0, 1, 2, 3}, JobId(1)), start).has_value());
  CHECK(apply(cluster.placement,
              allocation(host, {{.job = JobId(1), .cores = {0, 1, 2, 3}, .memory = 3_GiB},
                                {.job = JobId(2), .cores = {4}, .memory = 61_GiB}}))
            .empty());
  CHECK(cluster.place({.tenant = alice,
                       .worker = {.alternatives = {{.cores = 1, .memory = 3_GiB}}}}) == "n1");
  CHECK(
      cluster.place({.tenant = alice, .worker = {.alternatives = {{.cores = 1, .memory = 1_GiB}}}})
          .empty());
}

TEST_CASE(
    "a pilot that has just begun has its own memory, also while Slurm has not told of its job") {
  const Host host = host_named("n1", 8);
  SmallCluster cluster({});
  REQUIRE(cluster.placement.put_host(host, start).has_value());
  CHECK(apply(cluster.placement,
              allocation(host, {{.job = JobId(1), .cores = {0}, .memory = host.memory}}))
            .empty());
  Grant young = pilot(host, "pilot", {1, 2}, JobId(2));
  young.memory = 2_GiB;
  REQUIRE(cluster.placement.put_grant(young, start).has_value());
  CHECK(cluster.place({.tenant = alice,
                       .worker = {.alternatives = {{.cores = 1, .memory = 2_GiB}}}}) == "n1");
  CHECK(
      cluster.place({.tenant = alice, .worker = {.alternatives = {{.cores = 1, .memory = 1_GiB}}}})
          .empty());
  // The job before it has gone, and this one is known: nothing changes.
  CHECK(apply(cluster.placement,
              allocation(host, {{.job = JobId(2), .cores = {1, 2}, .memory = 2_GiB}}))
            .empty());
}

TEST_CASE("a lost host keeps its leases and gets nothing new until it is back") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({host});
  CHECK(cluster.place(1) == "n1");
  REQUIRE(cluster.placement.lose_host(host.id).has_value());
  CHECK(cluster.place(1).empty());
  CHECK(cluster.placement.lease_count() == 1);
  REQUIRE(cluster.placement.return_host(host.id).has_value());
  CHECK(cluster.place(1) == "n1");
  CHECK(cluster.last.places[0].cores == CoreSet{1});
  CHECK(cluster.placement.remove_host(host.id, start)->size() == 2);
  CHECK(cluster.placement.lease_count() == 0);
  CHECK_FALSE(cluster.placement.remove_host(host.id, start).has_value());
  CHECK_FALSE(cluster.placement.put_grant(whole(host, "late"), start).has_value());
}

TEST_CASE("a lease is placed as a whole or not at all, unless fewer workers will do") {
  SmallCluster cluster({host_named("n1", 2), host_named("n2", 3)});
  CHECK(cluster.place({.tenant = alice, .workers = 6}).empty());
  CHECK(cluster.placement.lease_count() == 0);
  CHECK(cluster.placement.tenants().use(alice) == TenantUse{});
  CHECK_FALSE(cluster.place({.tenant = alice, .workers = 6, .at_least = 5}).empty());
  CHECK(cluster.last.places.size() == 5);
  REQUIRE(cluster.placement.close(cluster.last.id, start).has_value());
  CHECK_FALSE(cluster.placement.close(cluster.last.id, start).has_value());
  CHECK_FALSE(cluster.place({.tenant = alice, .workers = 5}).empty());
}

TEST_CASE("leases that were there before are adopted, with their very cores") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({host});
  const Place place{.host = host.id, .grant = GrantId("g-n1"), .cores = {1, 2}, .memory = 1_GiB};
  const auto adopted = cluster.placement.adopt(alice, {place}, start);
  REQUIRE(adopted.has_value());
  CHECK(cluster.placement.find(*adopted) == std::vector<Place>{place});
  CHECK(cluster.placement.adopt(bob, {place}, start).error().code == ErrorCode::no_capacity);
  Place elsewhere = place;
  elsewhere.grant = GrantId("gone");
  CHECK(cluster.placement.adopt(bob, {elsewhere}, start).error().code == ErrorCode::not_found);
  CHECK(cluster.place(2) == "n1");
  CHECK(cluster.last.places[0].cores == CoreSet{0, 3});
  CHECK(cluster.placement.explain(*adopted).has_value());
}

TEST_CASE("constraints on host, architecture, kind and features hold") {
  Host arm = host_named("arm", 4);
  arm.architecture = "aarch64";
  Host dpu = host_named("dpu", 4);
  dpu.architecture = "aarch64";
  dpu.kind = HostKind::dpu;
  Host fast = host_named("fast", 4);
  fast.features = {"avx512", "ib"};
  SmallCluster cluster({arm, dpu, fast});
  const auto with = [&](WorkerRequest worker) {
    return cluster.place({.tenant = alice, .worker = std::move(worker)});
  };
  CHECK(with({.architecture = "x86_64"}) == "fast");
  CHECK(with({.architecture = "aarch64", .kind = HostKind::cpu}) == "arm");
  CHECK(with({.kind = HostKind::dpu}) == "dpu");
  CHECK(with({.features = {"ib", "avx512"}}) == "fast");
  CHECK(with({.features = {"ib", "sve"}}).empty());
  CHECK(with({.architecture = "riscv64"}).empty());
  CHECK(with({.host = "arm"}) == "arm");
  CHECK(with({.host = "arm", .features = {"ib"}}).empty());
}

TEST_CASE("a worker goes to the cluster that it is to be in, and to no host of none") {
  Host fern = host_named("fern-1", 4);
  fern.cluster = "fern";
  Host moss = host_named("moss-1", 4);
  moss.cluster = "moss";
  SmallCluster cluster({host_named("alone", 4), fern, moss});
  const auto in = [&](const std::string& name) {
    return cluster.place({.tenant = alice, .worker = {.cluster = name}});
  };
  CHECK(in("moss") == "moss-1");
  CHECK(in("fern") == "fern-1");
  CHECK(in("oak").empty());
  // A host that moves to another one is found there at once.
  moss.cluster = "oak";
  REQUIRE(cluster.placement.put_host(moss, start).has_value());
  CHECK(in("oak") == "moss-1");
  CHECK(in("moss").empty());
  CHECK(to_string(WorkerRequest{.cluster = "oak"}) == "1 core, in the cluster oak");
}

TEST_CASE("a worker goes where there is an image for it, and nowhere else") {
  Host arm = host_named("arm", 4);
  arm.architecture = "aarch64";
  SmallCluster cluster({host_named("n1", 4), arm});
  const auto with_images = [&](std::vector<std::string> images) {
    return cluster.place({.tenant = alice, .worker = {.images = std::move(images)}});
  };
  CHECK(with_images({"x86_64"}) == "n1");
  CHECK(with_images({"aarch64"}) == "arm");
  CHECK(with_images({"riscv64", "aarch64"}) == "arm");
  CHECK_FALSE(with_images({"aarch64", "x86_64"}).empty());
  CHECK(with_images({"riscv64"}).empty());
  CHECK(cluster.place({.tenant = alice, .worker = {.host = "n1", .images = {"aarch64"}}}).empty());
}

TEST_CASE("a host that is to be avoided gets no worker, whatever the order in which it comes") {
  for (const char* policy : {"pack", "spread", "near", "energy"}) {
    CAPTURE(policy);
    SmallCluster cluster({host_named("n1", 4), host_named("n2", 4), host_named("n3", 4)},
                         make_policy(policy).value());
    const WorkerRequest worker{.alternatives = {{.cores = 2}},
                               .avoid_host = {"n1", "n3", "unknown"},
                               .near = {HostId("boot-n1"), HostId("boot-n3")}};
    const Request request{.tenant = alice, .worker = worker};
    CHECK(cluster.place(request) == "n2");
    CHECK(cluster.place(request) == "n2");
    CHECK(cluster.place(request).empty());
    CHECK(cluster.last.refusal->message ==
          "no host has room: 2 avoided by the request, 1 too few cores free");
    Request named = request;
    named.worker.host = "n3";
    CHECK(cluster.place(named).empty());
    CHECK(cluster.last.refusal->message ==
          "no host has room: 2 another host, 1 avoided by the request");
    CHECK_FALSE(cluster.place(2).empty());  // others may be there
  }
}

TEST_CASE("a place is found behind any number of hosts that are to be avoided") {
  SmallCluster cluster({});
  WorkerRequest worker{.alternatives = {{.cores = 2}}};
  for (int i = 0; i < 60; ++i) {
    cluster.add(host_named("n" + std::to_string(i), 4));
    if (i != 31) worker.avoid_host.push_back("n" + std::to_string(i));
  }
  CHECK(cluster.place({.tenant = alice, .worker = worker}) == "n31");
}

TEST_CASE("what would fit if leases had ended is told, and they go on") {
  const Host host = host_named("n1", 4);
  SmallCluster cluster({host});
  const Placement& placement = cluster.placement;
  std::vector<DecisionId> leases;
  for (const std::uint32_t cores : {2U, 1U}) {
    CHECK(cluster.place(cores) == "n1");
    leases.push_back(cluster.last.id);
  }
  const GrantId grant = cluster.last.places[0].grant;
  Request request{.tenant = TenantId(1), .worker = {.alternatives = {{.cores = 4}}}};
  const auto fits = [&](std::size_t ended) {
    return placement.would_fit(grant, request, std::span(leases).first(ended), start);
  };
  CHECK_FALSE(fits(1));
  CHECK(fits(2));
  request.worker.alternatives = {{.cores = 1}};
  request.workers = 3;
  CHECK_FALSE(fits(0));
  CHECK(fits(1));
  request.worker.reserved_hosts = {"n1"};
  CHECK_FALSE(fits(1));
  request.worker.reserved_hosts = {};
  request.worker.alternatives = {{.cores = 1, .memory = host.memory}};
  CHECK_FALSE(fits(2));  // three times the memory that there is
  CHECK(placement.lease_count() == 2);
  CHECK_FALSE(placement.audit().has_value());
}

TEST_CASE("a worker whose calls are given data is at its holder, before any policy's order") {
  SmallCluster cluster({host_named("n1", 4), host_named("n2", 8)});
  CHECK(cluster.place(1) == "n1");
  Request request{.tenant = TenantId(1), .worker = {}};
  request.worker.data_at = cluster.placement.host(HostId("boot-n2"))->grants.front();
  const Decision decision = cluster.placement.open(request, start);
  REQUIRE(decision.placed());
  CHECK(decision.places.front().host == HostId("boot-n2"));
  const auto explanation = cluster.placement.explain(decision.id);
  REQUIRE(explanation.has_value());
  CHECK(to_string(*explanation).contains("data of its calls"));

  request.worker.alternatives = {{.cores = 8}};
  const Decision full = cluster.placement.open(request, start);
  REQUIRE_FALSE(full.placed());
  CHECK(full.refusal->message.contains("its data is elsewhere"));
  CHECK(full.refusal->message.contains("too few cores free"));

  request.worker.data_at = GrantId("gone");
  const Decision gone = cluster.placement.open(request, start);
  REQUIRE_FALSE(gone.placed());
  CHECK(gone.refusal->message.contains("its data is elsewhere"));
  CHECK_FALSE(cluster.placement.audit().has_value());
}

TEST_CASE("a host described anew loses what it no longer has") {
  Host host = host_named("n1", 4);
  SmallCluster cluster({host});
  CHECK(cluster.place(4) == "n1");
  host.cores.pop_back();
  host.architecture = "aarch64";
  CHECK(cluster.placement.put_host(host, start)->size() == 1);
  CHECK(cluster.place({.tenant = alice, .worker = {.architecture = "x86_64"}}).empty());
  CHECK(cluster.place({.tenant = alice, .worker = {.alternatives = {{.cores = 3}}}}) == "n1");
  Host other = host_named("n1", 4);
  other.id = HostId("boot-other");
  CHECK(cluster.placement.put_host(other, start).error().code == ErrorCode::bad_request);
  host.cores.push_back({.number = 5000});
  CHECK(cluster.placement.put_host(host, start).error().code == ErrorCode::bad_request);
  CHECK_FALSE(cluster.placement.audit().has_value());
}

TEST_CASE("requests that make no sense are refused as such") {
  SmallCluster cluster({host_named("n1", 4)});
  for (const Request& request :
       {Request{.tenant = alice, .workers = 0},
        Request{.tenant = alice, .workers = 1, .at_least = 2},
        Request{.tenant = alice, .worker = {.alternatives = {}}},
        Request{.tenant = alice, .worker = {.alternatives = {{.cores = 0}}}}}) {
    CHECK(cluster.place(request).empty());
    CHECK(cluster.last.refusal->code == ErrorCode::bad_request);
  }
}

}  // namespace
}  // namespace orchid::placement::tests
