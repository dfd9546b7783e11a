#include "config/config.h"

#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <toml.hpp>

#include "foundation/numbers.h"
#include "setting.h"

namespace orchid::gateway {
namespace {

std::vector<Setting> pilot_settings(PilotSettings& p) {
  constexpr std::chrono::hours longest{24 * 31};
  return {
      {"pilots_automatic", "true: submit and cancel pilots on demand", truth(p.automatic)},
      {"pilots_partition", "partition of pilots; this or qos is required", text(p.partition)},
      {"pilots_qos", "QOS of pilots", text(p.qos)},
      {"pilots_account", "account of pilots", text(p.account)},
      {"pilots_site",
       "true: pilots grant their cores to orchid-host, the site's service on each node",
       truth(p.site)},
      {"pilots_host_socket", "socket of orchid-host, if it is not the default one",
       text(p.host_socket)},
      {"pilots_address", "HOST:PORT by which nodes reach this gateway", text(p.address)},
      {"pilots_host_identity", "what tells nodes apart: boot or node", text(p.host_identity)},
      {"pilots_scheduling", "scheduling of functions on pilots: idle or normal",
       text(p.scheduling)},
      {"pilots_bandwidth_cap", "bytes that functions on a node may move in a second; 0: no cap",
       size(p.bandwidth_cap, 0_B)},
      {"pilots_data_memory", "memory for data objects and leases of memory on each node",
       size(p.data_memory)},
      {"pilots_most_queued", "the most pilots that wait", number(p.most_queued, 1U, 1'000U)},
      {"pilots_most_running", "the most pilots in all", number(p.most_running, 1U, 100'000U)},
      {"pilots_most_cores", "the most cores of one pilot", number(p.most_cores, 1U, 4'096U)},
      {"pilots_shortest", "the shortest time of a pilot", duration(p.shortest, longest)},
      {"pilots_idle_time", "how long a pilot may be unused before it is cancelled",
       duration(p.idle_time, longest)},
      {"pilots_start_within",
       "how long Slurm may find no room on a free node, until another one is tried",
       duration(p.start_within, longest)},
      {"pilots_join_within", "how long a pilot may run without joining before it is cancelled",
       duration(p.join_within, longest)},
      {"pilots_gateway_grace", "how long pilots stay without the gateway",
       duration(p.gateway_grace, std::chrono::hours(24))},
      {"pilots_longest", "the longest time of a pilot", duration(p.longest, longest)},
  };
}

std::vector<Setting> data_settings(Config& c) {
  constexpr std::chrono::hours longest{24 * 31};
  return {
      {"data_versions", "versions kept of a data object's name",
       number<std::size_t>(c.data_versions, 1, 1'000)},
      {"data_unnamed_for", "how long data objects without a name live, where nobody says",
       duration(c.data_unnamed_for, longest)},
      {"data_per_user", "the most data of one user; 0: no limit", size(c.data_per_user, 0_B)},
  };
}

std::vector<Setting> flow_settings(Config& c) {
  return {
      {"flows_program", "path of orchid-flows", path(c.flows_program)},
      {"flows_per_user", "the most flows of one user that have not ended",
       number<std::size_t>(c.flows_per_user, 1, 100'000)},
      {"flows_store", "the most space on disk for one user's flows", size(c.flows_store, 1_MiB)},
      {"flows_keep", "how long flows that have ended are kept",
       duration(c.flows_keep, std::chrono::hours(24 * 366))},
      {"flows_templates", "folders with templates of flows beside Orchid's, separated by commas",
       list(c.flows_templates)},
  };
}

std::vector<Setting> page_settings(Config& c) {
  return {
      {"page_host",
       "host names by which browsers may reach the page, separated by commas, besides localhost",
       list(c.page_hosts)},
      {"page_session_time", "how long somebody who has logged in at the page stays so",
       duration(c.page_session_time, std::chrono::hours(24 * 7))},
  };
}

std::vector<Setting> http_settings(Config& c) {
  return {
      {"header_bytes", "largest request header", number(c.header_bytes, 1024U, 1024U * 1024U)},
      {"header_time", "time limit for a whole request header", duration(c.header_time)},
      {"body_time", "time limit for each 64 KiB of a request body", duration(c.body_time)},
      {"idle_time", "time limit for a connection between requests", duration(c.idle_time)},
      {"write_time", "time limit for an answer without progress", duration(c.write_time)},
      {"event_pause", "longest pause of a stream of events; then it gets a comment",
       duration(c.event_pause)},
      {"connections", "the most open connections", number<std::size_t>(c.connections, 1, 100'000)},
      {"event_streams", "the most open streams of events of one user",
       number<std::size_t>(c.event_streams, 1, 100'000)},
      {"body_memory", "memory for large request bodies", size(c.body_memory, 64_MiB)},
  };
}

std::vector<Setting> own_settings(Config& c) {
  constexpr std::chrono::hours day{24};
  return {
      {"state", "directory for functions, results, tokens", path(c.state)},
      {"listen", "TCP addresses, separated by commas; port 0: any free one", list(c.listen)},
      {"socket", "path of the Unix socket", path(c.socket)},
      {"socket_users", "who may use the socket: owner, or everybody, each as a tenant of his own",
       socket_users(c.socket_users)},
      {"token_users", "other users who get a token each, separated by commas", list(c.token_users)},
      {"compiler", "path of orchid-compiler", path(c.compiler)},
      {"dispatch", "path of orchid-dispatch", path(c.dispatch)},
      {"copy_program", "path of orchid-copy", path(c.copy_program)},
      {"door_listen", "IP:port at which clients connect over UCX; only in a network that you trust",
       text(c.door_listen)},
      {"door_program", "path of orchid-door", path(c.door_program)},
      {"door_clients", "the most connections through the door",
       number<std::size_t>(c.door_clients, 1, 4'096)},
      {"inspect_time", "time limit for the inspection of a module", duration(c.inspect_time)},
      {"http_threads", "threads that serve HTTP", number(c.http_threads, 1U, 64U)},
      {"log_level", "debug, info, warn or error", log_level(c.log_level)},
      {"ready_fd", "descriptor that gets one line of JSON when the gateway is ready",
       number(c.ready_fd, 0, 1'000'000)},
      {"drain_time", "time limit for running calls when the gateway stops", duration(c.drain_time)},
      {"in_flight", "the most synchronous calls at a time",
       number<std::size_t>(c.in_flight, 1, 1'000'000)},
      {"queued", "the most asynchronous calls that wait",
       number<std::size_t>(c.queued, 1, 10'000'000)},
      {"worker_memory", "memory of each worker", size(c.worker_memory, 16_MiB)},
      {"worker_idle_time", "how long a worker may be unused before it is given back",
       duration(c.worker_idle_time, day)},
      {"leased_workers", "the most workers in one user's leases; 0: no limit",
       number<std::size_t>(c.leased_workers, 0, 1'000'000)},
      {"versions_per_function", "versions kept of a function",
       number<std::size_t>(c.versions_per_function, 1, 1'000)},
      {"placement_policy", "pack, spread, near, energy, or the path of a site's library",
       text(c.placement_policy)},
      {"placement_cores_per_user", "the most cores of one user's workers; 0: no limit",
       number(c.placement_cores_per_user, 0U, 1'000'000U)},
      {"placement_watts_per_host",
       "no worker is placed on a host that would draw more; 0: no limit",
       number(c.placement_watts_per_host, 0U, 1'000'000U)},
      {"placement_watts_per_core", "watts that a newly leased core is assumed to draw",
       number(c.placement_watts_per_core, 0U, 10'000U)},
      {"placement_fair_share_half_life", "time after which past use counts half as much",
       duration(c.placement_fair_share_half_life, 31 * day)},
      {"sources",
       "what reports clusters: slurm, slurm:/path/slurm.conf, programs ('/path argument'), auto, "
       "none",
       list(c.sources)},
      {"orchid_program", "path of orchid, which submits pilots on demand", path(c.orchid_program)},
      {"slurm_program", "path of orchid-slurm", path(c.slurm_program)},
      {"slurm_requests_per_minute", "the most requests to slurmctld; 0: orchid-slurm's default",
       number(c.slurm_requests_per_minute, 0U, 100'000U)},
      {"slurm_interval", "time between two looks at the cluster", duration(c.slurm_interval)},
      {"slurm_dpu_features", "nodes with one of these features are DPUs",
       list(c.slurm_dpu_features)},
      {"keep_finished", "how long outcomes of asynchronous calls are kept",
       duration(c.keep_finished, day)},
      {"deadline", "deadline of a synchronous call that names none", duration(c.deadline, day)},
      {"async_deadline", "deadline of an asynchronous call that names none",
       duration(c.async_deadline, day)},
      {"wait", "how long a synchronous caller waits", duration(c.wait, day)},
  };
}

std::vector<Setting> settings_of(Config& c) {
  std::vector<Setting> settings = own_settings(c);
  std::ranges::move(http_settings(c), std::back_inserter(settings));
  std::ranges::move(pilot_settings(c.pilots), std::back_inserter(settings));
  std::ranges::move(data_settings(c), std::back_inserter(settings));
  std::ranges::move(flow_settings(c), std::back_inserter(settings));
  std::ranges::move(page_settings(c), std::back_inserter(settings));
  return settings;
}

Result<std::string> to_text(const toml::value& value) {
  if (value.is_string()) return value.as_string().str;
  if (value.is_integer()) return std::to_string(value.as_integer());
  if (value.is_floating()) return fmt::format("{}", value.as_floating());
  if (value.is_boolean()) return value.as_boolean() ? std::string("true") : std::string("false");
  if (!value.is_array())
    return fail(ErrorCode::bad_configuration, "expected a string, a number, a boolean or a list");
  std::string joined;
  for (const toml::value& item : value.as_array()) {
    if (!item.is_string())
      return fail(ErrorCode::bad_configuration, "a list must hold strings only");
    if (!joined.empty()) joined += ',';
    joined += item.as_string().str;
  }
  return joined;
}

Result<void> apply(const std::vector<Setting>& settings, const std::string& key,
                   const std::string& value, const std::string& where) {
  const auto found = std::ranges::find(settings, key, &Setting::name);
  if (found == settings.end())
    return fail(ErrorCode::bad_configuration,
                where + ": there is no setting '" + key + "'; see --help");
  if (auto applied = found->apply(value); !applied)
    return fail(std::move(applied.error()).while_doing(where + ": " + key));
  return {};
}

Apply weight(double& field) {
  return [&field](const std::string& value) -> Result<void> {
    const auto parsed = parse_number<double>(value);
    if (!parsed || !(*parsed > 0) || *parsed > 1e6)
      return wrong(value, "a number above 0, up to 1000000");
    field = *parsed;
    return {};
  };
}

Apply limit(std::optional<std::uint32_t>& field) {
  return [&field](const std::string& value) -> Result<void> {
    std::uint32_t parsed = 0;
    if (auto read = number(parsed, 0U, 1'000'000U)(value); !read) return read;
    field = parsed;
    return {};
  };
}

/// [tenants.NAME].
Result<void> apply_tenants(Config& config, const toml::value& tenants, const std::string& file) {
  for (const auto& [name, table] : tenants.as_table()) {
    const std::string where = file + ": [tenants." + name + "]";
    if (!table.is_table())
      return fail(ErrorCode::bad_configuration,
                  file + ": 'tenants' must have a table for each user: [tenants.NAME]");
    TenantSettings& tenant = config.tenants[name];
    const std::vector<Setting> settings{{"weight", "", weight(tenant.weight)},
                                        {"cores", "", limit(tenant.cores)},
                                        {"gpus", "", limit(tenant.gpus)},
                                        {"leases", "", limit(tenant.leases)}};
    for (const auto& [key, value] : table.as_table()) {
      auto text = to_text(value);
      if (!text) return fail(std::move(text.error()).while_doing(where + ": " + key));
      if (auto applied = apply(settings, key, *text, where); !applied) return applied;
    }
  }
  return {};
}

/// Keys of a table `t` are the settings that begin with `t_`.
Result<void> apply_table(const std::vector<Setting>& settings, const toml::value& table,
                         const std::string& prefix, const std::string& file) {
  for (const auto& [name, value] : table.as_table()) {
    const std::string key = prefix + name;
    if (value.is_table() && prefix.empty()) {
      if (auto applied = apply_table(settings, value, key + "_", file); !applied) return applied;
      continue;
    }
    auto text = to_text(value);
    if (!text) return fail(std::move(text.error()).while_doing(file + ": " + key));
    if (auto applied = apply(settings, key, *text, file); !applied) return applied;
  }
  return {};
}

Result<void> read_file_into(Config& config, const std::vector<Setting>& settings,
                            const std::string& file) {
  try {
    toml::value all = toml::parse(file);
    if (const auto tenants = all.as_table().find("tenants");
        tenants != all.as_table().end() && tenants->second.is_table()) {
      if (auto applied = apply_tenants(config, tenants->second, file); !applied) return applied;
      all.as_table().erase("tenants");
    }
    return apply_table(settings, all, "", file);
  } catch (const std::exception& error) {
    return fail(ErrorCode::bad_configuration, file + ": " + error.what());
  }
}

std::filesystem::path default_state_directory() {
  const passwd* user = ::getpwuid(::geteuid());
  const std::filesystem::path home = user != nullptr ? user->pw_dir : "/";
  return home / ".local/state/orchid/gateway";
}

unsigned default_threads() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const bool known = ::sched_getaffinity(0, sizeof cores, &cores) == 0;
  return std::max(1U, known ? static_cast<unsigned>(CPU_COUNT(&cores)) / 4 : 1U);
}

void fill_defaults(Config& config) {
  if (config.state.empty()) config.state = default_state_directory();
  if (config.socket.empty()) config.socket = config.state / "gateway.sock";
  if (config.http_threads == 0) config.http_threads = default_threads();
  std::error_code error;
  const auto programs = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (config.compiler.empty()) config.compiler = programs / "orchid-compiler";
  if (config.dispatch.empty()) config.dispatch = programs / "orchid-dispatch";
  if (config.copy_program.empty()) config.copy_program = programs / "orchid-copy";
  if (config.door_program.empty()) config.door_program = programs / "orchid-door";
  if (config.flows_program.empty()) config.flows_program = programs / "orchid-flows";
  if (config.orchid_program.empty()) config.orchid_program = programs / "orchid";
  config.pilots.worker_memory = config.worker_memory;
  if (config.slurm_program.empty()) config.slurm_program = programs / "orchid-slurm";
}

}  // namespace

Result<std::variant<Config, PrintAndExit>> read_config(int argc, const char* const* argv) {
  Config config;
  const std::vector<Setting> settings = settings_of(config);
  CLI::App app{"Orchid's gateway: the HTTP API, functions, invocations, leases.", "orchid-gateway"};
  app.set_version_flag("--version", "orchid-gateway " ORCHID_VERSION);
  app.footer(
      "Durations are written like 500ms, 30s or '1h 30m', sizes like 64MiB.\n"
      "example: orchid-gateway --state /var/tmp/me/orchid --listen 127.0.0.1:8080");
  std::string file;
  app.add_option("--config", file, "TOML file with these settings, with '_' instead of '-'");
  std::map<std::string, std::string> flags;
  for (const Setting& setting : settings) {
    std::string flag = "--" + setting.name;
    std::ranges::replace(flag, '_', '-');
    app.add_option_function<std::string>(
           flag, [&flags, name = setting.name](const std::string& value) { flags[name] = value; },
           setting.help)
        ->take_last();
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return PrintAndExit{0, app.help()};
  } catch (const CLI::CallForVersion&) {
    return PrintAndExit{0, "orchid-gateway " ORCHID_VERSION "\n"};
  } catch (const CLI::ParseError& error) {
    return fail(ErrorCode::bad_configuration, std::string(error.what()) + "; see --help");
  }
  if (!file.empty())
    if (auto read = read_file_into(config, settings, file); !read)
      return fail(std::move(read.error()));
  for (const auto& [name, value] : flags)
    if (auto applied = apply(settings, name, value, "command line"); !applied)
      return fail(std::move(applied.error()));
  if (auto good = check(config.pilots, config.listen); !good) return fail(std::move(good.error()));
  fill_defaults(config);
  return config;
}

}  // namespace orchid::gateway
