// spank_orchid.so: `#SBATCH --orchid-share[=cores:N|auto,mem:SIZE,bandwidth:SIZE]`, for Slurm's own
// programs.
//
// The option is read where jobs are submitted, so that a mistake is told at once. The share itself
// is started by the batch script's process on the job's first node, as the job's user, just before
// it becomes the script: what it starts is `orchid share start`, as the script itself could. From
// there on the plugin has nothing to do with it.
//
// This lives inside sbatch, srun, slurmd and slurmstepd. So it needs no library but libc (also not
// the one of C++), allocates nothing, opens no connection, and no fault of Orchid is one of the
// job: every hook answers "all is well", but for an option that cannot be understood.
#include <cstdint>
// Slurm's headers come after that one, and do not know C++.
extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "share/share_option.h"

namespace {

constexpr std::size_t longest_text = 128;

/// Owned by the process's only thread that calls plugins.
struct Wish {
  bool told = false;
  char text[longest_text] = "";  // as the user has written it
};
Wish wish;

int read_option(int, const char* text, int) {
  if (text == nullptr) text = "";
  const std::size_t length = std::strlen(text);
  const auto parsed = orchid::share::parse_share_option({text, length});
  const char* fault = length >= longest_text ? "it is too long" : parsed.fault;
  if (fault != nullptr) {
    slurm_error("--orchid-share=%s: %s", text, fault);
    return -1;
  }
  std::memcpy(wish.text, text, length + 1);
  wish.told = true;
  return 0;
}

spank_option option_of_jobs{
    .name = const_cast<char*>("orchid-share"),
    .arginfo = const_cast<char*>("cores:N|auto,mem:SIZE,bandwidth:SIZE"),
    .usage = const_cast<char*>("let Orchid run your functions on cores of the job that none of its "
                               "steps uses (batch jobs only)"),
    .has_arg = 2,  // optional
    .val = 0,
    .cb = read_option};

/// What plugstack.conf says behind the plugin's path. Its words live as long as the process.
struct Settings {
  const char* program = "orchid";  // "orchid=PATH"; otherwise it is looked for in the job's PATH
  const char* site = "";           // "site": cores are granted to the site's service on each node
  const char* host_socket = "";    // "site=PATH": and where that listens, if not in the usual place
};

/// What follows `name`; null: `word` begins with something else.
const char* value_of(const char* word, std::string_view name) {
  return std::string_view(word).starts_with(name) ? word + name.size() : nullptr;
}

/// False: there is no such setting.
bool read_setting(const char* word, Settings& settings) {
  if (const char* program = value_of(word, "orchid=")) {
    settings.program = program;
    return true;
  }
  const char* socket = value_of(word, "site=");
  if (socket == nullptr && std::string_view(word) != "site") return false;
  settings.site = "yes";
  if (socket != nullptr) settings.host_socket = socket;
  return true;
}

bool is_batch_script(spank_t spank) {
  std::uint32_t step = 0;
  return spank_context() == S_CTX_REMOTE &&
         spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step == SLURM_BATCH_SCRIPT;
}

/// A shell, since that is on every node's own disk: whatever takes longer happens in it.
constexpr const char* shell_script =
    "command -v \"$1\" >/dev/null || { echo \"orchid-share: there is no program '$1' here; the job "
    "runs without a share\" >&2; exit 0; }\n"
    "exec \"$1\" share start ${2:+--site} ${3:+--host-socket \"$3\"} ${4:+\"$4\"} >&2";

/// While it lives, this thread and its children stay on the processor that they are on: each of
/// them waits for the next one, and an idle processor takes longer to wake up than they take to
/// run.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    cpu_set_t here;
    CPU_ZERO(&here);
    const int processor = ::sched_getcpu();
    if (processor < 0 || processor >= CPU_SETSIZE) return;
    CPU_SET(processor, &here);
    bound_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0 &&
             ::sched_setaffinity(0, sizeof here, &here) == 0;
  }
  OnOneProcessor(const OnOneProcessor&) = delete;
  OnOneProcessor& operator=(const OnOneProcessor&) = delete;
  ~OnOneProcessor() { end(); }
  /// Of the calling thread, which may be a child's.
  void end() const {
    if (bound_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

/// Twice removed, so that neither Slurm nor the script ever waits for it or has to reap it. Not
/// fork, which copies the page tables of slurmstepd, and not posix_spawn, which leaves a child to
/// reap.
void start_share(const Settings& settings, char* const* environment) {
  const char* const words[] = {
      "/bin/sh",        "-c",          shell_script,         "orchid-share",
      settings.program, settings.site, settings.host_socket, wish.text,
      nullptr};
  const OnOneProcessor here;
  const pid_t child = ::vfork();  // NOLINT(bugprone-unsafe-functions): our memory is its own
  if (child == 0) {
    if (::vfork() == 0) {  // NOLINT(bugprone-unsafe-functions): and then this one's
      here.end();
      ::execve(words[0], const_cast<char* const*>(words), environment);
      ::_exit(127);
    }
    ::_exit(0);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

extern "C" {

// Constants are a file's own in C++, unless they have been declared.
extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(orchid, 1)

/// Slurm wants options registered anew in each of its programs.
int slurm_spank_init(spank_t spank, int count, char** words) {
  const spank_context_t where = spank_context();
  Settings settings;
  for (int i = 0; i < count; ++i)
    // Of sbatch: whoever tries the new configuration out sees it.
    if (!read_setting(words[i], settings) && where == S_CTX_ALLOCATOR)
      slurm_error(
          "orchid: unknown word '%s' in plugstack.conf; use orchid=PATH, site or site=SOCKET",
          words[i]);
  if (where == S_CTX_LOCAL || where == S_CTX_ALLOCATOR || where == S_CTX_REMOTE)
    if (spank_option_register(spank, &option_of_jobs) != ESPANK_SUCCESS)
      slurm_error("orchid: the option --orchid-share cannot be registered");
  return 0;
}

/// In the process that becomes the script, with the user's rights.
int slurm_spank_task_init(spank_t spank, int count, char** words) {
  if (!wish.told || !is_batch_script(spank)) return 0;
  char** environment = nullptr;
  if (spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS || environment == nullptr)
    return 0;
  Settings settings;
  for (int i = 0; i < count; ++i) (void)read_setting(words[i], settings);
  start_share(settings, environment);
  return 0;
}
}
