#include "memory/memory_core.h"

#include <algorithm>
#include <utility>

#include "fabric/ucx_context.h"
#include "foundation/log.h"
#include "foundation/tcp.h"
#include "http/problem.h"

namespace orchid::sdk {
namespace {

using Clock = std::chrono::steady_clock;
using lane_client::MemoryClient;

/// Whoever used the memory before has left, and its process gives way to another one.
constexpr std::chrono::milliseconds connect_again{100};
constexpr std::chrono::milliseconds renew_again{1'000};

WaitMode mode_of(Wait wait) {
  return wait == Wait::hot        ? WaitMode::hot
         : wait == Wait::blocking ? WaitMode::blocking
                                  : WaitMode::adaptive;
}

Result<transport::UcxMemoryClient> try_to_connect(const MemoryGrant& grant,
                                                  Clock::time_point deadline) {
  const auto key = transport::parse_connection_key(grant.key);
  if (!key)
    return fail(ErrorCode::unsupported,
                "the lease was made before the gateway started anew, and its key is not known any "
                "more: only who is connected can use it");
  auto context = shared_ucx_context(transport::Fabric::tcp, local_host_towards(grant.address));
  if (!context) return fail(std::move(context.error()));
  return transport::UcxMemoryClient::connect(**context, {.address = grant.address,
                                                         .key = *key,
                                                         .bytes = ByteCount{grant.bytes},
                                                         .deadline = deadline});
}

}  // namespace

Error memory_error(const Failure& why, const std::string& host) {
  const ErrorKind kind = kind_of(why.code);
  return Error({.kind = kind, .message = why.message, .hint = hint_for(kind), .node = host});
}

std::shared_ptr<MemoryCore> MemoryCore::connect(std::shared_ptr<Session> session, MemoryGrant grant,
                                                const MemoryOptions& options, Keeps keeps) {
  const auto deadline = Clock::now() + options.within;
  auto connection = try_to_connect(grant, deadline);
  while (!connection && connection.error().code == ErrorCode::unreachable &&
         Clock::now() + connect_again < deadline) {
    std::this_thread::sleep_for(connect_again);
    grant = renew_memory(*session, grant.id, options.duration);
    connection = try_to_connect(grant, deadline);
  }
  if (!connection)
    throw memory_error(std::move(connection.error())
                           .while_doing("connecting to the memory on host " + grant.node +
                                        ", which one program uses at a time"),
                       grant.node);
  auto client = MemoryClient::create(
      std::move(*connection),
      {.host = grant.node, .patience = options.patience, .wait = mode_of(options.wait)});
  if (!client) throw memory_error(client.error(), grant.node);
  std::shared_ptr<MemoryCore> core(
      new MemoryCore(std::move(session), grant.id, options, std::move(*client), keeps));
  if (keeps == Keeps::the_lease) core->keeper_ = std::thread([self = core.get()] { self->keep(); });
  return core;
}

MemoryCore::MemoryCore(std::shared_ptr<Session> session, std::string id,
                       const MemoryOptions& options, std::unique_ptr<MemoryClient> client,
                       Keeps keeps)
    : session_(std::move(session)),
      id_(std::move(id)),
      duration_(options.duration),
      client_(std::move(client)),
      kept_(keeps == Keeps::the_lease) {}

MemoryCore::~MemoryCore() {
  const bool is_ours = [&] {
    const std::lock_guard lock(mutex_);
    return kept_;
  }();
  stop_keeping();
  try {
    if (is_ours) release_memory(*session_, id_);
  } catch (const Error& error) {
    log::info("event=memory_not_released lease={} reason=\"{}\"", id_, error.message());
  }
}

void MemoryCore::stop_keeping() {
  {
    const std::lock_guard lock(mutex_);
    kept_ = false;
  }
  changed_.notify_all();
  if (keeper_.joinable()) keeper_.join();
}

void MemoryCore::release() {
  client_->end({ErrorCode::lease_ended, "the lease of the memory was released"});
  stop_keeping();
  try {
    release_memory(*session_, id_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
  }
}

void MemoryCore::keep() {
  auto good_until = Clock::now() + duration_;
  auto next = Clock::now() + duration_ / 3;
  std::unique_lock lock(mutex_);
  while (kept_) {
    if (changed_.wait_until(lock, next, [this] { return !kept_; })) return;
    lock.unlock();
    const auto before = good_until;
    renew_once(good_until);
    const bool renewed = good_until != before;
    next = Clock::now() + (renewed ? duration_ / 3 : std::min(renew_again, duration_ / 3));
    lock.lock();
    if (client_->ended()) kept_ = false;
  }
}

void MemoryCore::renew_once(Clock::time_point& good_until) {
  const auto asked = Clock::now();
  try {
    (void)renew_memory(*session_, id_, duration_);
    good_until = asked + duration_;
  } catch (const Error& error) {
    // A gateway that has just started does not know it until its executor has come back. A lease
    // that has really ended ends the connection.
    if (Clock::now() > good_until)
      client_->end({ErrorCode::lease_ended,
                    error.kind() == ErrorKind::not_found
                        ? "the lease of the memory has ended: it was released, has expired, or "
                          "its host was taken back"
                        : "the lease of the memory could not be renewed in time"});
  }
}

}  // namespace orchid::sdk
