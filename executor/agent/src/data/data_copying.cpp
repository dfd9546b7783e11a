#include "data/data_copying.h"

#include <algorithm>
#include <utility>

#include "foundation/log.h"

namespace orchid::executor {
namespace {

/// For what is on disk: the gateway waits ten seconds for an offer.
constexpr std::chrono::seconds offer_patience{8};

}  // namespace

DataCopying::DataCopying(boost::asio::io_context& io, ChildWatch& children, DataService& data,
                         Options options, std::function<void(const ControlMessage&)> tell)
    : io_(io),
      children_(children),
      data_(data),
      options_(std::move(options)),
      tell_(std::move(tell)) {}

Result<void> DataCopying::check_new(const Key& key) const {
  if (ends_.contains(key)) return fail(ErrorCode::conflict, "this transfer is under way already");
  if (ends_.size() >= options_.most)
    return fail(ErrorCode::no_capacity, "this executor moves " + std::to_string(ends_.size()) +
                                            " copies already, and no more at a time");
  return {};
}

Result<void> DataCopying::start(const Key& key, const DataId& data, const CopyMessage& order,
                                const UniqueFd& file, std::chrono::milliseconds within) {
  CopyEnd::Handlers handlers{
      .listening =
          [this, key, data](const CopyListening& listening) {
            if (key.second != Side::fetches) tell_(DataOffered{data, key.first, listening.address});
          },
      .ended = [this, key](const std::optional<CopyFailed>& why) { ended(key, why); }};
  auto process = std::make_unique<CopyEnd>(CopyEnd::Parts{.io = io_,
                                                          .children = children_,
                                                          .program = options_.program,
                                                          .scheduling = options_.scheduling},
                                           std::move(handlers));
  if (auto started = process->start(order, file, within); !started) return started;
  ends_.emplace(key, End{data, std::move(process)});
  return {};
}

Result<void> DataCopying::check_listens() const {
  if (!options_.listen.empty()) return {};
  return fail(ErrorCode::unsupported,
              "this executor has no address for other hosts: start it with --lane-listen");
}

Result<void> DataCopying::begin_to_send(const OfferData& request) {
  const Key key{request.transfer, Side::sends};
  if (auto good = check_new(key); !good) return good;
  if (auto listens = check_listens(); !listens) return listens;
  auto lent = data_.lend(request.data);
  if (!lent) return fail(std::move(lent.error()));
  auto started = start(key, request.data,
                       CopySend{.key = request.key,
                                .address = options_.listen,
                                .bytes = lent->bytes,
                                .within = request.within,
                                .patience = request.patience.value_or(peer_patience)},
                       lent->file, request.within);
  if (!started) data_.leave(request.data);
  return started;
}

Result<void> DataCopying::begin_to_fetch(const FetchData& request) {
  const Key key{request.transfer, Side::fetches};
  if (auto good = check_new(key); !good) return good;
  const bool is_written = std::ranges::any_of(ends_, [&](const auto& entry) {
    return entry.first.second == Side::fetches && entry.second.data == request.data;
  });
  if (is_written)
    return fail(ErrorCode::conflict, "the process that fetched it before has not ended yet");
  auto room = data_.open_for_copy(request.data);
  if (!room) return fail(std::move(room.error()));
  auto started = start(key, request.data,
                       CopyFetch{.key = request.key,
                                 .address = request.address,
                                 .bytes = room->bytes,
                                 .have = have_[request.data],
                                 .within = request.within},
                       room->file, request.within);
  if (!started) data_.leave(request.data);
  return started;
}

/// A client may be slow behind the gateway, which knows for how long it may.
Result<void> DataCopying::begin_to_take(const ReceiveData& request) {
  const Key key{request.transfer, Side::takes};
  if (auto good = check_new(key); !good) return good;
  if (auto listens = check_listens(); !listens) return listens;
  auto room = data_.open_for_gateway(request.data);
  if (!room) return fail(std::move(room.error()));
  auto started = start(key, request.data,
                       CopyTake{.key = request.key,
                                .address = options_.listen,
                                .bytes = room->bytes,
                                .within = request.within,
                                .patience = request.within},
                       room->file, request.within);
  if (!started) data_.leave(request.data);
  return started;
}

/// A transfer that is ended while its object is read back from disk begins all the same, and ends
/// as one to which nobody comes.
void DataCopying::obey(const OfferData& request) {
  data_.prepare(request.data, offer_patience, [this, request](const Result<void>& there) {
    const auto begun = there ? begin_to_send(request) : there;
    if (!begun) say_failed({request.transfer, Side::sends}, request.data, begun.error());
  });
}

void DataCopying::obey(const FetchData& request) {
  if (auto begun = begin_to_fetch(request); !begun)
    say_failed({request.transfer, Side::fetches}, request.data, begun.error());
}

void DataCopying::obey(const ReceiveData& request) {
  if (auto begun = begin_to_take(request); !begun)
    say_failed({request.transfer, Side::takes}, request.data, begun.error());
}

void DataCopying::obey(const EndDataTransfer& request) {
  if (const auto end = ends_.find({request.transfer, Side::sends}); end != ends_.end())
    kill(end->second);
  if (const auto end = ends_.find({request.transfer, Side::fetches}); end != ends_.end())
    end->second.process->stop();
  if (const auto end = ends_.find({request.transfer, Side::takes}); end != ends_.end())
    end->second.process->kill();
}

void DataCopying::say_failed(const Key& key, const DataId& data, const Failure& why) {
  const auto& [transfer, side] = key;
  log::info("event=copy_failed data={} transfer={} sends={} code={} reason=\"{}\"", to_string(data),
            transfer, side == Side::sends, to_string(why.code), why.message);
  if (side == Side::sends) return tell_(DataNotOffered{data, transfer, why.code, why.message});
  const auto have = have_.find(data);
  tell_(DataNotFetched{.data = data,
                       .transfer = transfer,
                       .have = have == have_.end() ? ByteCount{} : have->second,
                       .code = why.code,
                       .message = why.message});
}

/// Its process is not there any more, and has nothing mapped.
void DataCopying::ended(const Key& key, const std::optional<CopyFailed>& why) {
  const auto end = ends_.extract(key);
  const DataId data = end.mapped().data;
  const auto [transfer, side] = key;
  const bool sends = side == Side::sends;
  data_.leave(data);
  if (!end.mapped().is_awaited) return;
  if (side == Side::fetches && why && why->have.value > have_[data].value) have_[data] = why->have;
  if (why) say_failed(key, data, {why->code, why->message});
  // Nobody sends it once more: also without the gateway nothing is left of it.
  if (why && side == Side::takes) data_.obey(DropData{data});
  if (why) return;
  log::info("event=copied data={} transfer={} sends={}", to_string(data), transfer, sends);
  if (sends) return;  // who has received it says so
  have_.erase(data);
  tell_(DataFetched{data, transfer});
}

void DataCopying::kill(End& end) {
  end.is_awaited = false;
  end.process->kill();
}

void DataCopying::dropped(const DataId& data) {
  have_.erase(data);
  for (auto& [key, end] : ends_)
    if (end.data == data) kill(end);
}

void DataCopying::end_all() {
  have_.clear();
  for (auto& [key, end] : ends_) kill(end);
}

}  // namespace orchid::executor
