#include "depots/depot.h"

#include <signal.h>

#include <utility>
#include <variant>
#include <vector>

#include "foundation/duplicate.h"
#include "foundation/log.h"

namespace orchid::executor {
namespace {

/// For a process that has room for none of it: an answer and an introduction for each worker.
constexpr std::size_t most_waiting = 16'384;
/// A worker asks one thing at a time. What it has asked a depot that has ended, it may have been
/// answered, and ask for the next thing while this depot repeats the last one.
constexpr std::size_t most_open_of_worker = 2;

}  // namespace

Depot::Depot(boost::asio::io_context& io, ChildWatch& children, const Options& options,
             LeaseTenant tenant, Handlers handlers)
    : io_(io),
      children_(children),
      options_(options),
      tenant_(std::move(tenant)),
      handlers_(std::move(handlers)),
      pause_(io),
      start_limit_(io),
      idle_limit_(io) {}

Depot::~Depot() {
  if (pid_ <= 0) return;
  children_.forget(pid_);
  ::kill(pid_, SIGKILL);
}

void Depot::serve(std::uint64_t worker, UniqueFd socket) {
  const auto [served, is_new] =
      workers_.insert_or_assign(worker, Served{.socket = std::move(socket)});
  need();
  if (ready_) hand_over(served->first, served->second);
}

void Depot::leave(std::uint64_t worker) {
  if (workers_.erase(worker) != 0) need_no_more();
}

void Depot::begin_business() {
  ++business_;
  need();
}

void Depot::end_business() {
  --business_;
  need_no_more();
}

void Depot::need() {
  idle_limit_.end();
  // One that is being ended for want of work is followed by another when it has been reaped; one
  // that ended by itself, after a pause.
  if (pid_ < 0 && !stopped_ && failures_.ends() == 0) start();
}

void Depot::need_no_more() {
  if (is_needed() || stopped_) return;
  idle_limit_.begin(options_.idle_for, [this] {
    if (pid_ < 0) {  // it waits for its restart
      pause_.end();
      const auto over = handlers_.over;
      return over();
    }
    put_down_ = true;
    kill();
  });
}

void Depot::stop() {
  stopped_ = true;
  pause_.end();
  idle_limit_.end();
  kill();
}

void Depot::start() {
  auto started = start_child(options_.program, {"--serve", "3"},
                             {.scheduling = options_.scheduling, .environment = {}});
  if (!started) {
    log::error("event=depot_not_started tenant={} reason=\"{}\"", tenant_.uid,
               started.error().message);
    return start_later();
  }
  put_down_ = false;
  is_greedy_ = false;
  pid_ = started->process.release();  // reaped by the watch
  children_.watch(pid_, [this](const ChildEvent& event) { happened(event); });
  channel_ = std::make_unique<PacketChannel>(
      io_, std::move(started->control),
      PacketChannel::Handlers{[this](Packet& packet) { from_depot(packet); }, [] {}});
  start_limit_.begin(options_.start_limit, [this] { kill(); });
  log::info("event=depot_started tenant={} pid={}", tenant_.uid, pid_);
  send(DepotStart{.tenant = tenant_, .data_limit = options_.data_limit});
}

void Depot::start_later() {
  pause_.begin(failures_.ended(std::chrono::steady_clock::now()).value(), [this] { start(); });
}

void Depot::happened(const ChildEvent& event) {
  if (event.kind == ChildEvent::Kind::stopped) return kill();
  start_limit_.end();
  pid_ = -1;
  ready_ = false;
  // What it has asked before its end is asked again by the next one.
  channel_.reset();
  waiting_.clear();
  for (auto& [id, worker] : workers_) {
    worker.before |= std::exchange(worker.told, false);
    worker.open.clear();
  }
  if (stopped_) return;
  if (!put_down_) log::warn("event=depot_lost tenant={} what=\"{}\"", tenant_.uid, describe(event));
  if (put_down_ && !is_needed()) {
    const auto over = handlers_.over;
    return over();
  }
  if (put_down_)
    start();
  else
    start_later();
}

void Depot::from_depot(Packet& packet) {
  auto message = parse_depot_message(packet.text);
  if (message && !packet.descriptors.empty())
    message = fail(ErrorCode::bad_request, "a depot sends no descriptors");
  if (!message) {
    log::error("event=bad_message from=depot reason=\"{}\"", message.error().message);
    return kill();
  }
  if (std::holds_alternative<DepotReady>(*message)) {
    start_limit_.end();
    ready_ = true;
    for (auto& [id, worker] : workers_) hand_over(id, worker);
  } else if (const auto* asked = std::get_if<DepotAsked>(&*message)) {
    failures_.runs_well();
    take_request(*asked);
  } else if (const auto* nonsense = std::get_if<DepotNonsense>(&*message)) {
    if (workers_.contains(nonsense->worker)) handlers_.nonsense(nonsense->worker);
  } else if (const auto* unserved = std::get_if<DepotUnserved>(&*message)) {
    if (workers_.contains(unserved->worker)) handlers_.unserved(unserved->worker);
  }
}

/// What a depot may ask for is bounded: it reads what user code sends.
void Depot::take_request(const DepotAsked& asked) {
  const auto worker = workers_.find(asked.worker);
  if (worker == workers_.end()) return;
  std::set<std::uint32_t>& open = worker->second.open;
  const std::uint32_t sequence = asked.request.sequence;
  if (open.contains(sequence)) return;  // its answer is on the way
  if (open.size() >= most_open_of_worker) {
    if (!std::exchange(is_greedy_, true))
      log::warn("event=depot_asks_too_much tenant={} worker={}", tenant_.uid, asked.worker);
    return send(DepotAnswer{asked.worker,
                            {.verdict = ServiceVerdict::refused,
                             .sequence = sequence,
                             .code = ErrorCode::quota,
                             .message = "a worker asks one thing at a time: wait for the answer "
                                        "before you ask for the next one"}});
  }
  open.insert(sequence);
  handlers_.asked(asked);
}

void Depot::hand_over(std::uint64_t id, Served& worker) {
  send(DepotServe{.worker = id, .again = worker.before}, worker.socket.get());
  worker.told = true;
}

void Depot::answer(const DepotAnswer& answer, int descriptor) {
  const auto worker = workers_.find(answer.worker);
  if (!ready_ || worker == workers_.end()) return;
  worker->second.open.erase(answer.answer.sequence);
  send(answer, descriptor);
}

/// In order. A socket has room for a few hundred packets: with many workers that is not enough for
/// all at once.
void Depot::send(const DepotMessage& message, int descriptor) {
  if (!channel_) return;
  Waiting one{.text = encode(message), .descriptor = {}};
  if (descriptor >= 0) {
    auto copy = duplicate(descriptor);
    if (!copy) return kill();  // none is left; what it has asked is asked again
    one.descriptor = std::move(*copy);
  }
  if (waiting_.size() >= most_waiting) {
    log::error("event=depot_reads_nothing tenant={} waiting={}", tenant_.uid, waiting_.size());
    return kill();
  }
  waiting_.push_back(std::move(one));
  if (waiting_.size() == 1) send_waiting();
}

/// One that has ended is noticed elsewhere; one that reads nothing hangs.
void Depot::send_waiting() {
  while (!waiting_.empty()) {
    const Waiting& next = waiting_.front();
    const std::vector<int> with =
        next.descriptor ? std::vector{next.descriptor.get()} : std::vector<int>{};
    if (!channel_->send(next.text, with))
      return channel_->when_writable([this] { send_waiting(); });
    waiting_.pop_front();
  }
}

void Depot::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

}  // namespace orchid::executor
