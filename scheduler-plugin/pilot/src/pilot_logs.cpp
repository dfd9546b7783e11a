#include "pilot/pilot_logs.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "foundation/units.h"

namespace orchid::pilot {
namespace {

constexpr const char* ending = ".log";
constexpr const char* trouble_file = "trouble";

std::optional<std::uint64_t> job_of(const std::filesystem::path& log) {
  if (log.extension() != ending) return std::nullopt;
  return parse_number<std::uint64_t>(log.stem().native());
}

}  // namespace

std::filesystem::path log_of(const std::filesystem::path& folder, std::uint64_t job) {
  return folder / (std::to_string(job) + ending);
}

std::filesystem::path log_of_any(const std::filesystem::path& folder) {
  return folder / (std::string("%j") + ending);
}

void remove_old_logs(const std::filesystem::path& folder, const std::vector<PilotJob>& in_queue,
                     std::size_t kept) {
  std::vector<std::uint64_t> gone;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (const auto job = job_of(at->path());
        job && std::ranges::find(in_queue, *job, &PilotJob::job) == in_queue.end())
      gone.push_back(*job);
  if (gone.size() <= kept) return;
  std::ranges::sort(gone, std::greater<>());  // numbers grow with time
  for (std::size_t i = kept; i < gone.size(); ++i)
    std::filesystem::remove(log_of(folder, gone[i]), error);
}

void note_trouble(const std::filesystem::path& folder, const std::string& lines) {
  std::error_code ignored;
  if (lines.empty())
    std::filesystem::remove(folder / trouble_file, ignored);
  else
    (void)write_file_atomically(folder / trouble_file, as_bytes(lines));
}

std::vector<std::string> noted_trouble(const std::filesystem::path& folder) {
  std::vector<std::string> lines;
  const auto content = read_file(folder / trouble_file, 64_KiB);
  if (!content) return lines;
  std::istringstream text{std::string(as_text(*content))};
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace orchid::pilot
