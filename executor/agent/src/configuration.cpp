#include "configuration.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

#include "foundation/amounts.h"

namespace orchid::executor {
namespace {

/// The grant's options as they are written.
struct GrantTexts {
  std::string source = "local";
  std::string cores;
  std::vector<std::string> gpus;
  std::string memory;
  std::uint64_t ends_in_s = 0;
  std::uint64_t gateway_grace_s = 0;  // 0: not given
  std::string scheduling = "auto";
  std::string bandwidth_cap;
  std::optional<std::uint32_t> owner_uid;
  std::string users;
};

void add_grant_options(CLI::App& app, Configuration& c, GrantTexts& texts) {
  app.add_option("--core-list", texts.cores,
                 "offer these cores only, such as 0-3,8, of those that this process may use");
  app.add_option("--core-feed", c.core_feed,
                 "descriptor from which to read which of these cores to offer: a line such as "
                 "0-3,8 for each change; at end of file the cores are given back")
      ->check(CLI::Range(3, 1 << 20));
  app.add_option(
      "--core-list-counts", c.core_list_counts,
      "how many processors the batch system counts here, if --core-list has its numbers (core by "
      "core, socket by socket); 0: --core-list has the operating system's numbers");
  app.add_option(
         "--gpus", texts.gpus,
         "offer these GPUs of the machine, by index: 0-1, or with their model a100:0-1; can "
         "be repeated. 0=UUID says what the driver calls that one, such as a slice (MIG-...); who "
         "gives a card two indices shares it in time. One on which its driver runs no kernels is "
         "left out; 'orchid hosts' "
         "says why")
      ->allow_extra_args(false);
  app.add_option("--memory", texts.memory,
                 "offer at most this much memory, such as 8GiB, also to a single worker");
  app.add_option("--grant", texts.source,
                 "where the cores come from: local (yours), pilot or share (a batch job, which "
                 "gets them back within milliseconds of SIGTERM)");
  app.add_option("--job", c.grant.job, "number of that batch job");
  app.add_option("--cluster", c.grant.cluster, "name of the job's cluster");
  app.add_option("--node", c.grant.node, "what the batch system calls this host");
  app.add_option("--owner-uid", texts.owner_uid,
                 "uid of whoever granted the cores, set by a site's service; the gateway believes "
                 "it from executors of its own user only, and other users may connect to lanes");
  app.add_option("--users", texts.users, "with --owner-uid: whose functions run here")
      ->check(CLI::IsMember({"owner", "everybody"}));
  app.add_option("--ends-in-s", texts.ends_in_s,
                 "seconds until the cores have to be free; 0: not known");
  app.add_option("--gateway-grace-s", texts.gateway_grace_s,
                 fmt::format("with pilot and share: how many seconds to stay without an answer "
                             "from a gateway; default {}",
                             limits::gateway_grace.count()));
  app.add_option("--scheduling", texts.scheduling,
                 "idle: functions run only when no other process wants the core; normal; auto: "
                 "idle with pilot and share")
      ->check(CLI::IsMember({"auto", "idle", "normal"}));
  app.add_option("--bandwidth-cap", texts.bandwidth_cap,
                 "bytes that all functions together may move between memory and cores in a second, "
                 "such as 2GiB: functions that move much are paused for a part of the time; 0 "
                 "(default): no cap and no measurement");
}

bool is_name(std::string_view text) {
  return text.size() <= 128 &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

/// "GPU-…" or "MIG-…", as nvidia-smi -L prints them.
bool is_uuid(std::string_view text) {
  const auto may_be_in = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '/';
  };
  return text.size() > 4 && text.size() <= 128 &&
         (text.starts_with("GPU-") || text.starts_with("MIG-")) &&
         std::ranges::all_of(text, may_be_in);
}

/// `text` is INDICES, MODEL:INDICES, INDEX=UUID or MODEL:INDEX=UUID.
Result<void> read_gpus(const std::string& text, Configuration& c) {
  const auto wrong = [&text] {
    return fail(ErrorCode::bad_configuration,
                "--gpus '" + text +
                    "' names no GPU; write 0-1, a100:0-1, or 0=UUID for one GPU "
                    "with the UUID that nvidia-smi -L prints");
  };
  const std::size_t equals = text.find('=');
  const std::string named = text.substr(0, equals);
  const std::size_t colon = named.rfind(':');
  const std::string model = colon == std::string::npos ? "" : named.substr(0, colon);
  auto indices = parse_core_list(colon == std::string::npos ? named : named.substr(colon + 1));
  if (!indices) return fail(std::move(indices.error()).while_doing("--gpus"));
  if (indices->empty() || !is_name(model)) return wrong();
  for (const std::uint32_t index : *indices) c.gpus.push_back({.index = index, .model = model});
  if (equals == std::string::npos) return {};
  const std::string uuid = text.substr(equals + 1);
  if (indices->size() != 1 || !is_uuid(uuid)) return wrong();
  c.gpu_uuids[indices->front()] = uuid;
  return {};
}

Result<void> read_gpus(const std::vector<std::string>& texts, Configuration& c) {
  for (const std::string& text : texts)
    if (auto read = read_gpus(text, c); !read) return read;
  std::ranges::sort(c.gpus, {}, &OfferedGpu::index);
  if (const auto twice = std::ranges::adjacent_find(c.gpus, {}, &OfferedGpu::index);
      twice != c.gpus.end())
    return fail(ErrorCode::bad_configuration,
                "--gpus names GPU " + std::to_string(twice->index) + " twice");
  return {};
}

/// Less than 64 MiB would hold no worker.
Result<ByteCount> size_of(const char* option, const std::string& text, ByteCount least = 64_MiB) {
  auto size = parse_byte_count(text, {.least = least});
  if (!size)
    return fail(
        Failure{ErrorCode::bad_configuration, std::move(size.error().message)}.while_doing(option));
  return size;
}

Result<void> read_grant(const GrantTexts& texts, Configuration& c) {
  constexpr std::uint64_t longest_end = 366UL * 86'400;
  constexpr std::uint64_t longest_grace = 86'400;
  const auto source = parse_grant_source(texts.source);
  if (!source) return fail(ErrorCode::bad_configuration, "--grant must be local, pilot or share");
  if (!is_name(c.grant.cluster) || !is_name(c.grant.node))
    return fail(ErrorCode::bad_configuration,
                "--cluster and --node are names of at most 128 printable characters");
  if (texts.ends_in_s > longest_end)
    return fail(ErrorCode::bad_configuration, "--ends-in-s must be at most a year");
  if (texts.gateway_grace_s > longest_grace)
    return fail(ErrorCode::bad_configuration, "--gateway-grace-s must be at most a day (86400)");
  if (c.core_feed >= 0 && *source == GrantSource::local)
    return fail(ErrorCode::bad_configuration, "--core-feed is for a batch job's grant");
  auto cores = parse_core_list(texts.cores);
  if (!cores) return fail(std::move(cores.error()).while_doing("--core-list"));
  if (auto read = read_gpus(texts.gpus, c); !read) return read;
  if (!texts.memory.empty()) {
    const auto memory = size_of("--memory", texts.memory);
    if (!memory) return fail(memory.error());
    c.memory = *memory;
    c.worker_memory = std::min(c.worker_memory, c.memory);
  }
  if (!texts.bandwidth_cap.empty() && texts.bandwidth_cap != "0") {
    const auto cap = size_of("--bandwidth-cap", texts.bandwidth_cap);
    if (!cap) return fail(cap.error());
    c.bandwidth_cap = *cap;
  }
  const bool idle =
      texts.scheduling == "idle" || (texts.scheduling == "auto" && *source != GrantSource::local);
  c.scheduling = idle ? SchedulingClass::idle : SchedulingClass::normal;
  if (!texts.users.empty() && !texts.owner_uid)
    return fail(ErrorCode::bad_configuration, "--users needs --owner-uid");
  c.grant.source = *source;
  c.grant.owner = texts.owner_uid;
  if (!texts.users.empty()) c.grant.users = parse_grant_users(texts.users);
  if (texts.ends_in_s != 0) c.grant.ends_in = std::chrono::seconds(texts.ends_in_s);
  if (texts.gateway_grace_s != 0) c.gateway_grace = std::chrono::seconds(texts.gateway_grace_s);
  c.core_list = std::move(*cores);
  return {};
}

const std::map<std::string, LaneFabric> fabrics{
    {"tcp", LaneFabric::tcp}, {"auto", LaneFabric::automatic}, {"verbs", LaneFabric::verbs}};

/// As they are written.
struct Sizes {
  std::string worker_memory = "4GiB";
  std::string code_store = "1GiB";
  std::string data_memory;             // empty: not given
  std::string data_memory_per_tenant;  // likewise
  std::string data_spill;              // likewise
  std::string data_durable;            // likewise
};

Result<void> read_data_memory(const Sizes& sizes, Configuration& c) {
  const auto read = [](const char* option, const std::string& text,
                       std::optional<ByteCount>& into) -> Result<void> {
    if (text.empty()) return {};
    const auto size = size_of(option, text, 0_B);
    if (!size) return fail(size.error());
    into = *size;
    return {};
  };
  if (auto all = read("--data-memory", sizes.data_memory, c.data_memory); !all) return all;
  if (!sizes.data_spill.empty() && c.data_spill.empty())
    return fail(ErrorCode::bad_configuration,
                "--data-spill-size needs --data-spill, the directory");
  if (auto disk = read("--data-spill-size", sizes.data_spill, c.data_spill_size); !disk)
    return disk;
  if (!sizes.data_durable.empty() && c.data_durable.empty())
    return fail(ErrorCode::bad_configuration,
                "--data-durable-size needs --data-durable, the directory");
  if (auto files = read("--data-durable-size", sizes.data_durable, c.data_durable_size); !files)
    return files;
  return read("--data-memory-per-tenant", sizes.data_memory_per_tenant, c.data_memory_per_tenant);
}

void declare_options(CLI::App& app, Configuration& c, Sizes& sizes, GrantTexts& grant) {
  app.set_version_flag("--version", ORCHID_VERSION);
  app.add_option("--gateway", c.gateway, "unix:/path/of/socket or host:port");
  app.add_option("--token-file", c.token_file, "file with the bearer token, for host:port");
  app.add_option("--runtime", c.runtime_directory, "directory for sockets, private to you");
  app.add_option("--state", c.state_directory, "directory for compiled code");
  app.add_option("--scratch", c.scratch_directory,
                 "directory of this executor alone, in place of --runtime and --state; it is "
                 "removed when the executor ends");
  app.add_option("--programs", c.program_directory,
                 "directory of orchid-worker and orchid-compiler");
  app.add_option("--cores", c.cores,
                 "offer at most this many cores; 0: all that this process may use");
  app.add_option("--worker-memory", sizes.worker_memory, "memory of one worker, such as 4GiB");
  app.add_option(
      "--data-memory", sizes.data_memory,
      "memory for data objects, such as 2GiB, which workers do not get; 0: keep none "
      "(default: what is left when each core has 1GiB, at most a quarter, and with pilot "
      "and share at most 1GiB)");
  app.add_option("--data-memory-per-tenant", sizes.data_memory_per_tenant,
                 "of that one user may have so much (default: all)");
  app.add_option("--data-spill", c.data_spill,
                 "directory on a local disk where data objects go when others need their memory "
                 "(default: none: unnamed ones are dropped then)");
  app.add_option("--data-spill-size", sizes.data_spill,
                 "of that directory's disk, such as 16GiB (default: four times --data-memory)");
  app.add_option("--data-durable", c.data_durable,
                 "directory of this user alone where data objects that are to be durable are kept "
                 "as files, which the next executor with it has again (default: none)");
  app.add_option("--data-durable-size", sizes.data_durable,
                 "of files there, such as 1TiB (default: 16 times --data-memory)");
  app.add_option("--code-store", sizes.code_store, "space for compiled code, such as 1GiB");
  app.add_option_function<unsigned>(
         "--compile-quota",
         [&c](unsigned seconds) { c.compile_quota = std::chrono::seconds(seconds); },
         "seconds that modules which one user's functions make may take to compile in an hour "
         "(default: 60)")
      ->check(CLI::Range(1, 3600));
  app.add_option("--lane-listen", c.lane_listen,
                 "IP:port of this host at which clients on other hosts reach workers; port 0: any "
                 "free one (default: only clients on this host reach them)");
  app.add_option_function<std::string>(
         "--lane-fabric", [&c](const std::string& name) { c.lane_fabric = fabrics.at(name); },
         "tcp (default), auto or verbs; auto and verbs let workers and their clients use RDMA, "
         "only in a network that you trust")
      ->check(CLI::IsMember({"tcp", "auto", "verbs"}));
  app.add_option("--host-id", c.host_id,
                 "be a machine of this name instead of the one that it runs on, for a container "
                 "with its own cores and network");
  app.add_option("--kind", c.kind,
                 "what this host is: dpu for a network card with cores of its own; calls and "
                 "leases can ask for it (default: gpu with --gpus, else cpu)")
      ->check(CLI::IsMember({"cpu", "gpu", "dpu"}));
  app.add_option("--readable", c.readable_paths,
                 "a directory that functions may read; can be repeated");
  add_grant_options(app, c, grant);
  app.add_flag("--probe-sandbox", c.probe_sandbox,
               "print as JSON what this kernel can enforce, and exit");
  app.add_flag("--probe-fabric", c.probe_fabric,
               "print as JSON what --lane-fabric auto would use on this host, and exit");
}

}  // namespace

ByteCount data_memory_of(const Configuration& configuration, const Offer& offer) {
  constexpr std::uint64_t share = 4;
  /// Giving 1 GiB of pages back takes some 36 ms; a batch job is to have its cores after 150.
  constexpr ByteCount most_of_a_job = 1_GiB;
  constexpr ByteCount worker = 1_GiB;  // as a gateway has them by default
  if (configuration.data_memory) return *configuration.data_memory;
  const std::uint64_t of_workers = std::min(offer.memory.value, offer.cores * worker.value);
  const ByteCount wanted{std::min(offer.memory.value / share, offer.memory.value - of_workers)};
  return configuration.grant.source == GrantSource::local ? wanted
                                                          : std::min(wanted, most_of_a_job);
}

Result<ParsedConfiguration> parse_configuration(int argc, char** argv) {
  ParsedConfiguration parsed;
  Configuration& c = parsed.configuration;
  CLI::App app{
      "Turns the cores of this host into Orchid workers. `orchid up` starts it; see "
      "docs/ARCHITECTURE.md."};
  Sizes sizes;
  GrantTexts grant;
  declare_options(app, c, sizes, grant);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    parsed.exit_status = app.exit(done);
    return parsed;
  } catch (const CLI::ParseError& error) {
    return fail(ErrorCode::bad_configuration, error.what());
  }
  const auto memory = size_of("--worker-memory", sizes.worker_memory);
  if (!memory) return fail(memory.error());
  const auto store = size_of("--code-store", sizes.code_store, 0_B);
  if (!store) return fail(store.error());
  c.worker_memory = *memory;
  c.code_store = *store;
  if (auto read = read_data_memory(sizes, c); !read) return fail(std::move(read.error()));
  if (c.host_id.size() > 128)
    return fail(ErrorCode::bad_configuration, "--host-id must have at most 128 bytes");
  if (auto read = read_grant(grant, c); !read) return fail(std::move(read.error()));
  if (const char* socket = std::getenv("NOTIFY_SOCKET"); socket != nullptr)
    c.notify_socket = socket;
  if (c.program_directory.empty()) {
    std::error_code error;
    c.program_directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  }
  if (c.probe_sandbox || c.probe_fabric) return parsed;
  if (!c.scratch_directory.empty()) {
    if (c.runtime_directory.empty()) c.runtime_directory = c.scratch_directory / "run";
    if (c.state_directory.empty()) c.state_directory = c.scratch_directory / "state";
  }
  if (c.gateway.empty() || c.runtime_directory.empty() || c.state_directory.empty())
    return fail(ErrorCode::bad_configuration,
                "--gateway is needed, and --scratch or --runtime and --state; `orchid up` starts a "
                "whole Orchid");
  if (c.lane_fabric != LaneFabric::tcp && c.lane_listen.empty())
    return fail(ErrorCode::bad_configuration,
                "--lane-fabric is for clients on other hosts: give --lane-listen, too");
  return parsed;
}

}  // namespace orchid::executor
