#include "raw_ucx.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "foundation/unique_fd.h"
#include "harness/machine.h"

namespace orchid::bench {
namespace {

constexpr unsigned message_id = 1;

bool write_all(int fd, const void* data, std::size_t size) {
  return ::write(fd, data, size) == static_cast<ssize_t>(size);
}
bool read_all(int fd, void* data, std::size_t size) {
  return ::recv(fd, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

const Failure too_large{ErrorCode::internal, "Options::largest is smaller than the message"};

Failure ucx_failure(const char* step, ucs_status_t status) {
  return {ErrorCode::system, std::string(step) + ": " + ucs_status_string(status)};
}

}  // namespace

/// Either end. Everything runs on the thread that calls it.
class RawUcxEcho::Peer {
 public:
  ~Peer() {
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  Result<void> open(const Options& options, int exchange) {
    ucp_config_t* config = nullptr;
    if (auto s = ucp_config_read(nullptr, nullptr, &config); s != UCS_OK)
      return fail(ucx_failure("ucp_config_read", s));
    ucp_config_modify(config, "TLS", options.transports.c_str());
    if (!options.devices.empty()) ucp_config_modify(config, "NET_DEVICES", options.devices.c_str());
    sleeps_ = options.sleeps;
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
    parameters.features = UCP_FEATURE_AM | (sleeps_ ? UCP_FEATURE_WAKEUP : 0);
    const auto status = ucp_init(&parameters, config, &context_);
    ucp_config_release(config);
    if (status != UCS_OK) return fail(ucx_failure("ucp_init", status));
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    if (auto s = ucp_worker_create(context_, &worker, &worker_); s != UCS_OK)
      return fail(ucx_failure("ucp_worker_create", s));
    if (sleeps_)
      if (auto s = ucp_worker_get_efd(worker_, &wake_descriptor_); s != UCS_OK)
        return fail(ucx_failure("ucp_worker_get_efd", s));
    received_.resize(options.largest);
    sent_.assign(options.largest, std::byte{1});
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = message_id;
    handler.cb = on_message;
    handler.arg = this;
    if (auto s = ucp_worker_set_am_recv_handler(worker_, &handler); s != UCS_OK)
      return fail(ucx_failure("am handler", s));
    return connect(exchange);
  }

  Result<void> send(std::span<const std::byte> data) {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    const ucs_status_ptr_t request =
        ucp_am_send_nbx(endpoint_, message_id, nullptr, 0, data.data(), data.size(), &parameters);
    return finish(request);
  }

  /// Spins or sleeps until a message has come; its bytes are in received().
  Result<void> await_message() {
    while (arrived_ == 0) {
      if (ucp_worker_progress(worker_) != 0 || !sleeps_ || arrived_ != 0) continue;
      if (ucp_worker_arm(worker_) != UCS_OK) continue;
      pollfd entry{.fd = wake_descriptor_, .events = POLLIN, .revents = 0};
      ::poll(&entry, 1, -1);
    }
    --arrived_;
    if (rendezvous_ == nullptr) return {};
    ucp_request_param_t parameters{};
    return finish(ucp_am_recv_data_nbx(worker_, std::exchange(rendezvous_, nullptr),
                                       received_.data(), length_, &parameters));
  }
  /// How many messages have come since the last time; looks once.
  int take_arrived() {
    ucp_worker_progress(worker_);
    return std::exchange(arrived_, 0);
  }
  [[nodiscard]] std::span<const std::byte> received() const {
    return std::span(received_).first(length_);
  }
  [[nodiscard]] std::size_t largest() const { return sent_.size(); }
  [[nodiscard]] std::span<const std::byte> sample(std::size_t size) const {
    return std::span(sent_).first(size);
  }

 private:
  Result<void> connect(int exchange) {
    ucp_address_t* address = nullptr;
    std::size_t size = 0;
    if (auto s = ucp_worker_get_address(worker_, &address, &size); s != UCS_OK)
      return fail(ucx_failure("address", s));
    bool ok = write_all(exchange, &size, sizeof(size)) && write_all(exchange, address, size);
    ucp_worker_release_address(worker_, address);
    std::size_t other_size = 0;
    ok = ok && read_all(exchange, &other_size, sizeof(other_size));
    std::vector<std::byte> other(ok ? other_size : 0);
    if (!ok || !read_all(exchange, other.data(), other.size()))
      return fail(ErrorCode::unreachable, "the UCX addresses were not exchanged");
    ucp_ep_params_t endpoint{};
    endpoint.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    endpoint.address = reinterpret_cast<const ucp_address_t*>(other.data());
    if (auto s = ucp_ep_create(worker_, &endpoint, &endpoint_); s != UCS_OK)
      return fail(ucx_failure("ucp_ep_create", s));
    return {};
  }

  Result<void> finish(ucs_status_ptr_t request) {
    if (request == nullptr) return {};
    if (UCS_PTR_IS_ERR(request))
      return fail(ucx_failure("active message", UCS_PTR_STATUS(request)));
    ucs_status_t status = UCS_INPROGRESS;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
      ucp_worker_progress(worker_);
    ucp_request_free(request);
    if (status != UCS_OK) return fail(ucx_failure("active message", status));
    return {};
  }

  static ucs_status_t on_message(void* self, const void*, std::size_t, void* data,
                                 std::size_t length, const ucp_am_recv_param_t* parameters) {
    auto& peer = *static_cast<Peer*>(self);
    peer.length_ = length;
    ++peer.arrived_;
    if ((parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      peer.rendezvous_ = data;
      return UCS_INPROGRESS;
    }
    std::memcpy(peer.received_.data(), data, length);
    return UCS_OK;
  }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::vector<std::byte> received_;
  std::vector<std::byte> sent_;
  std::size_t length_ = 0;
  int arrived_ = 0;
  void* rendezvous_ = nullptr;
  bool sleeps_ = false;
  int wake_descriptor_ = -1;
};

RawUcxEcho::RawUcxEcho(std::unique_ptr<Peer> peer, pid_t server)
    : peer_(std::move(peer)), server_(server) {}
RawUcxEcho::RawUcxEcho(RawUcxEcho&& other) noexcept
    : peer_(std::move(other.peer_)), server_(std::exchange(other.server_, -1)) {}

RawUcxEcho::~RawUcxEcho() {
  if (server_ <= 0) return;
  ::kill(server_, SIGKILL);
  ::waitpid(server_, nullptr, 0);
}

Result<RawUcxEcho> RawUcxEcho::start(const Options& options) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t server = ::fork();
  if (server < 0) return fail_errno("fork");
  if (server == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (options.server_core >= 0) (void)pin_this_thread(options.server_core);
    if (options.server_namespace >= 0 &&
        ::setns(options.server_namespace, CLONE_NEWNET | CLONE_NEWNS) != 0)
      ::_exit(1);
    Peer peer;
    if (!peer.open(options, theirs.get())) ::_exit(1);
    while (peer.await_message() && peer.send(options.one_way ? peer.sample(1) : peer.received())) {
    }
    ::_exit(1);
  }
  auto peer = std::make_unique<Peer>();
  auto opened = peer->open(options, ours.get());
  RawUcxEcho echo(std::move(peer), server);
  if (!opened) return fail(std::move(opened.error()));
  return echo;
}

Result<void> RawUcxEcho::stream(int count, std::size_t window, std::size_t size) {
  std::size_t unanswered = 0;
  if (size > peer_->largest()) return fail(too_large);
  for (int sent = 0, answered = 0; answered < count;) {
    while (sent < count && unanswered < window) {
      if (auto done = peer_->send(peer_->sample(size)); !done) return done;
      ++sent;
      ++unanswered;
    }
    const int arrived = peer_->take_arrived();
    answered += arrived;
    unanswered -= static_cast<std::size_t>(arrived);
  }
  return {};
}

Result<void> RawUcxEcho::round_trip(std::size_t size) {
  if (size > peer_->largest()) return fail(too_large);
  if (auto sent = peer_->send(peer_->sample(size)); !sent) return sent;
  return peer_->await_message();
}

}  // namespace orchid::bench
