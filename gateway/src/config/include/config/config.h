// config/config.h: what a site or a user may set: read once, from a TOML file and then from flags.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "foundation/log.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "pilots/pilot_settings.h"
#include "tenants/token_book.h"

namespace orchid::gateway {

/// What one user may have at a time, and is due: a table [tenants.NAME] of the file, of the user's
/// name. Nothing: no limit.
struct TenantSettings {
  double weight = 1;                    // above 0, to 1 000 000: due twice as much with 2 as with 1
  std::optional<std::uint32_t> cores;   // in workers
  std::optional<std::uint32_t> gpus;    // in workers
  std::optional<std::uint32_t> leases;  // workers, those that run calls included
};

/// Each field is a key of the file and, with '-' for '_', a flag: `http_threads = 2`,
/// `--http-threads 2`. Numbers, sizes and durations are written as foundation/amounts.h
/// says; lists are arrays in the file and have commas in a flag.
struct Config {
  std::filesystem::path state;  // directory; default: ~/.local/state/orchid/gateway
  std::vector<std::string> listen{"127.0.0.1:0", "[::1]:0"};  // TCP; port 0: any free one
  std::filesystem::path socket;  // Unix socket; default: gateway.sock in the state directory
  /// Whom the kernel names there: the gateway's own user and root, or everybody, each as a tenant
  /// of his own. The socket's folder has to be one that others can reach then.
  SocketUsers socket_users = SocketUsers::owner;
  /// Other users, by name or uid, for each of whom a token is made: in the file tokens/UID of the
  /// state directory.
  std::vector<std::string> token_users;
  std::chrono::milliseconds inspect_time{15'000};  // for the inspection of a module, twice at most
  std::filesystem::path dispatch;                  // default: orchid-dispatch beside this program
  std::filesystem::path copy_program;              // default: orchid-copy beside this program
  std::filesystem::path compiler;                  // default: orchid-compiler beside this program
  // In the file a table of its own, [door], with keys without `door_`.
  std::string door_listen;             // "IP:port" for clients over UCX; default: none
  std::filesystem::path door_program;  // default: orchid-door beside this program
  std::size_t door_clients = 256;      // connections through the door; 1 to 4 096
  unsigned http_threads = 0;           // 1 to 64; default: a quarter of the cores, at least 1
  LogLevel log_level = LogLevel::info;
  int ready_fd = -1;  // gets one line of JSON once requests are taken; default: none

  std::uint32_t header_bytes = 16 * 1024;  // 1 KiB to 1 MiB
  std::chrono::milliseconds header_time{
      10'000};  // for a whole header; 10 ms to 1 h, as all times here
  std::chrono::milliseconds body_time{10'000};    // without progress of a body
  std::chrono::milliseconds idle_time{75'000};    // of a connection between requests
  std::chrono::milliseconds write_time{30'000};   // without progress of an answer
  std::chrono::milliseconds event_pause{15'000};  // of a stream of events; then it gets a comment
  std::chrono::milliseconds drain_time{10'000};   // for running calls at the end of the process
  std::size_t connections = 4'096;                // 1 to 100 000, all threads together
  std::size_t event_streams = 128;  // open streams of events of one tenant; 1 to 100 000
  std::size_t in_flight = 4'096;    // synchronous calls; 1 to 1 000 000, all threads together
  std::size_t queued = 100'000;     // asynchronous calls that wait; 1 to 10 000 000
  ByteCount body_memory = 1_GiB;    // of large bodies; 64 MiB to 1 TiB, all threads together
  ByteCount worker_memory = 1_GiB;  // of each worker; 16 MiB to 1 TiB
  std::chrono::milliseconds worker_idle_time{
      60'000};  // of one that no call uses, until it is given back
  std::size_t leased_workers =
      0;  // in a user's own leases together, to 1 000 000; 0: all there are
  std::size_t versions_per_function = 16;  // 1 to 1 000
  // Table [data], with keys without the prefix.
  std::size_t data_versions = 3;                          // of a name, that are kept; 1 to 1 000
  std::chrono::milliseconds data_unnamed_for{3'600'000};  // they live, where nobody says; to 31 d
  ByteCount data_per_user{0};  // at a time, objects that are being written included; 0: no limit
  // Tables [placement] and [slurm], with keys without the prefix.
  std::string placement_policy = "spread";     // or pack, near, energy, the path of a library
  std::uint32_t placement_cores_per_user = 0;  // leased at a time, to 1 000 000; 0: no limit
  std::uint32_t placement_watts_per_host = 0;  // that a host draws at most, to 1 000 000; 0: any
  std::uint32_t placement_watts_per_core = 4;  // that a leased core is taken to draw until the host
                                               // has told what it draws now
  /// For so long use in the past counts for who is next, up to 31 d; 0: only what is held now.
  std::chrono::milliseconds placement_fair_share_half_life{0};
  std::map<std::string, TenantSettings> tenants;  // by user's name; in the file only
  /// Programs that tell what a cluster has: "slurm" (orchid-slurm), absolute paths of others, with
  /// their arguments after blanks; "auto": slurm where Slurm is configured; "none".
  std::vector<std::string> sources{"auto"};
  std::filesystem::path slurm_program;          // default: orchid-slurm beside this program
  std::uint32_t slurm_requests_per_minute = 0;  // to slurmctld; 0: orchid-slurm's own default
  std::chrono::milliseconds slurm_interval{0};  // between two looks; 0: orchid-slurm's own default
  std::vector<std::string>
      slurm_dpu_features;  // of nodes that are DPUs; empty: as orchid-slurm says
  // Table [page], with keys without the prefix.
  std::vector<std::string> page_hosts;  // names by which browsers reach it, besides loopback's
  std::chrono::milliseconds page_session_time{12 * 3'600'000};  // of who has logged in; to 7 d
  // Table [flows], with keys without the prefix.
  std::filesystem::path flows_program;  // default: orchid-flows beside this program
  std::size_t flows_per_user = 100;     // that have not ended; 1 to 100 000
  ByteCount flows_store = 4_GiB;        // on disk, of one user; 1 MiB to 1 TiB
  std::chrono::milliseconds flows_keep{7 * 24 * 3'600'000};  // those that have ended; to 366 d
  std::vector<std::string> flows_templates;  // folders with templates, beside Orchid's own
  PilotSettings pilots;                      // table [pilots]
  std::filesystem::path orchid_program;      // default: orchid beside this program
  std::chrono::milliseconds keep_finished{24 *
                                          3'600'000};  // outcomes of asynchronous calls; up to 24h
  std::chrono::milliseconds deadline{60'000};  // of a synchronous call that names none; up to 24h
  std::chrono::milliseconds async_deadline{3'600'000};  // of an asynchronous one; up to 24h
  std::chrono::milliseconds wait{30'000};               // of a synchronous caller; up to 24h
};

/// What the command line asks for instead of running.
struct PrintAndExit {
  int status;
  std::string text;
};

/// Errors: `bad_configuration`, with the key.
[[nodiscard]] Result<std::variant<Config, PrintAndExit>> read_config(int argc,
                                                                     const char* const* argv);

}  // namespace orchid::gateway
