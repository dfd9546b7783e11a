#include "flows/flow_process.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/sockets.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t most_asked = 1024;
/// Beyond what a request itself waits for. A document with many functions is checked meanwhile.
constexpr std::chrono::seconds longest_answer{60};
constexpr int packets_at_once = 64;

Result<std::string> content_of(const std::vector<UniqueFd>& descriptors) {
  if (descriptors.size() != 1)
    return fail(ErrorCode::bad_request, "an answer came without its content");
  auto file = MappedFile::map(descriptors[0].get(), {.limit = largest_flow_answer});
  if (!file) return fail(std::move(file.error()));
  return std::string(as_text(file->bytes()));
}

/// Gives a socket the name `path`, which is gone at once, so that nobody else connects to it. curl
/// uses a connection again only when the other end has a name.
Result<void> name_socket(int socket, const std::filesystem::path& path) {
  auto fitted = fit_socket_path(path);
  if (!fitted) return fail(std::move(fitted.error()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, fitted->path.data(), fitted->path.size());
  ::unlink(path.c_str());
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail_errno("bind " + path.string());
  ::unlink(path.c_str());
  return {};
}

}  // namespace

FlowProcess::FlowProcess(boost::asio::io_context& control, const Clock& clock, Options options,
                         TakeFlowConnection take)
    : io_(control),
      clock_(clock),
      options_(std::move(options)),
      take_(std::move(take)),
      socket_(control),
      process_(control, {.name = "flows",
                         .program = options_.program,
                         .arguments = options_.arguments,
                         .connect = [this] { return connect(); }}) {}

void FlowProcess::stop() {
  process_.stop();
  boost::system::error_code ignored;
  socket_.close(ignored);
  fail_all("the gateway is stopping", /*also_waiting=*/true);
}

Result<UniqueFd> FlowProcess::connect() {
  auto pair = make_packet_pair();
  if (!pair) return fail(std::move(pair.error()));
  lose("its process has ended");
  socket_.assign(pair->first.release());
  wait_for_packets();
  send_waiting();
  return std::move(pair->second);
}

void FlowProcess::wait_for_packets() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                       if (!error && !alive.expired()) receive();
                     });
}

/// A few, since other things wait for this thread, too.
void FlowProcess::receive() {
  for (int i = 0; i < packets_at_once; ++i) {
    auto packet = receive_packet(socket_.native_handle(), /*wait=*/false);
    if (!packet) return lose(packet.error().message);
    if (!*packet) break;
    if (auto handled = handle(std::move(**packet)); !handled) return lose(handled.error().message);
  }
  wait_for_packets();
}

Result<void> FlowProcess::handle(Packet packet) {
  auto message = parse_flow_message(packet.text);
  if (!message) return fail(std::move(message.error()));
  if (std::holds_alternative<FlowDial>(*message)) return give_connection();
  if (auto* answer = std::get_if<FlowAnswer>(&*message))
    return take_answer(std::move(*answer), std::move(packet.descriptors));
  return fail(ErrorCode::bad_request, "it sent what only a gateway sends");
}

Result<void> FlowProcess::take_answer(FlowAnswer answer, std::vector<UniqueFd> descriptors) {
  const auto found = asked_.find(answer.number);
  if (found == asked_.end()) return {};  // it was given up
  FlowReply reply{.answer = std::move(answer), .content = {}};
  if (!reply.answer.failure && reply.answer.content != FlowContent::nothing) {
    auto content = content_of(descriptors);
    if (!content) return fail(std::move(content.error()));
    reply.content = std::move(*content);
  }
  auto done = std::move(found->second.done);
  asked_.erase(found);
  done(std::move(reply));
  return {};
}

/// Made here, so that the process has no descriptor of our end, whose flags it could change.
Result<void> FlowProcess::give_connection() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  // Without a name, on a full disk, say, each call makes a connection of its own.
  if (auto named = name_socket(ours.get(), options_.folder / "connection"); !named)
    log::warn("event=connection_without_name reason=\"{}\"", named.error().message);
  auto sent = send_packet(socket_.native_handle(), encode(FlowConnection{}), {theirs.get()});
  if (!sent) return sent;
  take_(std::move(ours), options_.tenant);
  return {};
}

void FlowProcess::ask(FlowRequest request, const std::vector<std::byte>& content,
                      FlowReplied done) {
  if (asked_.size() >= most_asked)
    return done(fail(ErrorCode::no_capacity,
                     "too many requests about flows wait for an answer: try again later"));
  request.number = next_++;
  Asked asked{.packet = encode(request),
              .content = {},
              .done = std::move(done),
              .give_up = clock_.now() + request.wait + longest_answer};
  if (!content.empty()) {
    auto file = make_sealed_memory("flow", content);
    if (!file) return asked.done(fail(std::move(file.error())));
    asked.content = std::move(*file);
  }
  asked_.emplace(request.number, std::move(asked));
  send_waiting();
}

/// What does not fit into the socket waits for the next look.
void FlowProcess::send_waiting() {
  if (!socket_.is_open()) return;
  for (auto& [number, asked] : asked_) {
    if (asked.is_sent) continue;
    std::vector<int> descriptors;
    if (asked.content) descriptors.push_back(asked.content.get());
    if (!send_packet(socket_.native_handle(), asked.packet, descriptors)) return;
    asked.is_sent = true;
    asked.content.reset();
  }
}

void FlowProcess::tick() {
  send_waiting();
  const MonotonicTime now = clock_.now();
  for (auto at = asked_.begin(); at != asked_.end();) {
    if (now < at->second.give_up) {
      ++at;
      continue;
    }
    auto done = std::move(at->second.done);
    at = asked_.erase(at);
    done(fail(ErrorCode::unreachable,
              "the process that runs your flows does not answer: try again "
              "later"));
  }
}

/// By its end of the socket the process knows that it is to end.
void FlowProcess::lose(const std::string& why) {
  if (!socket_.is_open()) return;
  log::warn("event=flows_connection_lost tenant={} reason=\"{}\"", options_.tenant.name, why);
  boost::system::error_code ignored;
  socket_.close(ignored);
  fail_all("the process that runs your flows has ended, and is started again: ask again",
           /*also_waiting=*/false);
}

void FlowProcess::fail_all(const std::string& why, bool also_waiting) {
  std::vector<FlowReplied> lost;
  for (auto at = asked_.begin(); at != asked_.end();) {
    if (!at->second.is_sent && !also_waiting) {
      ++at;
      continue;
    }
    lost.push_back(std::move(at->second.done));
    at = asked_.erase(at);
  }
  for (FlowReplied& done : lost) done(fail(ErrorCode::unreachable, why));
}

}  // namespace orchid::gateway
