#include "share/detached_step.h"

#include <fcntl.h>
#include <unistd.h>

#include "foundation/files.h"
#include "foundation/unique_fd.h"

namespace orchid::share {
namespace {

constexpr std::size_t longest_said = 2000;

}  // namespace

Result<DetachedStep> DetachedStep::start(const std::vector<std::string>& words,
                                         const std::vector<std::string>& environment,
                                         const std::filesystem::path& log) {
  const UniqueFd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return fail_errno("opening " + log.string());
  const off_t begin = ::lseek(file.get(), 0, SEEK_END);
  auto process =
      processes::ChildProcess::start({.program = words.at(0),
                                      .arguments = {words.begin() + 1, words.end()},
                                      .environment = environment,
                                      .descriptors = {{.from = file.get(), .as = STDOUT_FILENO},
                                                      {.from = file.get(), .as = STDERR_FILENO}},
                                      .group = processes::ProcessGroup::own_session,
                                      .default_signals = true});
  if (!process) return fail(std::move(process.error()));
  return DetachedStep(std::move(*process), log, begin < 0 ? 0 : static_cast<std::uintmax_t>(begin));
}

bool DetachedStep::ended() { return process_.pid() < 0 || process_.reap().has_value(); }

std::string DetachedStep::said() const {
  const auto content = read_file(log_, 16_MiB);
  if (!content || content->size() <= begin_) return {};
  std::string text(as_text(*content).substr(begin_));
  if (text.size() > longest_said) text.erase(0, text.size() - longest_said);
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace orchid::share
