#include "clusters/capacity_source.h"

#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "foundation/log.h"
#include "foundation/pipe.h"
#include "processes/child_process.h"

namespace orchid::gateway {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

/// Its operations keep it alive after it is over; they end with its descriptors.
struct CapacitySource::Run {
  Run(boost::asio::io_context& io, ClusterState& state, processes::ChildProcess started)
      : process(std::move(started)), to(io), from(io), silence(io), conversation(state) {}
  void close() {
    error_code ignored;
    to.close(ignored);
    from.close(ignored);
    silence.cancel();
    process.reset();
  }
  std::optional<processes::ChildProcess> process;
  stream_descriptor to;
  stream_descriptor from;
  boost::asio::steady_timer silence;
  SourceConversation conversation;
  std::string received;
  std::string to_write;  // one command at a time; sources are told few
};

CapacitySource::CapacitySource(boost::asio::io_context& control, const Clock& clock,
                               Options options, std::function<void(const TouchedNodes&)> changed)
    : control_(control),
      clock_(clock),
      options_(std::move(options)),
      changed_(std::move(changed)),
      timer_(control) {
  state_.source = options_.name;
}

CapacitySource::~CapacitySource() { stop(); }

void CapacitySource::start() {
  wanted_ = true;
  launch();
}

void CapacitySource::stop() {
  wanted_ = false;
  timer_.cancel();
  if (const auto run = std::exchange(run_, nullptr)) run->close();
  state_.running = false;
}

void CapacitySource::launch() {
  auto commands = make_pipe();
  auto lines = make_pipe();
  Result<processes::ChildProcess> started = fail(ErrorCode::system, "no pipe can be made");
  if (commands && lines) {
    started = processes::ChildProcess::start(
        {.program = options_.program,
         .arguments = options_.arguments,
         .descriptors = {{.from = commands->reader.get(), .as = STDIN_FILENO},
                         {.from = lines->writer.get(), .as = STDOUT_FILENO}},
         .group = processes::ProcessGroup::own});
  }
  if (!started) {
    state_.trouble = started.error().message;
    log::error("event=source_not_started source={} reason=\"{}\"", options_.name, state_.trouble);
    return launch_after(restarts_.ended(clock_.now()).value());
  }
  log::info("event=source_started source={} process={}", options_.name, started->pid());
  ++state_.starts;
  state_.running = true;
  state_.heard = clock_.now();
  run_ = std::make_shared<Run>(control_, state_, std::move(*started));
  run_->to.assign(commands->writer.release());
  run_->from.assign(lines->reader.release());
  watch(run_);
  read_line(run_);
}

void CapacitySource::read_line(const std::shared_ptr<Run>& run) {
  boost::asio::async_read_until(
      run->from, boost::asio::dynamic_buffer(run->received, longest_source_line + 1), '\n',
      [this, run](error_code error, std::size_t length) {
        if (error == boost::asio::error::operation_aborted || !run->process) return;
        if (error)
          return ended(run, error == boost::asio::error::not_found
                                ? "a line of it is longer than 4 MiB"
                                : "it ended");
        const std::string line = run->received.substr(0, length - 1);
        run->received.erase(0, length);
        take_line(run, line);
      });
}

void CapacitySource::take_line(const std::shared_ptr<Run>& run, std::string_view line) {
  auto heard = run->conversation.line(line, clock_.now());
  if (!heard) return ended(run, heard.error().message);
  if (state_.report.is_current) restarts_.runs_well();
  if (heard->answer) answer(run, *heard->answer);
  if (heard->inventory_changed) changed_(state_.inventory.touched());
  if (run->process) read_line(run);
}

/// A pipe holds 64 KiB, a command some 40 bytes: who does not read them is silent soon.
void CapacitySource::answer(const std::shared_ptr<Run>& run, const SourceCommand& command) {
  if (!run->to_write.empty()) return;  // it has not read the last one; it will be asked again
  run->to_write = encode(command) + "\n";
  boost::asio::async_write(run->to, boost::asio::buffer(run->to_write),
                           [run](error_code, std::size_t) { run->to_write.clear(); });
}

void CapacitySource::watch(const std::shared_ptr<Run>& run) {
  run->silence.expires_at(state_.heard + silent_after);
  run->silence.async_wait([this, run](error_code error) {
    if (error || !run->process) return;
    if (clock_.now() - state_.heard < silent_after) return watch(run);
    ended(run, "it has said nothing for 30 s");
  });
}

void CapacitySource::ended(const std::shared_ptr<Run>& run, const std::string& why) {
  run->close();
  run_.reset();
  state_.running = false;
  // Its last words are better than that it ended.
  if (why != "it ended" || state_.trouble.empty()) state_.trouble = why;
  state_.report.is_current = false;
  const auto pause = restarts_.ended(clock_.now()).value();
  log::warn("event=source_lost source={} again_in_s={} reason=\"{}\"", options_.name,
            std::chrono::duration_cast<std::chrono::seconds>(pause).count(), state_.trouble);
  launch_after(pause);
}

void CapacitySource::launch_after(std::chrono::milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](error_code error) {
    if (!error && wanted_) launch();
  });
}

}  // namespace orchid::gateway
