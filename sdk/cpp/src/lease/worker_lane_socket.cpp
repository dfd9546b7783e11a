// The conversation with the executor: how a worker comes and loads modules.
#include <algorithm>
#include <chrono>
#include <variant>

#include "foundation/host_addresses.h"
#include "http/problem.h"
#include "lane_client/executor_message.h"
#include "lane_client/policy.h"
#include "lease/lane_stream.h"
#include "lease/lease_threads.h"
#include "lease/open_lane.h"
#include "lease/worker_lane.h"

namespace orchid::sdk {
void WorkerLane::open() {
  const std::string_view lane = board_.options().lane;
  const auto kind = choose_lane(worker_, lane, own_boot_id());
  if (!kind) return die(kind.error());
  kind_ = *kind;
  tcp_only_ = lane == "tcp";
  if (kind_ == LaneKind::ucx) return connect_remote();
  auto socket = LaneSocket::claim_local(worker_, claim_protocol());
  if (socket) return use_socket(std::move(*socket));
  // A container of this host has the same boot id, and its files elsewhere.
  if (lane != "auto" || worker_.lane_address.empty()) return die(socket.error());
  kind_ = LaneKind::ucx;
  connect_remote();
}

void WorkerLane::use_socket(LaneSocket socket) {
  socket_ = std::move(socket);
  if (const auto threads = board_.threads())
    socket_watch_ = threads->lanes.watch(
        socket_->descriptor(), board_.weak_from_this(), *this,
        socket_->is_remote() ? LaneThread::Events::both : LaneThread::Events::readable);
}

void WorkerLane::connect_remote() {
  const auto threads = board_.threads();
  if (threads == nullptr) return;
  threads->connector.post(
      [weak = board_.weak_from_this(), lane = this, worker = worker_, protocol = claim_protocol()] {
        if (const auto core = weak.lock(); core == nullptr || core->ended()) return;
        auto socket = LaneSocket::claim_remote(worker, protocol, lane_deadline());
        if (const auto core = weak.lock()) lane->arrive(std::move(socket));
      });
}

void WorkerLane::tell(const LaneMessage& message, const std::vector<int>& descriptors) {
  // A socket that is full or closed becomes readable soon; there we learn of it.
  if (socket_) (void)socket_->send(encode(message), descriptors);
}

void WorkerLane::read_socket() {
  while (socket_) {
    auto packet = socket_->receive();
    if (!packet) return die(packet.error());
    if (!*packet) return;
    auto message = lane_client::parse_executor_message((*packet)->text);
    if (!message) return die(message.error());
    std::visit([&](const auto& said) { hear(said, (*packet)->descriptors); }, *message);
  }
}

void WorkerLane::hear(const LaneRefused& message, Files& /*files*/) {
  board_.lane_refused(message);
  die({message.code, message.message});
}

void WorkerLane::hear(const LaneClaimed& message, Files& files) {
  number_ = message.worker;
  if (kind_ == LaneKind::ucx) return open_remote(message);
  auto opened = open_local_lane(message, std::move(files));
  if (!opened) return die(opened.error());
  use_lane(std::move(*opened), message.pid);
}

void WorkerLane::open_remote(const LaneClaimed& message) {
  conversation_.announced();
  opening_pid_ = message.pid;
  const auto threads = board_.threads();
  if (threads == nullptr) return;
  const auto fabric = tcp_only_ ? transport::Fabric::tcp : lane_client::fabric_of(message);
  threads->connector.post([weak = board_.weak_from_this(), lane = this, worker = worker_, message,
                           fabric, opening = ++opening_] {
    if (const auto core = weak.lock(); core == nullptr || core->ended()) return;
    auto opened = open_remote_lane(worker, message, fabric, lane_deadline());
    if (const auto core = weak.lock()) lane->arrive(opening, std::move(opened));
  });
}

void WorkerLane::use_lane(OpenedLane opened, std::int64_t pid) {
  detach();
  largest_input_.store(opened.largest_input);
  largest_output_.store(opened.largest_output);
  pid_.store(pid, std::memory_order_relaxed);
  end_ = std::make_shared<LaneEnd>(std::move(opened.client), opened.local);
  if (const auto threads = board_.threads())
    wake_watch_ = threads->lanes.watch(
        end_->client->wake_descriptor(), board_.weak_from_this(), *this,
        end_->local != nullptr ? LaneThread::Events::readable : LaneThread::Events::when_armed);
  conversation_.opened();
  open_seat();
  announce();
  board_.lane_changed();
}

void WorkerLane::arrive(Result<LaneSocket> socket) {
  {
    const std::lock_guard lock(arrivals_mutex_);
    arrived_socket_ = std::move(socket);
    arrived_.store(true, std::memory_order_release);
  }
  poke();
}

void WorkerLane::arrive(std::uint64_t opening, Result<OpenedLane> opened) {
  std::optional<Result<OpenedLane>> older;  // closed outside of the lock
  {
    const std::lock_guard lock(arrivals_mutex_);
    older.swap(arrived_lane_);
    arrived_lane_ = std::move(opened);
    arrived_opening_ = opening;
    arrived_.store(true, std::memory_order_release);
  }
  poke();
}

void WorkerLane::take_arrivals() {
  std::optional<Result<LaneSocket>> socket;
  std::optional<Result<OpenedLane>> opened;
  std::uint64_t opening = 0;
  {
    const std::lock_guard lock(arrivals_mutex_);
    arrived_.store(false, std::memory_order_relaxed);
    socket.swap(arrived_socket_);
    opened.swap(arrived_lane_);
    opening = arrived_opening_;
  }
  if (conversation_.phase() == LanePhase::dead) return;
  if (socket && !*socket) return die(socket->error());
  if (socket) use_socket(std::move(**socket));
  // That worker may have ended, and another one been announced.
  if (!opened || opening != opening_) return;
  if (*opened) return use_lane(std::move(**opened), opening_pid_);
  // It may have died meanwhile: then the next one comes.
  const Failure& why = opened->error();
  const auto step = conversation_.opening_failed(why, std::chrono::steady_clock::now());
  step == lane_client::Step::end ? die(why) : obey(step);
}

/// A load has the time of the calls that wait for it. One that none waits for, as when a program
/// asks for a function, has what the executor gives it.
void WorkerLane::tell_of(const LeaseCode& code) {
  auto until = board_.last_deadline_of(code);
  if (stream_ != nullptr && stream_->code.get() == &code)
    until = std::max(until.value_or(stream_->call.due), stream_->call.due);
  std::optional<std::chrono::milliseconds> left;
  if (until)
    left = std::max<std::chrono::milliseconds>(
        std::chrono::ceil<std::chrono::milliseconds>(*until - std::chrono::steady_clock::now()),
        lane_client::shortest_load);
  tell(LaneAnnounce{code.digest, left});
}

/// Tells the executor which modules will be called, and sends those it asked for.
void WorkerLane::announce() {
  if (!conversation_.is_ready()) return;
  codes_seen_ = board_.codes_version();
  const auto codes = board_.codes();
  usual_runs_.resize(codes.size());
  if (is_separate())
    announce_module();
  else
    for (const auto& code : codes)
      if (codes_.announce(code->number, code)) tell_of(*code);
  codes_.send_needed([&](const std::shared_ptr<LeaseCode>& code) {
    const int module = board_.module_of(code);
    if (module < 0) return false;  // comes by later
    tell(LaneCode{code->digest}, {module});
    return true;
  });
}

void WorkerLane::hear(const LaneNeedCode& message, Files& /*files*/) {
  if (codes_.needs(message.digest) != nullptr) announce();
}

void WorkerLane::hear(const LaneCompiling& message, Files& /*files*/) {
  if (const auto* code = codes_.find_loading(message.digest))
    set_compiling(code->module, !message.over);
}

void WorkerLane::set_compiling(const std::shared_ptr<LeaseCode>& code, bool waits) {
  const bool waited = std::erase(compiling_, code) > 0;
  if (waits) compiling_.push_back(code);
  if (waits != waited) board_.count_compiling(*code, waits);
}

/// The worker has it no more.
void WorkerLane::forget_code(const LeaseCode& code) {
  codes_.forget(code.number);
  const auto at = std::ranges::find(ready_, &code, &std::shared_ptr<LeaseCode>::get);
  if (at == ready_.end()) return;
  board_.count_ready(**at, false);
  ready_.erase(at);
}

void WorkerLane::hear(const LaneSlot& message, Files& /*files*/) {
  const auto code = codes_.loaded(message);
  if (!code) return;
  set_compiling(code->module, false);
  ready_.push_back(code->module);
  board_.count_ready(*code->module, true);
  if (is_separate()) board_.seat(*this, code->module.get());
  board_.code_loaded(*code->module, message.entries);
  if (stream_waits_for(*code->module)) begin_again(*stream_);
}

void WorkerLane::hear(const LaneRejected& message, Files& /*files*/) {
  const auto code = codes_.rejected(message.digest);
  if (!code) return;
  set_compiling(code->module, false);
  if (!board_.code_rejected(*code->module, message)) {
    codes_.refuse(code->number);
    give_up_module();
    if (stream_waits_for(*code->module)) begin_again(*stream_);
  } else if (message.code != ErrorCode::no_capacity) {
    announce();  // a worker that is being replaced announces with its replacement
  }
}

}  // namespace orchid::sdk
