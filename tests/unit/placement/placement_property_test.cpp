// Random histories of hosts, grants, jobs and leases, against a model that keeps plain maps and
// looks at every core: no core is in two leases, none is leased that is not granted or is another
// job's, what is taken away had to be, and a request is refused only when there is no room. After
// each step the library counts itself again.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "small_cluster.h"

namespace orchid::placement::tests {
namespace {

constexpr unsigned histories = 5'000;
constexpr int steps = 60;

/// How much happened in all histories: a test in which nothing does proves nothing.
struct Happened {
  std::size_t placed = 0;
  std::size_t refused = 0;
  std::size_t adopted = 0;
  std::size_t lost = 0;
  std::size_t lost_for_memory = 0;
};

using Cores = std::set<std::uint32_t>;

Cores cores_of(const CoreSet& set) {
  const auto numbers = set.numbers();
  return {numbers.begin(), numbers.end()};
}

struct ModelHost {
  Host host;
  bool lost = false;
  HostAllocation allocation;
};

struct ModelLease {
  TenantId tenant;
  std::vector<Place> places;
};

/// What must be so, by plain loops.
class Model {
 public:
  std::map<HostId, ModelHost> hosts;
  std::map<GrantId, Grant> grants;
  std::map<DecisionId, ModelLease> leases;

  [[nodiscard]] bool has_core(const Grant& grant, std::uint32_t core) const {
    const ModelHost& host = hosts.at(grant.host);
    bool there = false;
    for (const Core& one : host.host.cores) there |= one.number == core;
    for (const JobAllocation& job : host.allocation.jobs)
      if (job.cores.contains(core) && grant.job != job.job) return false;
    return there && grant.cores.contains(core);
  }
  [[nodiscard]] bool has_gpu(const Grant& grant, std::uint32_t index) const {
    const ModelHost& host = hosts.at(grant.host);
    for (const JobAllocation& job : host.allocation.jobs)
      if (job.gpus.contains(index) && grant.job != job.job) return false;
    bool there = false;
    for (const Gpu& gpu : host.host.gpus) there |= gpu.index == index;
    return there && grant.gpus.contains(index);
  }
  [[nodiscard]] bool stands(const Place& place) const {
    const auto grant = grants.find(place.grant);
    if (grant == grants.end()) return false;
    for (const std::uint32_t core : cores_of(place.cores))
      if (!has_core(grant->second, core)) return false;
    for (const std::uint32_t gpu : cores_of(place.gpus))
      if (!has_gpu(grant->second, gpu)) return false;
    return true;
  }
  [[nodiscard]] Cores free_cores(const Grant& grant) const {
    Cores free;
    for (std::uint32_t core = 0; core < 80; ++core)
      if (has_core(grant, core)) free.insert(core);
    for (const auto& [id, lease] : leases)
      for (const Place& place : lease.places)
        if (place.host == grant.host)
          for (const std::uint32_t core : cores_of(place.cores)) free.erase(core);
    return free;
  }
  [[nodiscard]] std::size_t free_gpus(const Grant& grant) const {
    Cores free;
    for (std::uint32_t index = 0; index < 4; ++index)
      if (has_gpu(grant, index)) free.insert(index);
    for (const auto& [id, lease] : leases)
      for (const Place& place : lease.places)
        if (place.host == grant.host)
          for (const std::uint32_t index : cores_of(place.gpus)) free.erase(index);
    return free.size();
  }
  /// Bytes in leases of the grants for which `counts` is true.
  template <typename Counts>
  [[nodiscard]] std::uint64_t placed(const Counts& counts) const {
    std::uint64_t sum = 0;
    for (const auto& [id, lease] : leases)
      for (const Place& place : lease.places)
        if (counts(grants.at(place.grant))) sum += place.memory.value;
    return sum;
  }
  /// Of the grant's own job, as Slurm says, or as its grants do while it is not listed. 0: it has
  /// what jobs leave of the host.
  [[nodiscard]] std::uint64_t job_memory(const Grant& grant) const {
    if (!grant.job) return 0;
    for (const JobAllocation& job : hosts.at(grant.host).allocation.jobs)
      if (grant.job == job.job) return job.memory.value;
    std::uint64_t granted = 0;
    for (const auto& [id, other] : grants)
      if (other.host == grant.host && other.job == grant.job) granted += other.memory.value;
    return granted;
  }
  /// May be negative: then too much is placed.
  [[nodiscard]] std::int64_t free_memory(const Grant& grant) const {
    const auto own = static_cast<std::int64_t>(
        grant.memory.value - placed([&](const Grant& other) { return other.id == grant.id; }));
    std::uint64_t pool = job_memory(grant);
    if (pool > 0) {
      pool -= placed(
          [&](const Grant& other) { return other.host == grant.host && other.job == grant.job; });
    } else {
      const ModelHost& host = hosts.at(grant.host);
      std::uint64_t jobs = 0;
      for (const JobAllocation& job : host.allocation.jobs) jobs += job.memory.value;
      pool = host.host.memory.value - std::min(host.host.memory.value, jobs) -
             placed([&](const Grant& other) {
               return other.host == grant.host && job_memory(other) == 0;
             });
    }
    return std::min(own, static_cast<std::int64_t>(pool));
  }
  [[nodiscard]] bool usable(const Grant& grant, const Request& request, MonotonicTime now) const {
    const ModelHost& host = hosts.at(grant.host);
    if (host.lost || host.allocation.drained) return false;
    for (const JobAllocation& job : host.allocation.jobs)
      if (grant.job == job.job && job.state != JobState::running) return false;
    const WorkerRequest& wanted = request.worker;
    if (!wanted.host.empty() && wanted.host != host.host.name) return false;
    if (std::ranges::count(wanted.avoid_host, host.host.name) > 0) return false;
    if (!wanted.architecture.empty() && wanted.architecture != host.host.architecture) return false;
    if (grant.users == GrantUsers::owner_only && grant.owner != request.tenant) return false;
    return grant.until == no_end ||
           (grant.until > now && grant.until - now >= request.worker.lifetime);
  }
  [[nodiscard]] bool fits(const Grant& grant, const Request& request, const WorkerShape& shape,
                          MonotonicTime now) const {
    return usable(grant, request, now) && free_cores(grant).size() >= shape.cores &&
           free_gpus(grant) >= shape.gpus &&
           free_memory(grant) >= static_cast<std::int64_t>(shape.memory.value);
  }
  void check() const {
    std::map<HostId, Cores> taken;
    std::map<HostId, Cores> taken_gpus;
    for (const auto& [id, lease] : leases)
      for (const Place& place : lease.places) {
        REQUIRE(stands(place));
        REQUIRE(free_memory(grants.at(place.grant)) >= 0);
        for (const std::uint32_t core : cores_of(place.cores))
          REQUIRE(taken[place.host].insert(core).second);
        for (const std::uint32_t gpu : cores_of(place.gpus))
          REQUIRE(taken_gpus[place.host].insert(gpu).second);
      }
  }
};

class World {
 public:
  World(unsigned seed, Happened& happened)
      : happened_(happened),
        random_(seed),
        placement_(seed % 2 == 0 ? make_pack_policy() : make_spread_policy()),
        packs_(seed % 2 == 0) {
    for (std::uint32_t i = 0; i < 1 + below(3); ++i) put_host(i);
    for (int i = 0; i < 8; ++i) put_grant();
  }

  void step() {
    now_ += milliseconds(below(3000));
    const unsigned what = below(100);
    if (what < 40)
      open();
    else if (what < 55)
      close();
    else if (what < 66)
      put_grant();
    else if (what < 69)
      remove_grant();
    else if (what < 82)
      apply_jobs();
    else if (what < 87)
      lose_or_return();
    else if (what < 88)
      remove_host();
    else if (what < 91)
      put_host(below(3));
    else if (what < 96)
      adopt();
    else
      lose(placement_.expire(now_), [this] {
        std::erase_if(model_.grants, [this](const auto& one) { return one.second.until <= now_; });
      });
    model_.check();
    const auto wrong = placement_.audit();
    REQUIRE_MESSAGE(!wrong, *wrong);
    REQUIRE(placement_.lease_count() == model_.leases.size());
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  CoreSet some(std::uint32_t first, std::uint32_t count, std::uint32_t of_ten) {
    CoreSet set;
    for (std::uint32_t i = 0; i < count; ++i)
      if (below(10) < of_ten) set.insert(first + i);
    return set;
  }
  HostId any_host() { return HostId("boot-n" + std::to_string(below(3))); }

  void put_host(std::uint32_t number) {
    Host host = host_named("n" + std::to_string(number), 0);
    host.architecture = below(4) == 0 ? "aarch64" : "x86_64";
    host.memory = {(4 + below(12)) << 30};
    // Some lie on both sides of a word's end.
    for (std::uint32_t i = 0; i < 2 + below(6); ++i)
      host.cores.push_back({.number = (number == 1 ? 60 : 0) + i, .numa_node = i % 2});
    if (number == 2)
      for (std::uint32_t i = 0; i < below(4); ++i)
        host.gpus.push_back({.index = i, .model = "h100", .numa_node = i % 2});
    auto losses = placement_.put_host(host, now_);
    REQUIRE(losses.has_value());
    lose(*losses, [&] {
      ModelHost& known = model_.hosts[host.id];
      known.host = host;
      known.allocation.host = host.id;
    });
  }
  void remove_host() {
    const HostId id = any_host();
    auto losses = placement_.remove_host(id, now_);
    REQUIRE(losses.has_value() == model_.hosts.contains(id));
    if (!losses) return;
    lose(*losses, [&] {
      std::erase_if(model_.grants, [&](const auto& one) { return one.second.host == id; });
      model_.hosts.erase(id);
    });
  }
  void lose_or_return() {
    const HostId id = any_host();
    const bool lost = below(4) == 0;
    const auto done = lost ? placement_.lose_host(id) : placement_.return_host(id);
    REQUIRE(done.has_value() == model_.hosts.contains(id));
    if (done) model_.hosts[id].lost = lost;
  }
  void put_grant() {
    Grant grant{.id = GrantId("g" + std::to_string(below(7))),
                .host = any_host(),
                .source = SourceId("test"),
                .owner = below(2) == 0 ? alice : bob,
                .users = below(4) == 0 ? GrantUsers::owner_only : GrantUsers::everybody,
                .cores = some(0, 8, 6) | some(60, 8, 6),
                .memory = {(1 + below(12)) << 30},
                .gpus = some(0, 3, 6),
                .job = {}};
    if (below(3) == 0) grant.until = now_ + milliseconds(below(60'000));
    if (below(2) == 0) grant.job = JobId(1 + below(4));
    auto losses = placement_.put_grant(grant, now_);
    REQUIRE(losses.has_value() == model_.hosts.contains(grant.host));
    if (losses)
      lose(*losses, [&] {
        moved_ = model_.grants.contains(grant.id) && model_.grants[grant.id].host != grant.host;
        model_.grants[grant.id] = grant;
      });
  }
  void remove_grant() {
    const GrantId id("g" + std::to_string(below(7)));
    auto losses = placement_.remove_grant(id, now_);
    REQUIRE(losses.has_value() == model_.grants.contains(id));
    if (losses) lose(*losses, [&] { model_.grants.erase(id); });
  }
  void apply_jobs() {
    std::vector<HostAllocation> allocations;
    for (const auto& [id, host] : model_.hosts) {
      if (below(2) == 0) continue;
      HostAllocation allocation{.host = id, .drained = below(12) == 0, .jobs = {}};
      CoreSet left = CoreSet::first(8) | some(60, 8, 10);
      for (std::uint32_t job = 1; job <= 4; ++job) {
        if (below(3) == 0) continue;
        const CoreSet cores = left & (some(0, 8, 1) | some(60, 8, 1));
        left -= cores;
        allocation.jobs.push_back(
            {.job = JobId(job),
             .cores = cores,
             .memory = {below(5) << 30},
             .gpus = some(0, 3, job == 1 ? 3 : 0),
             .state = below(5) == 0 ? JobState::suspended : JobState::running});
      }
      allocations.push_back(std::move(allocation));
    }
    allocations.push_back({.host = HostId("boot-unknown"), .drained = false, .jobs = {}});
    const auto losses = placement_.apply(allocations, now_);
    lose(losses, [&] {
      for (HostAllocation& one : allocations)
        if (model_.hosts.contains(one.host)) model_.hosts[one.host].allocation = one;
    });
  }

  /// `change` makes the model as it is after the event that brought the losses. All that does not
  /// stand any more must be among them; the rest must be for lack of memory.
  template <typename Change>
  void lose(const std::vector<Displaced>& losses, const Change& change) {
    moved_ = false;
    const auto before = model_.leases;
    change();
    for (const Displaced& loss : losses) {
      ModelLease& lease = model_.leases.at(loss.lease);
      REQUIRE(loss.tenant == lease.tenant);
      REQUIRE_FALSE(loss.places.empty());
      for (const Place& place : loss.places) {
        const auto at = std::find(lease.places.begin(), lease.places.end(), place);
        REQUIRE(at != lease.places.end());
        if (stands_before_memory(place)) REQUIRE(place.memory.value > 0);
        lease.places.erase(at);
        ++happened_.lost;
      }
      REQUIRE(loss.closed == lease.places.empty());
      if (loss.closed) model_.leases.erase(loss.lease);
    }
    std::size_t for_memory = 0;
    for (const Displaced& loss : losses)
      for (const Place& place : loss.places) for_memory += stands_before_memory(place) ? 1 : 0;
    happened_.lost_for_memory += for_memory;
    if (for_memory > 0) REQUIRE(too_little_memory(before));
  }
  [[nodiscard]] bool stands_before_memory(const Place& place) const {
    return !moved_ && model_.stands(place);
  }
  /// Whether those that stand, of these leases, are too much for some grant.
  [[nodiscard]] bool too_little_memory(const std::map<DecisionId, ModelLease>& leases) const {
    Model then = model_;
    then.leases = leases;
    for (auto& [id, lease] : then.leases)
      std::erase_if(lease.places, [&](const Place& place) { return !then.stands(place); });
    for (const auto& [id, grant] : then.grants)
      if (then.free_memory(grant) < 0) return true;
    return false;
  }

  Request any_request() {
    Request request{.tenant = below(2) == 0 ? alice : bob,
                    .workers = below(3) == 0 ? 2U : 1U,
                    .worker = {.alternatives = {},
                               .lifetime = milliseconds(below(20'000) * (below(4) == 0 ? 1 : 0))}};
    if (below(12) == 0) request.worker.host = "n" + std::to_string(below(4));
    if (below(8) == 0) request.worker.avoid_host.push_back("n" + std::to_string(below(4)));
    if (below(6) == 0) request.worker.architecture = "x86_64";
    for (std::uint32_t i = 0; i < 1 + below(2); ++i)
      request.worker.alternatives.push_back({.cores = 1 + below(2) * below(4),
                                             .memory = {(below(6) << 29) * below(2)},
                                             .gpus = below(8) == 0 ? 1 + below(2) : 0});
    return request;
  }
  void open() {
    const Request request = any_request();
    const Decision decision = placement_.open(request, now_);
    if (!decision.placed()) {
      REQUIRE(decision.refusal->code == ErrorCode::no_capacity);
      ++happened_.refused;
      if (request.workers == 1)
        for (const WorkerShape& shape : request.worker.alternatives)
          for (const auto& [id, grant] : model_.grants)
            REQUIRE_FALSE(model_.fits(grant, request, shape, now_));
      return;
    }
    REQUIRE(decision.places.size() == request.workers);
    ++happened_.placed;
    ModelLease& lease = model_.leases[decision.id];
    lease.tenant = request.tenant;
    for (const Place& place : decision.places) {
      check_choice(place, request);
      lease.places.push_back(place);
    }
    REQUIRE(placement_.find(decision.id) == lease.places);
  }
  /// Before it is in the model.
  void check_choice(const Place& place, const Request& request) const {
    const WorkerShape& shape = request.worker.alternatives[place.alternative];
    const Grant& chosen = model_.grants.at(place.grant);
    REQUIRE(model_.fits(chosen, request, shape, now_));
    REQUIRE(place.cores.size() == shape.cores);
    REQUIRE(place.gpus.size() == shape.gpus);
    REQUIRE(place.memory == shape.memory);
    for (const std::uint32_t core : cores_of(place.cores))
      REQUIRE(model_.free_cores(chosen).contains(core));
    for (const auto& [id, grant] : model_.grants) {
      for (std::uint32_t better = 0; better < place.alternative; ++better)
        REQUIRE_FALSE(model_.fits(grant, request, request.worker.alternatives[better], now_));
      if (!packs_ || !model_.fits(grant, request, shape, now_)) continue;
      REQUIRE(std::pair(model_.free_gpus(chosen), model_.free_cores(chosen).size()) <=
              std::pair(model_.free_gpus(grant), model_.free_cores(grant).size()));
    }
  }
  void close() {
    if (model_.leases.empty()) return;
    auto at = model_.leases.begin();
    std::advance(at, below(static_cast<std::uint32_t>(model_.leases.size())));
    REQUIRE(placement_.close(at->first, now_).has_value());
    REQUIRE_FALSE(placement_.close(at->first, now_).has_value());
    model_.leases.erase(at);
  }
  void adopt() {
    const GrantId id("g" + std::to_string(below(7)));
    const auto grant = model_.grants.find(id);
    if (grant == model_.grants.end() && below(8) != 0) return;
    const Place place{.host = grant == model_.grants.end() ? any_host() : grant->second.host,
                      .grant = id,
                      .cores = {below(4) + (below(3) == 0 ? 60 : 0)},
                      .memory = {below(2) << 30},
                      .gpus = {}};
    bool free = grant != model_.grants.end();
    if (free)
      for (const std::uint32_t core : cores_of(place.cores))
        free &= model_.free_cores(grant->second).contains(core);
    free =
        free && model_.free_memory(grant->second) >= static_cast<std::int64_t>(place.memory.value);
    const auto adopted = placement_.adopt(alice, {place}, now_);
    REQUIRE(adopted.has_value() == free);
    if (!adopted) return;
    ++happened_.adopted;
    model_.leases[*adopted] = {.tenant = alice, .places = {place}};
  }

  Happened& happened_;
  std::mt19937 random_;
  Model model_;
  Placement placement_;
  bool packs_;
  bool moved_ = false;  // the event moved a grant to another host, and so took all its places
  MonotonicTime now_ = start;
};

TEST_CASE("no history of grants, jobs and leases promises a core twice or hides a free one") {
  Happened happened;
  for (unsigned seed = 0; seed < histories; ++seed) {
    CAPTURE(seed);
    World world(seed, happened);
    for (int step = 0; step < steps; ++step) world.step();
  }
  CHECK(happened.placed > 30'000);
  CHECK(happened.refused > 10'000);
  CHECK(happened.adopted > 500);
  CHECK(happened.lost > 5'000);
  CHECK(happened.lost_for_memory > 500);
}

}  // namespace
}  // namespace orchid::placement::tests
