#include "data/far_transfers.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "data/data_times.h"
#include "foundation/log.h"
#include "foundation/pipe.h"
#include "foundation/random.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t far_key_bytes = 16;

/// Far from the numbers of copies, which are found by theirs first.
FarTransfers::Number random_transfer_number() {
  std::array<std::byte, 6> bytes{};  // so that it never comes to its end
  fill_random(bytes);
  FarTransfers::Number number = 1;
  for (const std::byte byte : bytes) number = (number << 8U) | std::to_integer<unsigned>(byte);
  return number;
}

Result<void> make_non_blocking(const UniqueFd& descriptor) {
  const int flags = ::fcntl(descriptor.get(), F_GETFL);
  if (flags < 0 || ::fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK) != 0)
    return fail_errno("fcntl");
  return {};
}

/// Others connect there: only the port is the executor's to say now.
std::string address_of(const Executor& executor, const std::string& said) {
  const std::string& known = executor.lane_address;
  const auto port = said.rfind(':');
  if (port == std::string::npos) return {};
  return known.substr(0, known.rfind(':')) + said.substr(port);
}

}  // namespace

FarTransfers::FarTransfers(Parts parts, Options options)
    : parts_(std::move(parts)), options_(options), newest_(random_transfer_number()) {}

bool FarTransfers::reaches(const Executor& executor) const {
  return parts_.start && executor.state == ExecutorState::connected && executor.streams_data &&
         !executor.lane_address.empty();
}

FarTransfers::Number FarTransfers::send(FarData to, Handlers handlers) {
  Transfer transfer{.length = to.bytes.value, .handlers = std::move(handlers)};
  return want(std::move(to), std::move(transfer));
}

FarTransfers::Number FarTransfers::fetch(FarData from, std::uint64_t begin, std::uint64_t length,
                                         Handlers handlers) {
  return want(
      std::move(from),
      {.is_fetch = true, .begin = begin, .length = length, .handlers = std::move(handlers)});
}

FarTransfers::Number FarTransfers::want(FarData data, Transfer transfer) {
  const Number number = ++newest_;
  const auto waits = [&](bool of_tenant) {
    return static_cast<std::size_t>(std::ranges::count_if(transfers_, [&](const auto& entry) {
      return entry.second.state == State::waiting &&
             (!of_tenant || entry.second.data.tenant == data.tenant);
    }));
  };
  const bool is_full =
      waits(false) >= options_.most_waiting || waits(true) >= options_.most_waiting_of_tenant;
  transfer.data = std::move(data);
  transfer.due = parts_.loop.now() + options_.waits_for;
  transfers_.emplace(number, std::move(transfer));
  if (is_full) {
    post_over(number, {ErrorCode::no_capacity,
                       "too much data is on its way to and from other hosts: try again later"});
    return number;
  }
  parts_.loop.post([this](WorkerBroker& /*broker*/, MonotonicTime /*now*/) { ask_waiting(); });
  return number;
}

/// Not from within what its owner calls.
void FarTransfers::post_over(Number number, Failure why) {
  parts_.loop.post([this, number, why = std::move(why)](WorkerBroker& /*broker*/,
                                                        MonotonicTime /*now*/) mutable {
    if (const auto found = transfers_.find(number); found != transfers_.end())
      over(found, fail(std::move(why)), /*told=*/false);
  });
}

bool FarTransfers::has_place(const Transfer& transfer) const {
  std::size_t all = 0;
  std::size_t of_executor = 0;
  std::size_t of_tenant = 0;
  for (const auto& [number, other] : transfers_) {
    if (other.state == State::waiting) continue;
    ++all;
    if (other.data.executor == transfer.data.executor) ++of_executor;
    if (other.data.tenant == transfer.data.tenant) ++of_tenant;
  }
  return all < options_.most && of_executor < options_.most_of_executor &&
         of_tenant < options_.most_of_tenant;
}

void FarTransfers::ask_waiting() {
  std::vector<Number> waiting;
  for (const auto& [number, transfer] : transfers_)
    if (transfer.state == State::waiting) waiting.push_back(number);
  for (const Number number : waiting) {
    const auto found = transfers_.find(number);
    if (found != transfers_.end() && has_place(found->second)) ask(number, found->second);
  }
}

std::chrono::milliseconds FarTransfers::time_for(const Transfer& transfer) const {
  return transfer.is_fetch ? options_.longest : time_to_write(transfer.data.bytes);
}

void FarTransfers::ask(Number number, Transfer& transfer) {
  transfer.state = State::asked;
  transfer.due = parts_.loop.now() + options_.answer_within;
  transfer.key = random_hex(far_key_bytes);
  const FarData& data = transfer.data;
  const auto within = time_for(transfer);
  if (transfer.is_fetch)
    parts_.send(data.executor, OfferData{.data = data.data,
                                         .transfer = number,
                                         .key = transfer.key,
                                         .within = within,
                                         .patience = options_.reader_patience});
  else
    parts_.send(
        data.executor,
        ReceiveData{.data = data.data, .transfer = number, .key = transfer.key, .within = within});
}

FarTransfers::Transfers::iterator FarTransfers::find(const ExecutorId& executor, Number number,
                                                     const DataId& data) {
  const auto found = transfers_.find(number);
  const bool is_its = found != transfers_.end() && found->second.state != State::waiting &&
                      found->second.data.executor == executor && found->second.data.data == data;
  return is_its ? found : transfers_.end();
}

bool FarTransfers::hear(const ExecutorId& executor, const DataOffered& message) {
  const auto found = find(executor, message.transfer, message.data);
  if (found == transfers_.end()) return false;
  Transfer& transfer = found->second;
  if (transfer.state != State::asked) return true;
  const Executor* there = parts_.broker.hosts().find(executor);
  const std::string address = there == nullptr ? "" : address_of(*there, message.address);
  if (auto begun = address.empty()
                       ? fail(ErrorCode::unreachable, "its executor does not say where it listens")
                       : meet(message.transfer, transfer, address);
      !begun)
    over(found, fail(std::move(begun.error())), /*told=*/false);
  return true;
}

Result<void> FarTransfers::meet(Number number, Transfer& transfer, const std::string& address) {
  auto pipe = make_pipe();
  if (!pipe) return fail(std::move(pipe.error()));
  for (const UniqueFd* end : {&pipe->reader, &pipe->writer})
    if (auto done = make_non_blocking(*end); !done) return done;
  const std::string key = std::exchange(transfer.key, {});
  const ByteCount bytes = transfer.data.bytes;
  const auto within = time_for(transfer);
  CopyMessage order = CopyPush{.key = key, .address = address, .bytes = bytes, .within = within};
  if (transfer.is_fetch)
    order = CopyPull{.key = key,
                     .address = address,
                     .bytes = bytes,
                     .begin = transfer.begin,
                     .length = transfer.length,
                     .within = within};
  UniqueFd& ours = transfer.is_fetch ? pipe->reader : pipe->writer;
  const UniqueFd& theirs = transfer.is_fetch ? pipe->writer : pipe->reader;
  auto end = parts_.start(
      order, theirs,
      {.met = [this, number] { met(number); },
       .ended = [this, number](const std::optional<Failure>& why) { end_ended(number, why); }});
  if (!end) return fail(std::move(end.error()));
  transfer.end = std::move(*end);
  transfer.pipe = std::move(ours);
  transfer.state = State::meeting;
  transfer.due = parts_.loop.now() + options_.meet_within;
  return {};
}

void FarTransfers::met(Number number) {
  const auto found = transfers_.find(number);
  if (found == transfers_.end() || found->second.state != State::meeting) return;
  Transfer& transfer = found->second;
  transfer.state = State::moving;
  transfer.due = parts_.loop.now() + time_for(transfer);
  out_of_reach_.erase(transfer.data.executor);
  const bool has_all = transfer.has_all;
  // What it holds ends with it, and not with the transfer.
  std::exchange(transfer.handlers.opened, {})(std::move(transfer.pipe));
  if (!has_all) return;
  if (const auto same = transfers_.find(number); same != transfers_.end())
    over(same, {}, /*told=*/true);
}

/// What the executor says counts for what it has; it may have said so already.
void FarTransfers::end_ended(Number number, const std::optional<Failure>& why) {
  const auto found = transfers_.find(number);
  if (found == transfers_.end()) return;
  Transfer& transfer = found->second;
  if (transfer.has_all) return met(number);
  if (why) return end_failed(found, *why);
  if (transfer.state != State::moving)
    return over(found, fail(ErrorCode::internal, "its process has ended too early"),
                /*told=*/false);
  if (transfer.is_fetch) return over(found, {}, /*told=*/true);
  transfer.end.reset();
  transfer.state = State::closing;
  transfer.due = parts_.loop.now() + options_.answer_within;
}

/// The other end goes as soon as it has all, which may be before ours has said that it has sent
/// all. Then the executor says so in a moment.
void FarTransfers::end_failed(Transfers::iterator found, const Failure& why) {
  Transfer& transfer = found->second;
  const bool may_be_there =
      !transfer.is_fetch && transfer.state == State::moving && why.code == ErrorCode::unreachable;
  if (!may_be_there) return over(found, fail(why), /*told=*/false);
  transfer.why = why;
  transfer.end.reset();
  transfer.state = State::closing;
  transfer.due = parts_.loop.now() + options_.has_all_within;
}

bool FarTransfers::hear(const ExecutorId& executor, const DataNotOffered& message) {
  const auto found = find(executor, message.transfer, message.data);
  if (found == transfers_.end()) return false;
  // Once the bytes move, our own end knows best what has come.
  const State state = found->second.state;
  if (state == State::asked || state == State::meeting)
    over(found, fail(message.code, message.message), /*told=*/true);
  return true;
}

bool FarTransfers::hear(const ExecutorId& executor, const DataFetched& message) {
  const auto found = find(executor, message.transfer, message.data);
  if (found == transfers_.end()) return false;
  const State state = found->second.state;
  if (found->second.is_fetch) return true;
  // Of nothing it has all as soon as it has met our end, of which we hear from that.
  if (state == State::meeting) found->second.has_all = true;
  if (state == State::moving || state == State::closing) over(found, {}, /*told=*/true);
  return true;
}

bool FarTransfers::hear(const ExecutorId& executor, const DataNotFetched& message) {
  const auto found = find(executor, message.transfer, message.data);
  if (found == transfers_.end()) return false;
  over(found, fail(message.code, message.message), /*told=*/true);
  return true;
}

void FarTransfers::over(Transfers::iterator transfer, Result<void> result, bool told) {
  const Number number = transfer->first;
  const auto ended = transfers_.extract(transfer);
  Transfer& was = ended.mapped();
  if (!told && was.state != State::waiting)
    parts_.send(was.data.executor, EndDataTransfer{was.data.data, number});
  const bool was_open = was.state == State::moving || was.state == State::closing;
  if (result) {
    ++done_;
    (was.is_fetch ? bytes_from_ : bytes_to_) += was.length;
  } else {
    ++failed_;
    if (const ErrorCode code = result.error().code;
        (was.state == State::asked || was.state == State::meeting) &&
        (code == ErrorCode::unreachable || code == ErrorCode::timed_out))
      out_of_reach_[was.data.executor] = parts_.loop.now() + options_.out_of_reach_for;
    log::info("event=far_data_failed data={} transfer={} host={} fetch={} code={} reason=\"{}\"",
              to_string(was.data.data), number, was.data.host, was.is_fetch,
              to_string(result.error().code), result.error().message);
    // Whatever it is, who asks can only ask again.
    const ErrorCode code = result.error().code == ErrorCode::no_capacity ? ErrorCode::no_capacity
                                                                         : ErrorCode::unreachable;
    result = fail(code, "the data could not be moved " + std::string(was.is_fetch ? "from" : "to") +
                            " the host " + was.data.host + ": " + result.error().message +
                            "; try again");
  }
  if (was_open)
    was.handlers.ended(std::move(result));
  else
    was.handlers.opened(fail(result.error()));
  ask_waiting();
}

void FarTransfers::stop(Number number) {
  const auto found = transfers_.find(number);
  if (found == transfers_.end()) return;
  const Transfer& was = found->second;
  if (was.state != State::waiting)
    parts_.send(was.data.executor, EndDataTransfer{was.data.data, number});
  transfers_.erase(found);
  ask_waiting();
}

void FarTransfers::executor_joined(const ExecutorId& executor) {
  std::vector<Number> its;
  for (const auto& [number, transfer] : transfers_)
    if (transfer.state != State::waiting && transfer.data.executor == executor)
      its.push_back(number);
  for (const Number number : its)
    if (const auto found = transfers_.find(number); found != transfers_.end())
      over(found, fail(ErrorCode::unreachable, "its executor has begun anew"), /*told=*/true);
  out_of_reach_.erase(executor);
}

bool FarTransfers::is_out_of_reach(const ExecutorId& executor) const {
  const auto until = out_of_reach_.find(executor);
  return until != out_of_reach_.end() && parts_.loop.now() < until->second;
}

void FarTransfers::tick(MonotonicTime now) {
  std::erase_if(out_of_reach_, [now](const auto& entry) { return now >= entry.second; });
  std::vector<Number> late;
  for (const auto& [number, transfer] : transfers_)
    if (now >= transfer.due) late.push_back(number);
  for (const Number number : late) {
    const auto found = transfers_.find(number);
    // One that has ended may have made room for another.
    if (found == transfers_.end() || now < found->second.due) continue;
    if (found->second.state == State::waiting)
      over(found, fail(ErrorCode::no_capacity, "others are on their way, and it has waited long"),
           /*told=*/false);
    else if (found->second.why)
      over(found, fail(Failure{*found->second.why}), /*told=*/false);
    else
      over(found, fail(ErrorCode::timed_out, "it has taken longer than it may"), /*told=*/false);
  }
}

void FarTransfers::add_metrics(MetricsText& text) const {
  std::size_t waiting = 0;
  for (const auto& [number, transfer] : transfers_)
    if (transfer.state == State::waiting) ++waiting;
  text.gauge("orchid_data_far_transfers", "Bodies on their way to and from other hosts.",
             transfers_.size() - waiting);
  text.gauge("orchid_data_far_waiting", "Bodies that wait for others to be moved.", waiting);
  text.counter("orchid_data_far_done_total", "Bodies that were moved whole.", done_);
  text.counter("orchid_data_far_failed_total", "Bodies that could not be moved.", failed_);
  text.counter("orchid_data_far_sent_bytes_total", "Bytes of them to other hosts.", bytes_to_);
  text.counter("orchid_data_far_fetched_bytes_total", "Bytes of them from other hosts.",
               bytes_from_);
}

}  // namespace orchid::gateway
