// orchid-grant: stands in a batch job where an executor would, and hands the job's cores to the
// host's service. Takes the executor's options for a grant.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <exception>
#include <string>

#include "foundation/amounts.h"
#include "foundation/duplicate.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/units.h"
#include "protocol/limits.h"
#include "site/placeholder.h"

namespace {

using namespace orchid;

/// As they are written.
struct Texts {
  std::string source = "pilot";
  std::string users = "owner";
  std::string cores;
  std::string memory;
  std::string bandwidth_cap;
  std::string scheduling = "idle";
  std::int64_t ends_in_s = 0;
  std::int64_t gateway_grace_s = limits::gateway_grace.count();
  int core_feed = -1;
};

void declare_options(CLI::App& app, site::PlaceholderOptions& options, Texts& texts) {
  app.set_version_flag("--version", "orchid-grant " ORCHID_VERSION);
  app.add_option("--host-socket", options.socket, "socket of orchid-host on this node")
      ->capture_default_str();
  app.add_option("--grant", texts.source, "pilot or share")
      ->check(CLI::IsMember({"pilot", "share"}));
  app.add_option("--for", texts.users, "owner, or everybody if the site allows it")
      ->check(CLI::IsMember({"owner", "everybody"}));
  app.add_option("--job", options.offer.job, "number of this job")->required();
  app.add_option("--core-list", texts.cores,
                 "grant these of the job's cores only, by the operating system's numbers");
  app.add_option("--core-feed", texts.core_feed,
                 "descriptor of a pipe that says which of the cores may be used now")
      ->check(CLI::Range(3, 1 << 20));
  app.add_option("--memory", texts.memory, "the most memory of all workers together, such as 8GiB");
  app.add_option("--ends-in-s", texts.ends_in_s, "seconds until the cores have to be free")
      ->check(CLI::Range(0, 366 * 86'400));
  app.add_option("--gateway-grace-s", texts.gateway_grace_s,
                 "how many seconds to stay without an answer from a gateway")
      ->check(CLI::Range(1, 86'400));
  app.add_option("--scheduling", texts.scheduling,
                 "idle: functions run only when no other process wants the core; normal")
      ->check(CLI::IsMember({"idle", "normal"}));
  app.add_option("--bandwidth-cap", texts.bandwidth_cap,
                 "bytes that functions may move between memory and cores in a second, such as "
                 "2GiB; 0: no cap");
}

Result<ByteCount> amount(const std::string& text, const char* option) {
  if (text.empty() || text == "0") return ByteCount{};
  auto amount = parse_byte_count(text, {.least = 64_MiB});
  if (!amount)
    return fail(
        Failure{ErrorCode::bad_configuration, std::move(amount.error().message)}.while_doing(
            option));
  return amount;
}

Result<void> complete(site::PlaceholderOptions& options, const Texts& texts) {
  GrantOffer& offer = options.offer;
  offer.source = *parse_grant_source(texts.source);
  offer.users = *parse_grant_users(texts.users);
  auto cores = parse_core_list(texts.cores);
  if (!cores) return fail(std::move(cores.error()).while_doing("--core-list"));
  offer.cores = std::move(*cores);
  auto memory = amount(texts.memory, "--memory");
  if (!memory) return fail(std::move(memory.error()));
  offer.memory = *memory;
  auto cap = amount(texts.bandwidth_cap, "--bandwidth-cap");
  if (!cap) return fail(std::move(cap.error()));
  offer.bandwidth_cap = *cap;
  offer.gives_way = texts.scheduling == "idle";
  if (texts.ends_in_s > 0) offer.ends_in = std::chrono::seconds(texts.ends_in_s);
  offer.gateway_grace = std::chrono::seconds(texts.gateway_grace_s);
  if (texts.core_feed < 0) return {};
  auto feed = duplicate(texts.core_feed, 3);
  if (!feed) return fail(std::move(feed.error()).while_doing("--core-feed"));
  options.feed = std::move(*feed);
  ::close(texts.core_feed);
  return {};
}

int give_up(const Failure& failure, int status) {
  log::error("event=no_grant code={} reason=\"{}\"", to_string(failure.code), failure.message);
  return status;
}

int serve(int argc, char** argv) {
  site::PlaceholderOptions options;
  Texts texts;
  CLI::App app{
      "Hands the cores of a batch job to the orchid-host of its node. Pilots and shares "
      "with --site start it."};
  declare_options(app, options, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    return give_up({ErrorCode::bad_configuration, error.what()}, 2);
  }
  if (auto good = complete(options, texts); !good) return give_up(good.error(), 2);
  const auto held = site::hold_place(std::move(options));
  return held ? 0 : give_up(held.error(), 3);
}

}  // namespace

int main(int argc, char** argv) {
  // First of all: a job may be told to end at any time.
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  orchid::occupy_standard_descriptors();
  orchid::log::configure("orchid-grant", orchid::LogLevel::info);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return serve(argc, argv);
  } catch (const std::exception& error) {
    orchid::log::error("event=unexpected what=\"{}\"", error.what());
    return 3;
  }
}
