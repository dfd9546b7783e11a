#include "pilot/pilot_owner.h"

#include <algorithm>

#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/random.h"
#include "pilot/batch_script.h"
#include "pilot/submission_gate.h"

namespace orchid::pilot {
namespace {

constexpr std::chrono::seconds others_mark_within{30};

std::filesystem::path mark_file(const std::filesystem::path& state) { return state / "pilot-mark"; }

bool is_mark(std::string_view text) {
  return text.size() == 12 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::string_view host_and_port(std::string_view url) {
  if (url.starts_with("http://")) url.remove_prefix(7);
  while (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

Result<std::string> RunningGateway::address_for_nodes(const std::string& wanted) const {
  if (!wanted.empty()) return wanted;
  for (const std::string& url : addresses)
    if (const auto address = host_and_port(url); !is_loopback(address))
      return with_host(address, own_host_name());
  return fail(ErrorCode::bad_configuration,
              "the gateway can be reached from this host only, and not from nodes: start it with "
              "'orchid up --listen IP:PORT', or say with --address HOST:PORT how nodes reach it");
}

Result<std::string> read_mark(const std::filesystem::path& state) {
  const auto content = read_file(mark_file(state), 4_KiB);
  if (!content && content.error().code == ErrorCode::not_found) return std::string();
  if (!content) return fail(content.error());
  std::string text(as_text(*content));
  text.erase(text.find_last_not_of("\r\n") + 1);
  if (is_mark(text)) return text;
  return fail(ErrorCode::bad_configuration,
              mark_file(state).string() +
                  " is damaged, so this gateway's pilots cannot be recognised: find them with "
                  "'squeue --me', cancel them with scancel, and remove the file");
}

Result<void> mark(PilotOwner& owner) {
  if (!owner.mark.empty()) return {};
  // Of two at once the second one has the mark of the first.
  const auto alone = SubmissionGate(owner.state).enter(others_mark_within);
  if (!alone) return fail(alone.error());
  auto known = read_mark(owner.state);
  if (!known) return fail(std::move(known.error()));
  owner.mark = std::move(*known);
  if (!owner.mark.empty()) return {};
  const std::string fresh = random_hex(6) + "\n";
  if (auto written = write_file_atomically(mark_file(owner.state), as_bytes(fresh)); !written)
    return written;
  owner.mark = fresh.substr(0, fresh.size() - 1);
  return {};
}

Result<void> prepare(PilotOwner& owner) {
  if (!owner.gateway)
    return fail(ErrorCode::unreachable,
                "no running Orchid found; start one with 'orchid up --listen IP:PORT', which nodes "
                "can reach");
  if (auto marked = mark(owner); !marked) return marked;
  std::error_code error;
  std::filesystem::create_directories(owner.log_folder(), error);
  if (error)
    return fail(ErrorCode::system,
                "making " + owner.log_folder().string() + ": " + error.message());
  return {};
}

/// Nothing was ever started where there is no mark.
Result<std::vector<PilotJob>> pilots_of(const PilotOwner& owner, const SlurmCommands& slurm) {
  if (owner.mark.empty()) return std::vector<PilotJob>();
  return slurm.list(pilot_job_name(owner.mark));
}

}  // namespace orchid::pilot
