// orchid-flows: runs the flows that one tenant has submitted; orchid-gateway keeps it.
//
// Threads: the main one owns the flows and their journal; one takes what the gateway asks; one
// checks what is submitted, one looks at data; one makes calls; and each call that lasts longer
// than a second, or has failed, has one that looks after it.
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "call_maker.h"
#include "calls_left.h"
#include "flow_book.h"
#include "flow_journal.h"
#include "flow_run/flow_templates.h"
#include "flow_run/host_looks.h"
#include "foundation/background_thread.h"
#include "foundation/clock.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "gateway_link.h"
#include "sandbox/confinement.h"
#include "submission_check.h"
#include "template_list.h"

namespace orchid::flows {
namespace {

constexpr int exit_failed = 3;
constexpr std::chrono::milliseconds longest_dial{10'000};
/// By the one thread of all calls that are tried quickly.
constexpr std::chrono::milliseconds quick_dial{100};
/// Calls under way of all flows.
constexpr std::size_t most_calls = 128;
/// Of its memory: what flows hold, and the stacks of its threads.
constexpr ByteCount most_memory{8ULL << 30};

struct Arguments {
  int socket = -1;
  std::string folder;
  std::size_t flows = 100;
  std::uint64_t store = 4ULL << 30;
  std::int64_t keep_ms = 7LL * 24 * 3'600'000;
  std::vector<std::string> templates;
};

int cannot_start(const Failure& failure) {
  log::error("event=cannot_start reason=\"{}\"", failure.message);
  return exit_failed;
}

/// Before there are threads, and after all files are open. It reads what its tenant has written,
/// and whoever takes it over has this tenant's flows and calls, and nothing of the gateway's user.
Result<void> confine_this_process() {
  return confine({.role = SandboxRole::flows,
                  .data_limit = most_memory,
                  .parent_pid = ::getppid(),
                  .keep_descriptors = open_descriptors(),
                  .readable_paths = {}});
}

/// The site's own come first.
std::vector<std::filesystem::path> folders_of(const Arguments& arguments) {
  std::vector<std::filesystem::path> folders(arguments.templates.begin(),
                                             arguments.templates.end());
  std::ranges::move(flow::own_template_folders(), std::back_inserter(folders));
  return folders;
}

void answer_check(GatewayLink& gateway, const Asked& asked, const Result<std::string>& report) {
  const std::uint64_t number = asked.request.number;
  if (!report) return gateway.answer({.number = number, .failure = report.error()});
  gateway.answer({.number = number, .failure = {}, .content = FlowContent::json}, *report);
}

int run(const Arguments& arguments) {
  auto journal = FlowJournal::open({.file = std::filesystem::path(arguments.folder) / "flows.db",
                                    .most = ByteCount{arguments.store}});
  if (!journal) return cannot_start(journal.error());
  const std::string templates = template_list(folders_of(arguments));
  Arrivals arrivals;
  GatewayLink gateway(UniqueFd(arguments.socket), arrivals);
  const ClientOptions way{.connect = [&gateway] { return gateway.dial(longest_dial); }};
  const ClientOptions quick_way{.connect = [&gateway] { return gateway.dial(quick_dial); }};
  Client client(way);
  if (auto confined = confine_this_process(); !confined) return cannot_start(confined.error());
  gateway.start();
  CallMaker calls({.client = client, .arrivals = arrivals, .way = quick_way}, most_calls);
  BackgroundThread checks;
  BackgroundThread looks;
  const SystemClock clock;
  FlowBook book(
      {.journal = **journal,
       .calls = calls,
       .clock = clock,
       .answer = [&](FlowAnswer answer,
                     std::string_view content) { gateway.answer(std::move(answer), content); },
       .check =
           [&](Asked asked) {
             checks.run([&client, &arrivals, &gateway, asked = std::move(asked)]() mutable {
               if (asked.request.ask == FlowAsk::check)
                 return answer_check(gateway, asked, check_document(client, asked.content));
               auto result = check_submission(client, asked.content);
               arrivals.put(Checked{.request = std::move(asked.request),
                                    .content = std::move(asked.content),
                                    .result = std::move(result)});
             });
           },
       .templates = templates,
       .look_at_hosts =
           [&] {
             checks.run([&client, &arrivals] {
               arrivals.put(HostsSeen{.hosts = flow::look_at_hosts(client)});
             });
           },
       .look_at_objects =
           [&](std::string flow, std::vector<DataId> objects) {
             looks.run([&client, &arrivals, flow = std::move(flow), objects = std::move(objects)] {
               arrivals.put(
                   ObjectsSeen{.flow = flow, .objects = flow::look_at_objects(client, objects)});
             });
           },
       .find_calls =
           [&] {
             looks.run([&client, &arrivals] {
               arrivals.put(CallsFound{.calls = find_calls_left(client)});
             });
           },
       .cancel_calls =
           [&](std::vector<CallLeft> calls) {
             looks.run([&client, calls = std::move(calls)] { cancel_calls(client, calls); });
           }},
      {.most_flows = arguments.flows, .keep = std::chrono::milliseconds(arguments.keep_ms)});
  if (auto restored = book.restore(); !restored) return cannot_start(restored.error());
  while (book.take(arrivals.take(book.patience()))) book.look_around();
  // All is on disk, and whoever waits for an answer has gone. Calls go on without us.
  log::info("event=stopped");
  ::_exit(0);
}

}  // namespace
}  // namespace orchid::flows

int main(int argc, char** argv) {
  using namespace orchid;
  occupy_standard_descriptors();
  log::configure("orchid-flows", LogLevel::info);
  flows::Arguments arguments;
  CLI::App app{"Runs a tenant's flows. orchid-gateway starts this program.", "orchid-flows"};
  app.set_version_flag("--version", "orchid-flows " ORCHID_VERSION);
  app.add_option("--socket", arguments.socket, "the descriptor of the gateway's socket")
      ->required()
      ->check(CLI::Range(3, 1 << 20));
  app.add_option("--folder", arguments.folder, "where the flows are kept")->required();
  app.add_option("--flows", arguments.flows, "the most that have not ended");
  app.add_option("--store", arguments.store, "the most bytes on disk");
  app.add_option("--templates", arguments.templates, "a folder with templates of flows");
  app.add_option("--keep-ms", arguments.keep_ms, "how long flows that have ended are kept");
  CLI11_PARSE(app, argc, argv);
  // With the gateway it ends, however that came.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() == 1) return flows::exit_failed;
  std::signal(SIGPIPE, SIG_IGN);
  return flows::run(arguments);
}
