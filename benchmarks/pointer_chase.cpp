// benchmarks/pointer_chase.cpp: what does a chase through a table cost that is spread over the
// members of a crew, by code that was not there, against raw UCX whose handlers were?
//
// Each entry names one of another member, so that each step leaves it; requests have 24 bytes. The
// members of a crew of Orchid's are workers, taken with the SDK. The rivals are those of
// benchmarks/crew_forward.cpp: active messages whose handlers forward, the program that asks for
// each step, ucp_get, and mailboxes. On one host each member has a core and spins; the program that
// waits shares the first one, and so sleeps (Wait::blocking). Between hosts (network namespaces: 2,
// and reported 4 and 8) an executor with one core is on each, so that the crew has a member on all
// of them. The rows of a random table have steps that stay where they are, which all but who
// fetches do at once.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crew/chase_turns.h"
#include "crew/crew.h"
#include "crew/depth_chart.h"
#include "crew/turns.h"
#include "far_site.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "local_crew.h"
#include "local_lease.h"
#include "new_modules.h"
#include "orchid/crew.h"
#include "protocol/digest.h"

namespace orchid::bench {
namespace {

constexpr unsigned members = 2;  // where nothing else is said
constexpr unsigned most_hosts = 8;
constexpr std::array<std::uint64_t, 7> depths{1, 4, 16, 64, 256, 1024, 4096};
/// Of the chasers between hosts, the program that asks for each step.
constexpr std::size_t fetching = 1;

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

std::uint64_t address_of(const Reply& reply) {
  std::uint64_t address = 0;
  if (reply.output.size() == sizeof(address))
    std::memcpy(&address, reply.output.data(), sizeof(address));
  return address;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// A crew of Orchid's, whose members hold the table. Owned by the main thread.
class OrchidChases {
 public:
  OrchidChases(orchid::Crew& crew, std::span<const std::byte> module, unsigned members,
               ChaseOrder order = ChaseOrder::leaving)
      : table_(members, order), chase_(crew.function(module, "chase")) {
    const CrewFunction hold = crew.function(module, "hold");
    for (unsigned member = 1; member <= members; ++member)
      (void)hold.invoke(member, std::as_bytes(std::span(table_.entries(), table_.size())
                                                  .subspan((member - 1) * ChaseTable::entries_each,
                                                           ChaseTable::entries_each)));
  }

  [[nodiscard]] Result<std::vector<double>> chase(const Crew::Round& round) {
    try {
      return round.in_flight == 1 ? one_by_one(round) : several(round);
    } catch (const Error& error) {
      return fail(ErrorCode::internal, error.what());
    }
  }

 private:
  [[nodiscard]] ChaseRequest next(const Crew::Round& round) {
    address_ = table_.next(address_);
    return {.left = round.depth, .address = address_, .number = ++number_};
  }
  [[nodiscard]] bool is_right(const ChaseRequest& request, const Reply& reply) const {
    return address_of(reply) == table_.walk(request.address, request.left);
  }
  [[nodiscard]] static std::unexpected<Failure> wrong() {
    return fail(ErrorCode::internal, "a chase has ended where it should not");
  }
  [[nodiscard]] Result<std::vector<double>> one_by_one(const Crew::Round& round) {
    std::vector<double> series;
    for (unsigned i = 0; i < round.chases; ++i) {
      const ChaseRequest request = next(round);
      const auto start = std::chrono::steady_clock::now();
      const Reply reply = chase_.invoke(ChaseTable::owner(request.address), bytes_of(request));
      series.push_back(microseconds_since(start) / static_cast<double>(round.depth));
      if (!is_right(request, reply)) return wrong();
    }
    return series;
  }
  [[nodiscard]] Result<std::vector<double>> several(const Crew::Round& round) {
    struct Flight {
      ChaseRequest request;
      std::future<Reply> reply;
    };
    std::deque<Flight> flights;
    const auto start = std::chrono::steady_clock::now();
    for (unsigned begun = 0; begun < round.chases || !flights.empty();) {
      if (begun < round.chases && flights.size() < round.in_flight) {
        const ChaseRequest request = next(round);
        flights.push_back(
            {request, chase_.async(ChaseTable::owner(request.address), bytes_of(request))});
        ++begun;
        continue;
      }
      Flight first = std::move(flights.front());
      flights.pop_front();
      if (!is_right(first.request, first.reply.get())) return wrong();
    }
    const double hops = static_cast<double>(round.depth) * round.chases;
    return std::vector{microseconds_since(start) / hops};
  }

  ChaseTable table_;
  CrewFunction chase_;
  std::uint64_t address_ = 0;
  std::uint64_t number_ = 0;
};

/// Null: it cannot be started, and is said why.
std::shared_ptr<Crew> start_crew(const CrewPlan& plan, const std::string& name) {
  auto crew = Crew::start(plan);
  if (crew) return std::make_shared<Crew>(std::move(*crew));
  std::fprintf(stderr, "%s: %s\n", name.c_str(), crew.error().message.c_str());
  return nullptr;
}

/// False: its crew cannot be started.
bool add_rival(std::vector<Chaser>& chasers, const std::string& name, const CrewPlan& plan) {
  auto crew = start_crew(plan, name);
  if (crew == nullptr) return false;
  chasers.push_back({.name = name,
                     .chase = [crew](const Crew::Round& round) { return crew->chase(round); },
                     .transports = plan.transports});
  return true;
}

void write_chart(const std::string& file, const std::string& title,
                 const std::vector<DepthLine>& lines) {
  std::ofstream(file) << depth_chart_of(title, lines);
  std::fprintf(stderr, "the chart is in %s\n", file.c_str());
}

/// A crew, and where it gets modules from that neither it nor a host has.
struct UnseenCode {
  orchid::Crew& crew;
  const std::vector<std::byte>& module;
  std::function<void(const std::string& digest, const std::vector<std::byte>& module)> deploy;
  std::string where;
};

/// The call names a module that nobody has, and goes on there.
void chase_unseen(Bench& bench, const UnseenCode& unseen, const Chaser& rival) {
  const CrewFunction carry = unseen.crew.function(unseen.module, "carry");
  NewModules modules(unseen.module);
  for (const std::uint64_t depth : {std::uint64_t{256}, std::uint64_t{4096}})
    bench.compare({.row = "first chase with unseen code, " + unseen.where + ", depth " +
                          std::to_string(depth),
                   .unit = "us/hop",
                   .round = [&]() -> Result<std::vector<double>> {
                     const auto next = modules.next();
                     const std::vector<std::byte> fresh(next.begin(), next.end());
                     const std::string digest = digest_of(fresh);
                     unseen.deploy(digest, fresh);
                     const ChaseRequest request{.left = depth, .address = 1, .number = 1};
                     std::vector<std::byte> input(bytes_of(request).begin(),
                                                  bytes_of(request).end());
                     const std::string name = digest + ".chase_made_up";
                     const auto named = std::as_bytes(std::span(name.c_str(), name.size() + 1));
                     input.insert(input.end(), named.begin(), named.end());
                     const auto start = std::chrono::steady_clock::now();
                     (void)carry.invoke(1, input);
                     return std::vector{microseconds_since(start) / static_cast<double>(depth)};
                   },
                   .baseline = {rival.name + ", code that is there", bench.command_line(),
                                "UCX_TLS=" + rival.transports},
                   .baseline_round = [&] { return rival.chase(round_of(depth, 1, depth)); },
                   .promises = {}});
}

int on_one_host(Bench& bench, const std::vector<int>& cores, const std::vector<std::byte>& module) {
  std::vector<Chaser> chasers;
  // Before anything else has threads: it forks.
  if (!add_rival(chasers, "raw UCX, handlers forward",
                 {.way = ChaseWay::raw,
                  .members = members,
                  .transports = "posix,self",
                  .cores = {cores[0], cores[0], cores[1]}}))
    return 3;
  tests::LocalExecutor executor({.programs = PROGRAMS, .compile_quota = std::chrono::hours(1)});
  auto made = std::make_unique<tests::ExecutorCrews>(executor);
  tests::ExecutorCrews& source = *made;
  orchid::Crew crew =
      tests::take_crew(std::move(made), {.workers = members, .wait = Wait::blocking});
  const auto pids = crew.pids();
  for (std::size_t i = 0; i < pids.size(); ++i)
    if (auto pinned = pin(pids[i], cores[i % cores.size()]); !pinned) return 3;
  OrchidChases orchid(crew, module, members);
  chasers.push_back({.name = "Orchid",
                     .chase = [&](const Crew::Round& round) { return orchid.chase(round); },
                     .promised = 1 / 1.1});
  ChaseTurns turns(bench, "one host", chasers);
  for (const std::uint64_t depth : depths)
    turns.chase(round_of(depth, 1, depth < 256 ? 1024 : 16384));
  for (const std::uint64_t depth : {16, 256, 1024}) turns.chase(round_of(depth, 16, 16384));
  write_chart("pointer_chase_one_host.svg", "A chase on one host, 2 members, 24 bytes",
              turns.lines());
  chase_unseen(
      bench,
      {.crew = crew,
       .module = module,
       .deploy = [&](const auto& digest, const auto& fresh) { source.deploy(digest, fresh); },
       .where = "one host"},
      chasers[0]);
  return 0;
}

/// So many hosts, each with a member and a part of the table.
struct Between {
  unsigned hosts = members;
  ChaseOrder order = ChaseOrder::leaving;
  [[nodiscard]] bool is_promised() const {
    return hosts == members && order == ChaseOrder::leaving;
  }
  [[nodiscard]] std::string where() const {
    const std::string many = std::to_string(hosts) + " hosts";
    return order == ChaseOrder::random ? many + ", a random table" : many;
  }
};

/// False: one of those that all are compared with cannot be started.
bool add_rivals(std::vector<Chaser>& chasers, const tests::HostNamespaces& hosts,
                const std::vector<int>& cores, const Between& between) {
  CrewPlan forwards{.way = ChaseWay::raw,
                    .order = between.order,
                    .members = between.hosts,
                    .transports = "tcp,self",
                    .hosts = &hosts,
                    .waiting = between.hosts == members ? Waiting::spin : Waiting::yield,
                    .cores = {cores[0], cores[0], cores[1]}};
  CrewPlan steps = forwards;  // the program does each step
  steps.waiting = Waiting::yield;
  steps.beginner = Waiting::spin;
  steps.cores = {cores[0], cores[1]};
  if (!add_rival(chasers, "raw UCX, handlers forward", forwards)) return false;
  steps.way = ChaseWay::fetch;
  (void)add_rival(chasers, "the program fetches each hop", steps);
  if (!between.is_promised()) return true;
  steps.way = ChaseWay::get;
  (void)add_rival(chasers, "ucp_get", steps);
  forwards.way = ChaseWay::mailbox;
  forwards.waiting = forwards.beginner = Waiting::yield;  // memory that changes wakes nobody
  (void)add_rival(chasers, "put and poll", forwards);
  return true;
}

int between_hosts(Bench& bench, const tests::HostNamespaces& hosts, const std::vector<int>& cores,
                  const std::vector<std::byte>& module, const Between& between,
                  std::vector<Chaser> chasers) {
  auto site = FarSite::start(hosts, {.executors = between.hosts, .flags = {"--cores", "1"}});
  if (!site) {
    std::fprintf(stderr, "no site of %u hosts: %s\n", between.hosts, site.error().message.c_str());
    return 3;
  }
  Client client = (*site)->client();
  orchid::Crew crew = client.crew({.workers = between.hosts,
                                   .wait = Wait::blocking,
                                   .within = std::chrono::seconds(10),
                                   .lane = "auto"});
  const auto pids = crew.pids();
  for (std::size_t i = 0; i < pids.size(); ++i)
    if (auto pinned = pin(pids[i], cores[i % 2]); !pinned) return 3;
  OrchidChases orchid(crew, module, between.hosts, between.order);
  chasers.push_back(
      {.name = "Orchid", .chase = [&](const Crew::Round& round) { return orchid.chase(round); }});
  if (between.is_promised()) {
    chasers.back().promised = 1 / 0.95;
    chasers.back().also = {.chaser = fetching, .promised = 1 / 1.7};
  }
  ChaseTurns turns(bench, between.where(), chasers);
  if (!between.is_promised()) {
    for (const std::uint64_t depth : {64, 256, 1024}) turns.chase(round_of(depth, 1, 1024));
    return 0;
  }
  for (const std::uint64_t depth : depths) turns.chase(round_of(depth, 1, depth < 16 ? 64 : 1024));
  for (const std::uint64_t depth : {16, 256}) turns.chase(round_of(depth, 16, 4096));
  chase_unseen(bench,
               {.crew = crew,
                .module = module,
                .deploy = [&](const auto&, const auto& fresh) { client.deploy("unseen", fresh); },
                .where = between.where()},
               chasers[0]);
  write_chart("pointer_chase_two_hosts.svg", "A chase between two hosts, 24 bytes", turns.lines());
  return 0;
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("pointer_chase needs two cores\n", stderr);
    return 3;
  }
  const auto hosts = tests::HostNamespaces::create(most_hosts + 1);
  const auto module = tests::module_bytes(POINTER_CHASE_MODULE);
  // They fork, which must be before anything here has threads, or has used UCX.
  std::vector<std::pair<Between, std::vector<Chaser>>> turns;
  if (hosts)
    for (const Between& between : {Between{}, Between{.order = ChaseOrder::random},
                                   Between{.hosts = 4}, Between{.hosts = most_hosts}})
      if (!add_rivals(turns.emplace_back(between, std::vector<Chaser>()).second, *hosts, cores,
                      between))
        return 3;
  if (const int broken = on_one_host(bench, cores, module); broken != 0) return broken;
  if (!hosts)
    std::fprintf(stderr, "rows of several hosts are left out: %s\n", hosts.error().message.c_str());
  for (auto& [between, rivals] : turns)
    if (const int broken = between_hosts(bench, *hosts, cores, module, between, std::move(rivals));
        broken != 0)
      return broken;
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("pointer_chase", argc, argv);
  return orchid::bench::run(bench);
}
