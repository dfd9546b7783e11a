#include "process_status.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "foundation/units.h"

namespace orchid::site {
namespace {

/// What follows "NAME:" on a line of its own, without blanks before it.
std::optional<std::string_view> value_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(name.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }
  return std::nullopt;
}

/// The next of several, which it loses.
template <typename Number>
std::optional<Number> take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return take_number<Number>(text);
}

}  // namespace

Result<ProcessStatus> parse_process_status(std::string_view text) {
  const auto incomplete = [](const char* what) {
    return fail(ErrorCode::internal, std::string("a process's status has no ") + what);
  };
  ProcessStatus status;
  auto parent = value_of(text, "PPid");
  const auto number = parent ? take_word<pid_t>(*parent) : std::nullopt;
  if (!number) return incomplete("PPid");
  status.parent = *number;
  auto users = value_of(text, "Uid");  // real, effective, saved, of the file system
  if (!users) return incomplete("Uid");
  std::array<uid_t, 3> uids{};
  for (uid_t& uid : uids) {
    const auto each = take_word<uid_t>(*users);
    if (!each) return incomplete("Uid");
    uid = *each;
  }
  status.real = uids[0];
  status.saved = uids[2];
  const auto allowed = value_of(text, "Cpus_allowed_list");
  if (!allowed) return incomplete("Cpus_allowed_list");
  auto cores = parse_core_list(*allowed);
  if (!cores) return fail(std::move(cores.error()));
  status.allowed = std::move(*cores);
  return status;
}

Result<ProcessStatus> read_process_status(const std::filesystem::path& proc, pid_t process) {
  const auto text = read_file(proc / std::to_string(process) / "status", 64_KiB);
  if (!text) return fail(ErrorCode::not_found, "process " + std::to_string(process) + " has ended");
  return parse_process_status(as_text(*text));
}

}  // namespace orchid::site
