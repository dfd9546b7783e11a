#include "pilot/batch_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace orchid::pilot {
namespace {

using std::chrono::seconds;

constexpr seconds shortest_time{60};
constexpr seconds longest_time{366 * 86'400};
constexpr std::uint32_t most_nodes = 65'536;
constexpr std::uint32_t most_cores = 65'536;
constexpr std::uint32_t most_gpus = 1'024;
constexpr std::size_t longest_value = 1024;

/// What both kinds of step begin with: the job's memory here, and how long it lasts.
/// slurmctld's times are by its own clock. Where the node's clock does not fit to that, the age of
/// the step's daemon tells how much of the job's time has passed.
constexpr std::string_view terms_of_job = R"bash(set --
job=$(timeout 30 scontrol show job --details "$SLURM_JOB_ID") || job=
memory=${SLURM_MEM_PER_NODE:-$((${SLURM_MEM_PER_CPU:-0} * SLURM_CPUS_ON_NODE))}
if [ "$memory" -ge 64 ]; then set -- "$@" --memory "${memory}MiB"; fi
when() { local at; at=$(sed -n "s/.* $1=\([0-9][^ ]*\).*/\1/p" <<<"$job"); [ -n "$at" ] && date -d "$at" +%s; }
if end=$(when EndTime) && start=$(when StartTime); then
  passed=$(($(date +%s) - start))
  least=$(ps -o etimes= -p "$PPID") || least=0
  if [ $((passed + 2)) -lt "$least" ] || [ "$passed" -gt $((least + longest_launch)) ]; then
    echo "orchid pilot: by this node's clock the job has run for $passed s, by its process for $((least)) s" >&2
    passed=$least
  fi
  left=$((end - start - passed - end_margin))
  if [ "$left" -lt 1 ]; then echo "orchid pilot: no time is left" >&2; exit 0; fi
  set -- "$@" --ends-in-s "$left"
fi
)bash";

/// In site mode: the step is the placeholder itself, so that nothing stands between it and SIGTERM.
constexpr std::string_view site_step = R"bash(
exec "$program" --grant pilot --for everybody --job "$SLURM_JOB_ID" --gateway-grace-s "$gateway_grace" \
  --scheduling "$scheduling" --bandwidth-cap "$bandwidth_cap" ${host_socket:+--host-socket "$host_socket"} "$@"
)bash";

/// What runs on each node. The shell becomes the executor, so that nothing stands between that and
/// SIGTERM and no other process is to end: slurmd looks whether a job has ended 20 ms after it has
/// told it to, and the next time 50 ms later. The executor removes its folder; one that was killed
/// leaves it, unlocked, to the next pilot on the node. The lock is descriptor 9, also the
/// executor's.
constexpr std::string_view own_folder = R"bash(
umask 077
for old in /tmp/orchid-pilot-*; do
  if [ -O "$old/lock" ] && [ -n "$(find "$old/lock" -mmin +1)" ] && flock --nonblock "$old/lock" true; then
    rm -rf -- "$old"
  fi
done
base=$(mktemp -d "/tmp/orchid-pilot-$SLURM_JOB_ID-XXXXXX") || exit 1
exec 9>"$base/lock" && flock 9
trap 'rm -rf -- "$base"' EXIT
trap 'exit 0' TERM INT
)bash";

/// Slurm binds the step to its cores, or does not (task/none): then the executor binds itself to
/// those that Slurm has counted for this node.
constexpr std::string_view own_step = R"bash(
count() { local n=0 part; for part in ${1//,/ }; do n=$((n + ${part#*-} - ${part%-*} + 1)); done; echo "$n"; }
cores= gres=
while read -r nodes ids listed; do
  if timeout 30 scontrol show hostnames "$nodes" | grep -qxF -- "$SLURMD_NODENAME"; then cores=$ids gres=$listed; fi
done < <(sed -n 's/^ *Nodes=\([^ ]*\) CPU_IDs=\([^ ]*\) \(.*GRES=\([^ ]*\)\)\{0,1\}.*/\1 \2 \4/p' <<<"$job")
while IFS='(' read -r kind indices; do
  kind=${kind#gpu}; kind=${kind#:}
  case $kind in *:*) kind=${kind%:*}: ;; *) kind= ;; esac
  set -- "$@" --gpus "$kind${indices#IDX:}"
done < <(grep -oE '(^|,)gpu(:[^,()]*)?\(IDX:[-0-9,]+' <<<"$gres" | sed 's/^,//')
allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
if [ -n "$cores" ] && [ "$(count "$allowed")" -gt "$(count "$cores")" ]; then
  set -- "$@" --core-list "$cores"
  all=$(timeout 30 scontrol show node "$SLURMD_NODENAME" | sed -n 's/.* CPUTot=\([0-9]*\).*/\1/p')
  if [ -n "$all" ]; then set -- "$@" --core-list-counts "$all"; fi
elif [ -z "$cores" ]; then
  set -- "$@" --cores "$SLURM_CPUS_ON_NODE"
fi
if [ "$host_identity" = node ]; then
  node=${SLURM_CLUSTER_NAME:+$SLURM_CLUSTER_NAME/}$SLURMD_NODENAME
  set -- "$@" --host-id "$(cat /proc/sys/kernel/random/boot_id)/$node"
fi
if [ "$lane_listen" = auto ]; then
  host=${gateway%:*}; host=${host#[}; host=${host%]}
  address=$(getent ahosts "$host" | awk '{ print $1; exit }')
  own=$(ip -o route get "$address" 2>/dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p')
  if [ -n "$own" ]; then
    case $own in *:*) own="[$own]" ;; esac
    set -- "$@" --lane-listen "$own:0"
  else
    echo "orchid pilot: this node has no address by which it reaches $gateway; only clients on this node can reach its workers" >&2
  fi
elif [ -n "$lane_listen" ]; then
  set -- "$@" --lane-listen "$lane_listen"
fi
trap - TERM INT
exec "$program" --gateway "$gateway" --token-file "$token_file" --scratch "$base" \
  --grant pilot --job "$SLURM_JOB_ID" --cluster "${SLURM_CLUSTER_NAME:-}" --node "$SLURMD_NODENAME" \
  --gateway-grace-s "$gateway_grace" --scheduling "$scheduling" --bandwidth-cap "$bandwidth_cap" \
  ${data_memory:+--data-memory "$data_memory"} "$@"
)bash";

std::string step_script(bool site) {
  std::string script = "set -u\n";
  if (!site) script += own_folder.substr(1);
  script += terms_of_job;
  return script += (site ? site_step : own_step).substr(1);
}

/// The job ends so long after its executors; Slurm's own end would come with less notice.
constexpr seconds end_margin{5};
/// From a job's start to that of its step; more is taken for a wrong clock.
constexpr seconds longest_launch{60};

/// The most that Slurm takes: whatever the site's priorities weigh, a pilot stands behind the jobs
/// that wait for the same nodes.
constexpr std::uint32_t niceness = 2'147'483'645;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.,:+/@%=[]*&|!~").find(c) != std::string_view::npos;
}

/// What an #SBATCH line can carry without quotes.
Result<void> check_plain(std::string_view what, std::string_view value) {
  if (value.size() <= longest_value && std::ranges::all_of(value, is_plain) &&
      !value.starts_with('-'))
    return {};
  return fail(ErrorCode::bad_request,
              fmt::format("{} '{}' cannot be written into a batch script: use letters, digits and "
                          "_-.,:+/@%=[], and no '-' at the beginning",
                          what, std::string(value.substr(0, 80))));
}

Result<void> check_text(std::string_view what, std::string_view value) {
  const bool printable =
      std::ranges::none_of(value, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (printable && value.size() <= longest_value) return {};
  return fail(
      ErrorCode::bad_request,
      fmt::format("{} has a control character, or is longer than {} bytes", what, longest_value));
}

Result<void> check_path(std::string_view what, const std::filesystem::path& path) {
  if (!path.is_absolute())
    return fail(
        ErrorCode::bad_request,
        fmt::format(
            "{} '{}' must be an absolute path, since nodes do not know your working directory",
            what, path.string()));
  return check_text(what, path.string());
}

Result<void> check_amounts(const PilotRequest& r) {
  if (r.time < shortest_time || r.time > longest_time)
    return fail(ErrorCode::bad_request, "a pilot's time must be between 1 minute and 366 days");
  if (r.nodes == 0 || r.nodes > most_nodes)
    return fail(ErrorCode::bad_request, fmt::format("a pilot has 1 to {} nodes", most_nodes));
  if (r.gpus > most_gpus || (r.gpus == 0 && !r.gpu_model.empty()))
    return fail(
        ErrorCode::bad_request,
        fmt::format("a pilot has at most {} GPUs on each node; a model needs a number", most_gpus));
  if (r.cores == 0 || r.cores > most_cores)
    return fail(ErrorCode::bad_request,
                fmt::format("a pilot has 1 to {} cores on each node", most_cores));
  if (r.memory.value != 0 && r.memory < 64_MiB)
    return fail(ErrorCode::bad_request, "a pilot has at least 64MiB on each node");
  if (r.memory.value != 0 && r.data_memory.value_or(ByteCount{}) >= r.memory)
    return fail(ErrorCode::bad_request,
                fmt::format("a pilot with {} on each node cannot keep {} of it for data: it has "
                            "workers, too",
                            to_string(r.memory), to_string(*r.data_memory)));
  if (r.bandwidth_cap.value != 0 && r.bandwidth_cap < 64_MiB)
    return fail(ErrorCode::bad_request,
                "a pilot's memory bandwidth cap must be at least 64MiB per second");
  if (r.longest_wait.count() < 0 || r.longest_wait > longest_time)
    return fail(ErrorCode::bad_request, "a pilot waits for at most 366 days");
  if (r.gateway_grace < seconds(1) || r.gateway_grace > seconds(86'400))
    return fail(ErrorCode::bad_request, "the gateway's grace must be between 1 s and 1 day");
  return {};
}

/// An option of sbatch that is none of those that the script itself gives.
Result<void> check_option(std::string_view option) {
  constexpr std::string_view own[] = {"--job-name",        "--nodes",    "--ntasks", "--wrap",
                                      "--ntasks-per-node", "--export",   "--array",  "--output",
                                      "--cpus-per-task",   "--parsable", "--requeue"};
  const std::string_view name = option.substr(0, option.find('='));
  if (!option.starts_with("--") || std::ranges::find(own, name) != std::end(own))
    return fail(ErrorCode::bad_request,
                fmt::format("'{}' cannot be given to a pilot: write an option of sbatch as "
                            "--name=value, and not one that the pilot sets itself",
                            std::string(option.substr(0, 80))));
  return check_plain("the option", option.substr(2));
}

Result<void> check_site(const PilotRequest& r) {
  if (r.gpus != 0)
    return fail(ErrorCode::bad_request,
                "the site's service on a node takes cores and memory only: leave the GPUs out");
  if (r.data_memory)
    return fail(ErrorCode::bad_request,
                "how much data is kept on a node is for the site's service to say "
                "(--executor-option=--data-memory=SIZE): leave --data-memory out");
  return r.host_socket.empty() ? Result<void>() : check_path("the host's socket", r.host_socket);
}

Result<void> check_own(const PilotRequest& r) {
  for (const auto& [what, value] :
       {std::pair{"the gateway's address", &r.gateway}, {"the lanes' address", &r.lane_listen}})
    if (auto good = check_plain(what, *value); !good) return good;
  if (r.gateway.find(':') == std::string::npos)
    return fail(ErrorCode::bad_request, "the gateway's address must be host:port");
  return check_path("the token file", r.token_file);
}

Result<void> check(const PilotRequest& r) {
  for (const auto& [what, value] : {std::pair{"the job's name", &r.job_name},
                                    {"the partition", &r.partition},
                                    {"the QOS", &r.qos},
                                    {"the account", &r.account},
                                    {"the node list", &r.node_list},
                                    {"the GPUs' model", &r.gpu_model}})
    if (auto good = check_plain(what, *value); !good) return good;
  if (r.job_name.empty()) return fail(ErrorCode::bad_request, "a pilot needs a name");
  if (auto good = r.site ? check_site(r) : check_own(r); !good) return good;
  if (auto good = check_path("the program", r.program); !good) return good;
  if (!r.commands.empty())
    if (auto good = check_path("the folder of Slurm's commands", r.commands); !good) return good;
  if (!r.log_file.empty()) {
    if (auto good = check_path("the log file", r.log_file); !good) return good;
    if (auto good = check_plain("the log file", r.log_file.string()); !good) return good;
  }
  for (const std::string& option : r.options)
    if (auto good = check_option(option); !good) return good;
  return check_amounts(r);
}

/// As one word of a shell.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

void add_option(std::string& script, std::string_view name, std::string_view value) {
  if (!value.empty()) script += fmt::format("#SBATCH --{}={}\n", name, value);
}

std::string time_text(seconds time) {
  const auto total = time.count();
  const auto days = total / 86'400;
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", total / 3600 % 24, total / 60 % 60, total % 60);
  return days == 0 ? clock : fmt::format("{}-{}", days, clock);
}

/// Slurm counts a job's time in whole minutes, and removes one that could not end by its deadline.
std::string deadline_text(const PilotRequest& r) {
  const seconds time = std::chrono::ceil<std::chrono::minutes>(r.time);
  return fmt::format("now+{}", (time + r.longest_wait).count());
}

/// What a user says counts, and not what a pilot would have otherwise.
bool is_given(const PilotRequest& r, std::string_view name) {
  return std::ranges::any_of(r.options, [name](const std::string& option) {
    return std::string_view(option).substr(0, option.find('=')) == name;
  });
}

std::string options_of(const PilotRequest& r) {
  std::string script;
  add_option(script, "job-name", r.job_name);
  add_option(script, "partition", r.partition);
  add_option(script, "qos", r.qos);
  add_option(script, "account", r.account);
  add_option(script, "nodelist", r.node_list);
  add_option(script, "time", time_text(r.time));
  if (!is_given(r, "--nice")) add_option(script, "nice", std::to_string(niceness));
  if (r.longest_wait.count() > 0 && !is_given(r, "--deadline"))
    add_option(script, "deadline", deadline_text(r));
  add_option(script, "nodes", std::to_string(r.nodes));
  add_option(script, "ntasks-per-node", "1");
  add_option(script, "cpus-per-task", std::to_string(r.cores));
  if (r.gpus != 0)
    add_option(script, "gres",
               fmt::format("gpu:{}{}{}", r.gpu_model, r.gpu_model.empty() ? "" : ":", r.gpus));
  if (r.memory.value != 0)
    add_option(script, "mem", fmt::format("{}K", (r.memory.value + 1023) / 1024));
  add_option(script, "output", r.log_file.empty() ? "/dev/null" : r.log_file.string());
  // What is in the submitter's environment is nobody's business on the nodes.
  add_option(script, "export", "NIL");
  script += "#SBATCH --no-requeue\n";
  for (const std::string& option : r.options) script += "#SBATCH " + option + "\n";
  return script;
}

}  // namespace

std::string pilot_job_name(std::string_view mark) { return "orchid-pilot-" + std::string(mark); }

Result<std::string> batch_script(const PilotRequest& r) {
  if (auto good = check(r); !good) return fail(std::move(good.error()));
  std::string script =
      "#!/bin/bash\n" + options_of(r) +
      (r.site ? "# A pilot of Orchid: grants its cores to the service of each node, until the job "
                "ends.\n"
              : "# A pilot of Orchid: an executor on each node, until the job ends.\n");
  const std::string commands = r.commands.empty() ? "" : r.commands.string() + ":";
  script += "export PATH=" + shell_word(commands + "/usr/bin:/bin:/usr/sbin:/sbin") + "\n";
  script += "export program=" + shell_word(r.program.string()) + "\n";
  if (r.site) {
    script += "export host_socket=" + shell_word(r.host_socket.string()) + "\n";
  } else {
    script += "export gateway=" + shell_word(r.gateway) + "\n";
    script += "export token_file=" + shell_word(r.token_file.string()) + "\n";
    script += "export lane_listen=" + shell_word(r.lane_listen) + "\n";
    script += std::string("export host_identity=") +
              (r.host_identity == HostIdentity::node ? "node" : "boot") + "\n";
    script += fmt::format("export data_memory={}\n",
                          r.data_memory ? std::to_string(r.data_memory->value) : "");
  }
  script += fmt::format("export scheduling={} bandwidth_cap={}\n", r.gives_way ? "idle" : "normal",
                        r.bandwidth_cap.value);
  script += fmt::format("export gateway_grace={} end_margin={} longest_launch={}\n",
                        r.gateway_grace.count(), end_margin.count(), longest_launch.count());
  // A step, and not this script itself: only steps hear of the end before it comes.
  script +=
      "exec srun --export=ALL --nodes=\"$SLURM_JOB_NUM_NODES\" "
      "--ntasks=\"$SLURM_JOB_NUM_NODES\" --ntasks-per-node=1 ";
  script += fmt::format("--cpus-per-task={} ", r.cores);
  script += "--kill-on-bad-exit=0 --wait=0 --mpi=none --input=none /bin/bash -c " +
            shell_word(step_script(r.site)) + "\n";
  return script;
}

}  // namespace orchid::pilot
