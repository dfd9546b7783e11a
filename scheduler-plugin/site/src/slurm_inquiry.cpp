#include "slurm_inquiry.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/json_document.h"
#include "foundation/pipe.h"

namespace orchid::site {
namespace {

using Json = nlohmann::json;

constexpr int answer_number = 3;
constexpr std::size_t longest_answer = 1U << 20;

Json to_json(const Result<JobOnNode>& found) {
  if (!found) return {{"code", to_string(found.error().code)}, {"message", found.error().message}};
  return {{"uid", found->uid}, {"cores", found->cores}, {"count", found->count}};
}

/// Has nothing of ours but the pipe: an offer's connection has to end when we end it.
[[noreturn]] void ask_and_end(const SlurmQuestion& question, int answer) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);  // with what it starts
  if (answer != answer_number) ::dup2(answer, answer_number);
  ::fcntl(answer_number, F_SETFD, FD_CLOEXEC);
  ::syscall(SYS_close_range, answer_number + 1, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const std::string text = dump_json(to_json(ask_slurm(question)));
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(answer_number, rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::_exit(0);
}

}  // namespace

Result<SlurmInquiry> SlurmInquiry::start(const SlurmQuestion& question) {
  auto pipe = make_pipe();
  if (!pipe) return fail(std::move(pipe.error()));
  const pid_t process = ::fork();
  if (process < 0) return fail_errno("fork");
  if (process == 0) ask_and_end(question, pipe->writer.get());
  ::setpgid(process, process);  // whoever is first
  ::fcntl(pipe->reader.get(), F_SETFL, O_NONBLOCK);
  return SlurmInquiry(process, std::move(pipe->reader));
}

SlurmInquiry::SlurmInquiry(SlurmInquiry&& other) noexcept
    : process_(std::exchange(other.process_, 0)),
      answer_(std::move(other.answer_)),
      text_(std::move(other.text_)) {}

SlurmInquiry::~SlurmInquiry() {
  if (process_ <= 0) return;
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

bool SlurmInquiry::read() {
  std::array<char, 4096> part;
  while (true) {
    const ssize_t got = ::read(answer_.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno != EAGAIN;
    if (got == 0) return true;
    text_.append(part.data(), static_cast<std::size_t>(got));
    if (text_.size() > longest_answer) return true;
  }
}

Result<JobOnNode> SlurmInquiry::answer() const {
  const JsonDocument document(text_, {.subject = "the answer of the process that asks Slurm"});
  const JsonObject o = document.root();
  if (o.has("message"))
    return fail(o.parsed("code", parse_error_code), o.text("message", longest_answer));
  JobOnNode found{.uid = o.number<uid_t>("uid"),
                  .cores = o.numbers("cores"),
                  .count = o.number<std::uint32_t>("count")};
  if (auto good = document.finish(); !good)
    return fail(ErrorCode::internal,
                "the process that asks Slurm has ended without an answer: " + good.error().message);
  return found;
}

}  // namespace orchid::site
