#include "inspector/inspector.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include "foundation/duplicate.h"
#include "foundation/log.h"
#include "foundation/sockets.h"
#include "inspector/inspection_turns.h"

namespace orchid::gateway {
namespace {

constexpr unsigned most_attempts = 2;
constexpr std::chrono::milliseconds tick_interval{200};
constexpr int socket_number = 3;  // in the server

}  // namespace

Inspector::Inspector(boost::asio::io_context& control, const Clock& clock, Options options)
    : control_(control), clock_(clock), options_(std::move(options)), timer_(control) {}

Inspector::~Inspector() { end_server(); }

void Inspector::start() {
  owner_.adopt();
  launch();
  tick();
}

void Inspector::add_metrics(MetricsText& text) const {
  text.counter("orchid_inspector_restarts_total", "How often the module inspector was restarted.",
               restarts_);
}

void Inspector::stop() {
  stopped_ = true;
  timer_.cancel();
  end_server();
  sent_.clear();
  waiting_.clear();
}

/// Asio would throw where the kernel refuses it.
Result<boost::asio::posix::stream_descriptor> Inspector::watched(UniqueFd descriptor) {
  boost::asio::posix::stream_descriptor stream(control_);
  boost::system::error_code error;
  stream.assign(descriptor.get(), error);
  if (error) return fail(ErrorCode::system, "epoll_ctl: " + error.message());
  (void)descriptor.release();
  return stream;
}

Result<void> Inspector::start_server() {
  auto ends = make_packet_pair();
  if (!ends) return fail(std::move(ends.error()));
  auto process = processes::ChildProcess::start(
      {.program = options_.compiler,
       .arguments = {"--inspect-server", std::to_string(socket_number)},
       .descriptors = {{.from = ends->second.get(), .as = socket_number}},
       .group = processes::ProcessGroup::own});
  if (!process) return fail(std::move(process.error()));
  auto end = duplicate(process->descriptor());
  if (!end) return fail(std::move(end.error()));
  auto ended = watched(std::move(*end));
  if (!ended) return fail(std::move(ended.error()));
  auto socket = watched(std::move(ends->first));
  if (!socket) return fail(std::move(socket.error()));
  server_.emplace(Server{std::move(*process), std::move(*socket), std::move(*ended)});
  ++server_number_;
  return {};
}

void Inspector::launch() {
  auto started = start_server();
  if (!started) {
    start_again_ = clock_.now() + ends_.ended(clock_.now()).value();
    // Tried for as long as it takes, but said once a minute only.
    if (failed_starts_++ % 60 == 0)
      log::error("event=inspector_not_started reason=\"{}\"", started.error().message);
    return;
  }
  failed_starts_ = 0;
  log::info("event=inspector_started process={}", server_->process.pid());
  watch_socket();
  watch_process();
  send_waiting();
}

void Inspector::end_server() { server_.reset(); }

void Inspector::server_lost(const std::string& why) {
  log::warn("event=inspector_lost reason=\"{}\" requests={}", why, sent_.size());
  end_server();
  ++restarts_;
  // Those that were sent go first again, in their order.
  std::vector<Request> given_up;
  for (auto& [id, where] : std::views::reverse(sent_)) {
    if (where.attempts < most_attempts) {
      waiting_.push_front(std::move(where));
    } else {
      given_up.push_back(std::move(where));
    }
  }
  sent_.clear();
  const auto pause = ends_.ended(clock_.now()).value();
  start_again_ = clock_.now() + pause;
  if (pause.count() == 0) launch();
  for (const Request& request : given_up)
    request.done(fail(ErrorCode::unreachable,
                      "the module inspector did not answer (" + why + "): try again"));
}

void Inspector::watch_socket() {
  server_->socket.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this, number = server_number_](const boost::system::error_code& error) {
        if (error || stopped_ || !server_ || number != server_number_) return;
        receive();
      });
}

void Inspector::watch_process() {
  server_->end.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [this, number = server_number_](const boost::system::error_code& error) {
                            if (error || stopped_ || !server_ || number != server_number_) return;
                            server_lost("its process ended");
                          });
}

void Inspector::receive() {
  const std::uint64_t number = server_number_;
  while (server_ && number == server_number_) {
    auto packet = receive_packet(server_->socket.native_handle(), false);
    if (!packet) return server_lost(packet.error().message);
    if (!*packet) return watch_socket();
    auto message = parse_compiler_message((*packet)->text);
    if (!message) return server_lost(message.error().message);
    if (auto* manifest = std::get_if<InspectedManifest>(&*message)) {
      answered(manifest->id, module::parse_manifest(manifest->manifest));
    } else if (auto* rejected = std::get_if<InspectRejected>(&*message)) {
      answered(rejected->id, fail(rejected->code, std::move(rejected->message)));
    }
  }
}

void Inspector::answered(std::uint64_t id, Result<module::Manifest> result) {
  const auto found = sent_.find(id);
  if (found == sent_.end()) return;
  ends_.runs_well();
  Done done = std::move(found->second.done);
  sent_.erase(found);
  if (!result && result.error().code == ErrorCode::bad_request)
    result.error().code = ErrorCode::module_rejected;
  done(std::move(result));
  send_waiting();
}

void Inspector::inspect(uid_t tenant, std::shared_ptr<const UniqueFd> module, Done done) {
  owner_.assert_current();
  const auto wait = std::ranges::count(waiting_, tenant, &Request::tenant);
  if (static_cast<std::size_t>(wait) >= options_.most_waiting) {
    done(fail(ErrorCode::no_capacity, "too many modules wait for inspection: try again later"));
    return;
  }
  waiting_.push_back(
      {.tenant = tenant, .module = std::move(module), .done = std::move(done), .due = {}});
  // While there is no server, a request waits for the next one as long as it would wait for an
  // answer.
  waiting_.back().due = clock_.now() + options_.answer_within;
  send_waiting();
}

std::optional<Inspector::Request> Inspector::take_next() {
  std::vector<uid_t> waiting;
  std::vector<uid_t> running;
  for (const Request& request : waiting_) waiting.push_back(request.tenant);
  for (const auto& [id, request] : sent_) running.push_back(request.tenant);
  const auto next = next_inspection(waiting, running, options_.at_once_of_one);
  if (!next) return std::nullopt;
  const auto found = waiting_.begin() + static_cast<std::ptrdiff_t>(*next);
  Request request = std::move(*found);
  waiting_.erase(found);
  return request;
}

void Inspector::send_waiting() {
  while (server_ && sent_.size() < options_.at_once) {
    auto request = take_next();
    if (!request) return;
    ++request->attempts;
    request->due = clock_.now() + options_.answer_within;
    const std::uint64_t id = next_id_++;
    const int module = request->module->get();
    sent_.emplace(id, std::move(*request));
    if (auto sent = send_packet(server_->socket.native_handle(), encode(InspectRequest{.id = id}),
                                {module});
        !sent)
      return server_lost(sent.error().message);
  }
}

void Inspector::tick() {
  const MonotonicTime now = clock_.now();
  if (!server_ && now >= start_again_) launch();
  const bool late = std::ranges::any_of(sent_, [&](const auto& s) { return s.second.due <= now; });
  if (late) server_lost("no answer in time");
  while (!server_ && ends_.ends() > 0 && !waiting_.empty() && waiting_.front().due <= now) {
    const Done done = std::move(waiting_.front().done);
    waiting_.pop_front();
    done(fail(ErrorCode::unreachable,
              "orchid-compiler does not start: see the gateway's log, and try again"));
  }
  timer_.expires_after(tick_interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) tick();
  });
}

}  // namespace orchid::gateway
