#include "data/data_copies.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "data/data_times.h"
#include "foundation/random.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t key_bytes = 16;
/// For a holder to come back, when none answers.
constexpr std::chrono::seconds holder_returns_within{30};

Failure left_behind() {
  return {ErrorCode::unreachable, "the host that it was copied to has gone, or has begun anew"};
}

}  // namespace

Result<void> DataCopies::begin(DataId data, DataHolder to, MonotonicTime now) {
  const ExecutorId executor = to.executor;
  // One that was there before the executor began anew, and was not looked after since.
  if (const auto stale = orders_.find({data, executor});
      stale != orders_.end() && !catalogue_.is_arriving(data, executor))
    end(stale->first, left_behind());
  if (auto begun = catalogue_.begin_copy(data, std::move(to)); !begun) return begun;
  orders_[{data, executor}] = {.due = now + options_.answer_within};
  actions_.emplace_back(MakeCopyRoom{executor, data});
  return {};
}

DataCopies::Orders::iterator DataCopies::find(TransferNumber transfer) {
  return std::ranges::find_if(orders_, [&](const auto& entry) {
    const Order& order = entry.second;
    return order.transfer == transfer &&
           (order.state == State::offering || order.state == State::moving ||
            order.state == State::stopping);
  });
}

TransferNumber DataCopies::random_number() {
  std::array<std::byte, 6> bytes{};  // so that it never comes to its end
  fill_random(bytes);
  TransferNumber number = 0;
  for (const std::byte byte : bytes) number = (number << 8U) | std::to_integer<unsigned>(byte);
  return number;
}

std::chrono::milliseconds DataCopies::time_to_move(DataId data) const {
  const DataObject* object = catalogue_.sealed(data);
  const std::uint64_t bytes = object == nullptr ? 0 : object->bytes.value;
  constexpr std::chrono::hours longest{24};
  return std::min<std::chrono::milliseconds>(
      longest, 2 * options_.answer_within + std::chrono::seconds(bytes / options_.slowest));
}

void DataCopies::made(const ExecutorId& to, DataId data, MonotonicTime now) {
  const auto found = orders_.find({data, to});
  if (found == orders_.end() || found->second.state != State::room) return;
  Order& order = found->second;
  order.state = State::waiting;
  order.due = now + holder_returns_within;
  wait_on(found->first, order, now);
}

void DataCopies::refused(const ExecutorId& to, DataId data, const Failure& why) {
  const auto found = orders_.find({data, to});
  if (found != orders_.end() && found->second.state == State::room) end(found->first, why);
}

void DataCopies::offered(const ExecutorId& from, TransferNumber transfer, std::string address,
                         MonotonicTime now) {
  const auto found = find(transfer);
  if (found == orders_.end() || found->second.state != State::offering ||
      found->second.from != from)
    return;
  const auto& [key, order] = *found;
  const std::chrono::milliseconds within = time_to_move(key.first);
  found->second.state = State::moving;
  catalogue_.count_on_copy(key.first, key.second);
  found->second.due = now + within + options_.answer_within;
  actions_.emplace_back(FetchCopy{.to = key.second,
                                  .data = key.first,
                                  .transfer = transfer,
                                  .key = order.key,
                                  .address = std::move(address),
                                  .within = within});
}

void DataCopies::not_offered(const ExecutorId& from, TransferNumber transfer, const Failure& why,
                             MonotonicTime now) {
  const auto found = find(transfer);
  if (found == orders_.end() || found->second.from != from) return;
  // The receiver knows best how much it has: it will notice, and say so.
  if (found->second.state != State::offering) return;
  try_again(found->first, found->second, why, now);
}

void DataCopies::fetched(const ExecutorId& to, TransferNumber transfer, MonotonicTime now) {
  const auto found = find(transfer);
  if (found == orders_.end() || found->second.state == State::offering || found->first.second != to)
    return;
  const DataObject* object = catalogue_.sealed(found->first.first);
  if (object == nullptr || !catalogue_.is_arriving(found->first.first, to)) return;  // see `tick`
  Order& order = found->second;
  order.state = State::sealing;
  order.from.reset();
  order.have = object->bytes;
  order.due = now + options_.answer_within + time_to_seal(object->bytes);
  actions_.emplace_back(SealCopy{to, found->first.first});
}

void DataCopies::not_fetched(const ExecutorId& to, TransferNumber transfer, ByteCount have,
                             const Failure& why, MonotonicTime now) {
  const auto found = find(transfer);
  if (found == orders_.end() || found->second.state == State::offering || found->first.second != to)
    return;
  const auto& [key, order] = *found;
  const DataObject* object = catalogue_.sealed(key.first);
  const std::uint64_t bytes = object == nullptr ? 0 : object->bytes.value;
  found->second.have.value = std::min(have.value, bytes);
  // A sender that has sent a good part was not to blame for what others do to it.
  if (order.have.value > order.had.value &&
      order.have.value - order.had.value >= bytes / options_.progress_parts) {
    found->second.tries.clear();
    found->second.had = order.have;
  }
  if (order.state == State::stopping) return wait_for_sender(key, found->second, now);
  try_again(key, found->second, why, now);
}

bool DataCopies::sealed(const ExecutorId& to, DataId data) {
  const auto found = orders_.find({data, to});
  if (found == orders_.end() || found->second.state != State::sealing) return false;
  if (!catalogue_.finish_copy(data, to)) return false;
  end(found->first, std::nullopt);
  return true;
}

void DataCopies::stop_transfer(const Key& key, Order& order) {
  if (!order.from) return;
  actions_.emplace_back(EndTransfer{*order.from, key.first, order.transfer});
  if (order.state == State::moving)
    actions_.emplace_back(EndTransfer{key.second, key.first, order.transfer});
  order.from.reset();
}

/// It says how much it has then, which may be all.
void DataCopies::stop_receiver(const Key& key, Order& order, const Failure& why,
                               MonotonicTime now) {
  ++order.tries[*order.from];
  order.failed = why;
  stop_transfer(key, order);
  order.state = State::stopping;
  order.due = now + options_.answer_within;
}

/// Both ends know, or are told, that the transfer is over.
void DataCopies::try_again(const Key& key, Order& order, const Failure& why, MonotonicTime now) {
  ++order.tries[*order.from];
  order.failed = why;
  stop_transfer(key, order);
  wait_for_sender(key, order, now);
}

void DataCopies::wait_for_sender(const Key& key, Order& order, MonotonicTime now) {
  order.state = State::waiting;
  order.due = now + holder_returns_within;
  catalogue_.do_not_count_on_copy(key.first, key.second);
  wait_on(key, order, now);
}

/// Copies `key`: it may be the order's own.
void DataCopies::end(const Key& key, std::optional<Failure> why) {
  const auto [data, to] = key;
  Order& order = orders_.at(key);
  stop_transfer(key, order);
  if (why)
    for (DataDrop& drop : catalogue_.give_up_copy(data, to)) drops_.push_back(std::move(drop));
  ended_.push_back({data, to, std::move(why)});
  orders_.erase({data, to});
}

std::size_t DataCopies::sends(const ExecutorId& from) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(orders_, [&](const auto& entry) { return entry.second.from == from; }));
}

std::size_t DataCopies::receives(const ExecutorId& to) const {
  return static_cast<std::size_t>(std::ranges::count_if(orders_, [&](const auto& entry) {
    const State state = entry.second.state;
    return entry.first.second == to &&
           (state == State::offering || state == State::moving || state == State::stopping);
  }));
}

std::size_t DataCopies::count_to(const ExecutorId& to) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(orders_, [&](const auto& entry) { return entry.first.second == to; }));
}

/// Whether a holder is there that has not failed too often.
bool DataCopies::any_left(const Key& key, const Order& order) const {
  return std::ranges::any_of(catalogue_.sealed(key.first)->holders, [&](const DataHolder& holder) {
    const auto tried = order.tries.find(holder.executor);
    return tried == order.tries.end() || tried->second < options_.tries;
  });
}

/// Of those that answer the one that was tried least, then the nearest, then the one that has least
/// to do.
std::optional<ExecutorId> DataCopies::sender_for(const Key& key, const Order& order) const {
  std::optional<ExecutorId> best;
  std::tuple<unsigned, Distance, std::size_t> best_rank;
  for (const DataHolder& holder : catalogue_.sealed(key.first)->holders) {
    const ExecutorId& one = holder.executor;
    const auto tried = order.tries.find(one);
    const unsigned tries = tried == order.tries.end() ? 0 : tried->second;
    const std::size_t busy = sends(one);
    if (!answers_(one) || tries >= options_.tries || busy >= options_.sends) continue;
    const std::tuple rank{tries, distances_(one, key.second), busy};
    if (best && rank >= best_rank) continue;
    best = one;
    best_rank = rank;
  }
  return best;
}

void DataCopies::offer(const Key& key, Order& order, MonotonicTime now) {
  if (receives(key.second) >= options_.receives) return;
  const auto from = sender_for(key, order);
  if (!from) return;
  order.state = State::offering;
  order.from = *from;
  order.transfer = ++newest_;
  order.key = random_hex(key_bytes);
  order.due = now + options_.answer_within;
  actions_.emplace_back(OfferCopy{.from = *from,
                                  .data = key.first,
                                  .transfer = order.transfer,
                                  .key = order.key,
                                  .within = time_to_move(key.first) + options_.answer_within});
}

/// True: the books have it no more, and it has ended.
bool DataCopies::end_if_gone(const Key& key) {
  const DataObject* object = catalogue_.sealed(key.first);
  if (object != nullptr && catalogue_.is_arriving(key.first, key.second)) return false;
  end(key, object == nullptr ? Failure{ErrorCode::data_lost,
                                       "the object was deleted, or lost, while it was copied"}
                             : left_behind());
  return true;
}

/// For a holder that can send it now.
void DataCopies::wait_on(const Key& key, Order& order, MonotonicTime now) {
  if (end_if_gone(key)) return;
  if (!any_left(key, order))
    return end(key, order.failed.value_or(
                        Failure{ErrorCode::unreachable, "no host that has it can send it"}));
  const bool any_answers =
      std::ranges::any_of(catalogue_.sealed(key.first)->holders,
                          [&](const DataHolder& holder) { return answers_(holder.executor); });
  if (any_answers) order.due = now + holder_returns_within;
  if (now >= order.due)
    return end(key, Failure{ErrorCode::unreachable, "no host that has it answers"});
  offer(key, order, now);
}

/// What the books say of it now, and the time.
void DataCopies::look_after(const Key& key, Order& order, MonotonicTime now) {
  if (order.state == State::waiting) return wait_on(key, order, now);
  if (end_if_gone(key)) return;
  if (order.state == State::offering || order.state == State::moving) {
    const auto& holders = catalogue_.sealed(key.first)->holders;
    const bool is_holder =
        std::ranges::find(holders, *order.from, &DataHolder::executor) != holders.end();
    if (is_holder && answers_(*order.from) && now < order.due) return;
    const Failure why{ErrorCode::unreachable, "the host that sent it does not answer"};
    return order.state == State::moving ? stop_receiver(key, order, why, now)
                                        : try_again(key, order, why, now);
  }
  if (now < order.due) return;
  if (order.state == State::stopping)
    wait_for_sender(key, order, now);
  else
    end(key, Failure{ErrorCode::unreachable, "the host that it is copied to does not answer"});
}

void DataCopies::tick(MonotonicTime now) {
  std::vector<Key> keys;
  for (const auto& [key, order] : orders_) keys.push_back(key);
  for (const Key& key : keys)
    if (const auto found = orders_.find(key); found != orders_.end())
      look_after(key, found->second, now);
}

std::optional<DataCopies::Progress> DataCopies::progress(DataId data, const ExecutorId& to) const {
  const auto found = orders_.find({data, to});
  if (found == orders_.end()) return std::nullopt;
  constexpr std::array<std::string_view, 6> names{"room",   "waiting",  "offering",
                                                  "moving", "stopping", "sealing"};
  return Progress{names[static_cast<std::size_t>(found->second.state)], found->second.have};
}

}  // namespace orchid::gateway
