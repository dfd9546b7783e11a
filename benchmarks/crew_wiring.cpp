// benchmarks/crew_wiring.cpp: what does wiring a crew cost, and how soon is a lost member noticed?
//
// Each member is a process with one UCX worker for all its peers, with the settings of Orchid's
// lane between hosts. They are spread over 16 hosts (network namespaces on one bridge). All are
// there, with their UCX open and their addresses known, before the time of the wiring begins; it
// ends when the last one has heard from all others. All share the cores of this process, and yield.
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "crew/party_processes.h"
#include "harness/bench.h"
#include "harness/machine.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

constexpr unsigned most_members = 64;
/// More would be too many for the kernel's table of neighbours, which all namespaces share.
constexpr unsigned host_count = 16;
constexpr unsigned members_at_loss = 4;
constexpr int rounds_of_silence = 5;  // each takes seconds

template <typename T>
T or_leave(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "crew_wiring: %s\n", result.error().message.c_str());
    std::exit(3);  // NOLINT(concurrency-mt-unsafe): there is one thread
  }
  return std::move(*result);
}

void add(Bench& bench, const std::string& row, const char* unit,
         const std::vector<std::vector<double>>& series) {
  for (const Row& one :
       rows_of("crew_wiring", Measurement{.row = row, .unit = unit, .round = {}, .promises = {}},
               series)) {
    std::fprintf(stderr, "%s: %.2f %s\n", one.row.c_str(), one.value.p50, unit);
    bench.add(one);
  }
}

void measure_wiring(Bench& bench, unsigned members, const tests::HostNamespaces& hosts,
                    const std::vector<int>& cores) {
  std::vector<std::vector<double>> wired;
  std::vector<std::vector<double>> opened;
  std::vector<std::vector<double>> memory;
  std::vector<std::vector<double>> descriptor_counts;
  for (int round = 0; round < bench.rounds(); ++round) {
    PartyProcesses crew = or_leave(PartyProcesses::start(
        {.count = members, .hosts = hosts, .host_count = host_count, .cores = cores},
        [](UcxParty&, Board&, unsigned) {
          for (;;) ::poll(nullptr, 0, -1);
        }));
    double began = crew.board().figures(0)[wire_began];
    double ended = 0;
    std::vector<double> opens;
    std::vector<double> kib;
    std::vector<double> counts;
    for (unsigned member = 0; member < members; ++member) {
      const auto figures = crew.board().figures(member);
      began = std::min(began, figures[wire_began]);
      ended = std::max(ended, figures[wire_ended]);
      opens.push_back(figures[open_took]);
      kib.push_back(figures[memory_kib]);
      counts.push_back(figures[descriptors]);
    }
    wired.push_back({ended - began});
    opened.push_back(opens);
    memory.push_back(kib);
    descriptor_counts.push_back(counts);
  }
  const std::string name = std::to_string(members) + " members, " +
                           std::to_string(members * (members - 1) / 2) + " pairs";
  add(bench, name + ": all wired", "ms", wired);
  add(bench, name + ": a member's UCX opened", "ms", opened);
  add(bench, name + ": a member's private memory for UCX", "KiB", memory);
  add(bench, name + ": a member's descriptors", "", descriptor_counts);
}

enum class Traffic : std::uint8_t {
  none,
  handlers,  // messages go around; who gets one sends one, in its handler
  inbox,     // the same, when UCX's progress has returned
};

struct Loss {
  const char* name;
  bool sleeps;
  Traffic traffic;
  bool unplugged;  // the host has gone, not the process
};

/// Messages go around among the members while they have nothing else to do.
struct GoingAround {
  UcxParty* party = nullptr;
  unsigned self = 0;
  Traffic traffic = Traffic::none;
  int owed = 0;
  void send_on() const {
    const unsigned next = (self + 1) % members_at_loss;
    if (!party->is_lost(next)) party->send(next, 1, party->take_slot(), 24);
  }
  void send_owed() {
    for (; owed != 0; --owed) send_on();
  }
  static ucs_status_t on_message(void* self, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*) {
    auto& around = *static_cast<GoingAround*>(self);
    if (around.traffic == Traffic::handlers)
      around.send_on();
    else
      ++around.owed;
    return UCS_OK;
  }
};

/// Until it hears that the last member is gone; when that was is its own figure.
void wait_for_loss(UcxParty& party, Board& board, unsigned self, const Loss& loss) {
  GoingAround around{&party, self, loss.traffic, 0};
  party.handle(1, GoingAround::on_message, &around);
  board.add_complete();  // wiring has counted all once
  while (board.complete() < 2 * members_at_loss)
    if (!party.progress()) ::sched_yield();
  if (loss.traffic != Traffic::none)
    for (int i = 0; i < 4; ++i) around.send_on();
  while (!party.is_lost(members_at_loss - 1)) {
    const bool worked = party.progress();
    around.send_owed();
    if (worked) continue;
    if (!loss.sleeps) {
      ::sched_yield();
    } else if (party.arm()) {
      pollfd entry{.fd = party.wake_descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&entry, 1, -1);
    }
  }
  board.figures(self)[own] = milliseconds_now();
  ++board.counter(self);
  for (;;) ::poll(nullptr, 0, -1);
}

struct LossOutcome {
  double heard_after_ms = 0;  // by the last one that is left
  double ended = 0;           // others that UCX ended because of it
};

Result<LossOutcome> lose_one(const Loss& loss, const tests::HostNamespaces& hosts,
                             const std::vector<int>& cores) {
  PartyProcesses crew =
      or_leave(PartyProcesses::start({.count = members_at_loss,
                                      .hosts = hosts,
                                      .host_count = host_count,
                                      .cores = cores,
                                      .quiet = loss.traffic == Traffic::handlers},
                                     [&loss](UcxParty& party, Board& board, unsigned self) {
                                       wait_for_loss(party, board, self, loss);
                                     }));
  std::this_thread::sleep_for(20ms);  // in the middle of what they do
  constexpr unsigned victim = members_at_loss - 1;
  const double lost = milliseconds_now();
  if (loss.unplugged) {
    if (auto done = tests::HostNamespaces::unplug(victim); !done) return fail(done.error());
  } else {
    ::kill(crew.pid(victim), SIGKILL);
  }
  LossOutcome outcome;
  bool all = true;
  for (unsigned member = 0; member < victim; ++member) {
    const auto heard = [&] { return crew.board().counter(member) == 2; };
    const auto ended = [&] { return crew.end_of(member).has_value(); };
    all = all && comes_true([&] { return heard() || ended(); }, 60s);
    if (ended())
      ++outcome.ended;
    else
      outcome.heard_after_ms =
          std::max(outcome.heard_after_ms, crew.board().figures(member)[own] - lost);
  }
  if (loss.unplugged)
    if (auto done = hosts.plug_in(victim); !done) return fail(done.error());
  if (!all) return fail(ErrorCode::timed_out, "a loss was not heard within a minute");
  return outcome;
}

void measure_losses(Bench& bench, const Loss& loss, const tests::HostNamespaces& hosts,
                    const std::vector<int>& cores) {
  std::vector<std::vector<double>> heard;
  std::vector<std::vector<double>> ended;
  double rounds_with_ends = 0;
  for (int round = 0; round < (loss.unplugged ? rounds_of_silence : bench.rounds()); ++round) {
    const LossOutcome outcome = or_leave(lose_one(loss, hosts, cores));
    heard.push_back({outcome.heard_after_ms});
    ended.push_back({outcome.ended});
    rounds_with_ends += outcome.ended != 0 ? 1 : 0;
  }
  const std::string name = std::string("one of 4 ") + loss.name;
  std::fprintf(stderr, "%s: UCX ended others in %.0f of %zu rounds\n", name.c_str(),
               rounds_with_ends, ended.size());
  add(bench, name + ": heard by the last one", "ms", heard);
  add(bench, name + ": others that UCX ended", "", ended);
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  const auto hosts = or_leave(tests::HostNamespaces::create(host_count));
  for (const unsigned members : {2U, 8U, 16U, 32U, most_members})
    measure_wiring(bench, members, hosts, cores);
  for (const Loss& loss :
       {Loss{"killed, the others look all the time", false, Traffic::none, false},
        Loss{"killed, the others sleep", true, Traffic::none, false},
        Loss{"killed amid sends from handlers", false, Traffic::handlers, false},
        Loss{"killed amid sends after progress", false, Traffic::inbox, false},
        Loss{"its host gone, nothing sent", true, Traffic::none, true},
        Loss{"its host gone, amid sends after progress", false, Traffic::inbox, true}})
    measure_losses(bench, loss, hosts, cores);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("crew_wiring", argc, argv);
  return orchid::bench::run(bench);
}
