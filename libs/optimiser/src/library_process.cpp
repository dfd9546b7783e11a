#include "optimiser/library_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "flow/decision_text.h"
#include "foundation/json_document.h"
#include "foundation/sockets.h"
#include "foundation/unique_fd.h"
#include "foundation/visible_text.h"
#include "library_answer.h"
#include "processes/child_process.h"
#include "processes/program_start.h"

namespace orchid::flow {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int socket_there = 3;
constexpr std::chrono::milliseconds load_deadline{2'000};
/// For the kernel to tell how a process ended whose socket is closed.
constexpr std::chrono::milliseconds end_deadline{1'000};
constexpr std::size_t most_shown = 64;  // hosts, and functions with their times
constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_text = 200;
/// It costs the flow no more than one part in so many of its time.
constexpr int part_of_time = 10;

/// The next packet; nothing at the deadline. Errors: `unreachable`: the process has gone.
Result<std::optional<std::string>> next_packet(int socket, Clock::time_point until) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    auto packet = receive_packet(socket, false);
    if (!packet) return fail(std::move(packet.error()));
    if (*packet) return std::move((*packet)->text);
  }
}

class LibraryOptimiser final : public Optimiser {
 public:
  LibraryOptimiser(processes::ChildProcess process, UniqueFd socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}

  /// Until it has loaded the library. Errors: as open_library.
  [[nodiscard]] Result<void> await_ready() {
    auto packet = next_packet(socket_.get(), Clock::now() + load_deadline);
    if (!packet) return refused("it " + ended() + " while it was loaded");
    if (!*packet)
      return refused(fmt::format("it was not loaded within {} s", load_deadline.count() / 1000));
    const JsonDocument document(**packet);
    const JsonObject said = document.root().optional();
    const auto text = [&said](const char* key, std::size_t longest) {
      return visible_text(said.text(key).substr(0, longest));
    };
    if (const std::string fault = text("error", longest_text); !fault.empty())
      return refused(fault);
    name_ = text("name", longest_name);
    description_ = text("description", longest_text);
    if (name_.empty()) return refused("it does not say its name");
    return {};
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string description() const override {
    return description_.empty() ? "a library of yours" : description_;
  }

  [[nodiscard]] Result<Decided> decide(const Situation& whole) override {
    const Clock::time_point begun = Clock::now();
    if (begun < rest_until_) return Decided{};  // what it has said goes on to hold
    Situation situation = whole;                // as much as fits into a packet
    if (situation.hosts.size() > most_shown) situation.hosts.resize(most_shown);
    if (situation.times.size() > most_shown) situation.times.resize(most_shown);
    if (auto sent = send_packet(socket_.get(), to_json(situation)); !sent)
      return failed(sent.error().code == ErrorCode::too_large
                        ? "cannot be shown all of the flow: names are too long"
                        : ended());
    auto packet = next_packet(socket_.get(), begun + decision_deadline);
    if (!packet) return failed(ended());
    if (!*packet) {
      process_.kill();
      return failed(fmt::format("does not decide within {} ms", decision_deadline.count()));
    }
    const Clock::time_point now = Clock::now();
    rest_until_ = now + (part_of_time - 1) * (now - begun);
    auto decided = decision_of(**packet, situation, name_);
    if (!decided) process_.kill();  // it is not asked again
    return decided;
  }

 private:
  static std::unexpected<Failure> refused(std::string why) {
    return fail(ErrorCode::bad_configuration, std::move(why));
  }
  static std::unexpected<Failure> failed(std::string why) {
    return fail(ErrorCode::unreachable, std::move(why));
  }

  std::string ended() {
    const auto end = process_.wait(end_deadline);
    return end ? "has ended by " + describe(*end) : "has closed its socket";
  }

  processes::ChildProcess process_;
  UniqueFd socket_;
  std::string name_;
  std::string description_;
  Clock::time_point rest_until_;
};

}  // namespace

Result<std::unique_ptr<Optimiser>> open_library(const std::filesystem::path& program,
                                                const PlannedOptimiser& planned,
                                                const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path library =
      std::filesystem::weakly_canonical(std::filesystem::absolute(folder / planned.name), error);
  const auto naming = [&](Failure failure) {
    failure.message = fmt::format("optimiser '{}': {}", planned.name, failure.message);
    return fail(std::move(failure));
  };
  auto sockets = make_packet_pair();
  if (!sockets) return naming(std::move(sockets.error()));
  processes::ProgramStart start{.program = program, .arguments = {library.string()}};
  for (const auto& [name, value] : planned.options) start.arguments.push_back(name + "=" + value);
  // What it prints is no part of the flow's results, and the token is none of its business.
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nowhere) return naming(fail_errno("opening /dev/null").error());
  start.descriptors = {{.from = nowhere.get(), .as = STDOUT_FILENO},
                       {.from = nowhere.get(), .as = STDERR_FILENO},
                       {.from = sockets->second.get(), .as = socket_there}};
  start.environment = processes::environment_with({"ORCHID_TOKEN"});
  start.group = processes::ProcessGroup::own;  // Ctrl-C is ours
  start.dies_with_us = true;
  auto process = processes::ChildProcess::start(start);
  if (!process) return naming(std::move(process.error()));
  sockets->second.reset();
  auto optimiser =
      std::make_unique<LibraryOptimiser>(std::move(*process), std::move(sockets->first));
  if (auto ready = optimiser->await_ready(); !ready) return naming(std::move(ready.error()));
  return std::unique_ptr<Optimiser>(std::move(optimiser));
}

}  // namespace orchid::flow
