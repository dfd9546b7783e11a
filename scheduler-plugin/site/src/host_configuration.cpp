#include "site/host_configuration.h"

#include <fmt/format.h>
#include <pwd.h>
#include <CLI/CLI.hpp>

#include <array>
#include <optional>

#include "foundation/host_addresses.h"
#include "foundation/numbers.h"

namespace orchid::site {
namespace {

constexpr uid_t lowest_uid = 1000;
constexpr uid_t highest_uid = 2'147'483'647;
constexpr std::uint32_t most_slots = 4096;

/// As they are written.
struct Texts {
  std::string uids;
  std::vector<std::string> pilots_from{"root"};
  std::string shares = "owner";
  std::string host_identity = "boot";
};

Result<uid_t> uid_of(const std::string& user) {
  if (const auto number = parse_number<uid_t>(user)) return *number;
  std::array<char, 16'384> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(user.c_str(), &entry, space.data(), space.size(), &found) == 0 &&
      found != nullptr)
    return found->pw_uid;
  return fail(ErrorCode::bad_configuration, "--pilots-from: there is no user '" + user + "'");
}

void declare_options(CLI::App& app, HostConfiguration& c, Texts& texts) {
  app.set_version_flag("--version", "orchid-host " ORCHID_VERSION);
  app.add_option("--gateway", c.gateway, "the site's gateway: HOST:PORT, or unix:PATH on this host")
      ->required();
  app.add_option("--token-file", c.token_file, "file with the token of the gateway's own user");
  app.add_option("--socket", c.socket, "socket at which placeholders connect")
      ->capture_default_str();
  app.add_option("--state", c.state, "folder for compiled code, accessible to root only")
      ->capture_default_str();
  app.add_option("--runtime", c.runtime, "folder for sockets, accessible to root only")
      ->capture_default_str();
  app.add_option("--executor", c.executor,
                 "path of orchid-executor (default: beside this program)");
  app.add_option("--uids", texts.uids,
                 "range of user ids that belong to nobody, such as 2000000000-2000000255; each "
                 "grant uses one")
      ->required();
  app.add_option("--pilots-from", texts.pilots_from,
                 "users whose jobs may be pilots for everybody (default: root)")
      ->delimiter(',');
  app.add_option("--shares", texts.shares,
                 "whose functions may run in a share: owner; everybody, if the owner says so; "
                 "none: shares are not allowed")
      ->check(CLI::IsMember({"owner", "everybody", "none"}))
      ->capture_default_str();
  app.add_option("--lane-listen", c.lane_listen,
                 "IP:PORT at which clients on other hosts reach workers; auto: the address by "
                 "which this host reaches the gateway; none")
      ->capture_default_str();
  app.add_option(
         "--host-identity", texts.host_identity,
         "what tells nodes apart: boot, or node if several nodes of the cluster are one machine")
      ->check(CLI::IsMember({"boot", "node"}))
      ->capture_default_str();
  app.add_option("--node", c.node,
                 "Slurm's name of this host (default: the host's name up to the first dot)");
  app.add_option("--cluster", c.cluster, "ClusterName of slurm.conf");
  app.add_option("--slurm-commands", c.slurm_commands, "folder of scontrol")->capture_default_str();
  app.add_option("--slurmstepd", c.proof.slurmstepd, "path of Slurm's slurmstepd")
      ->capture_default_str();
  app.add_option("--executor-option", c.executor_options,
                 "a further option for each executor, such as "
                 "--executor-option=--lane-fabric=auto; can be repeated")
      ->allow_extra_args(false);
}

Result<void> complete(HostConfiguration& c, const Texts& texts) {
  const auto uids = parse_uid_range(texts.uids);
  if (!uids) return fail(uids.error());
  c.first_uid = uids->first;
  c.slots = uids->count;
  for (const std::string& user : texts.pilots_from) {
    const auto uid = uid_of(user);
    if (!uid) return fail(uid.error());
    c.policy.pilots_from.insert(*uid);
  }
  c.policy.shares = *parse_share_policy(texts.shares);
  c.host_is_node = texts.host_identity == "node";
  if (!c.gateway.starts_with("unix:") && c.token_file.empty())
    return fail(ErrorCode::bad_configuration, "--token-file is needed for a gateway at HOST:PORT");
  if (c.node.empty()) {
    c.node = own_host_name();
    c.node = c.node.substr(0, c.node.find('.'));
  }
  for (const auto& folder : {c.state, c.runtime, c.socket})
    if (!folder.is_absolute())
      return fail(ErrorCode::bad_configuration, folder.string() + " must begin with '/'");
  if (c.executor.empty()) {
    std::error_code error;
    c.executor =
        std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "orchid-executor";
  }
  return {};
}

}  // namespace

Result<UidRange> parse_uid_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = parse_number<uid_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_number<uid_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first || *first < lowest_uid || *last > highest_uid ||
      *last - *first >= most_slots)
    return fail(ErrorCode::bad_configuration,
                fmt::format("--uids '{}' must be a range of at most {} numbers, from {} on, such "
                            "as 2000000000-2000000255",
                            text, most_slots, lowest_uid));
  return UidRange{.first = *first, .count = *last - *first + 1};
}

Result<ParsedHostConfiguration> parse_host_configuration(int argc, char** argv) {
  ParsedHostConfiguration parsed;
  Texts texts;
  CLI::App app{
      "The service of site mode, which runs as root on each node: it takes cores that batch jobs "
      "grant, and runs an executor on them. See docs/guide/slurm.md.",
      "orchid-host"};
  declare_options(app, parsed.configuration, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    parsed.exit_status = app.exit(done);
    return parsed;
  } catch (const CLI::ParseError& error) {
    return fail(ErrorCode::bad_configuration, error.what());
  }
  if (auto good = complete(parsed.configuration, texts); !good)
    return fail(std::move(good.error()));
  return parsed;
}

}  // namespace orchid::site
