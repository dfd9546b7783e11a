#include "data/data_service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "data/clock_now.h"
#include "foundation/log.h"
#include "foundation/random.h"
#include "protocol/spill_time.h"

namespace orchid::executor {
namespace {

constexpr std::size_t secret_bytes = 32;

}  // namespace

DataService::DataService(boost::asio::io_context& io, const DataBook::Options& options,
                         std::filesystem::path spill, std::optional<DurableFolder> durable)
    : book_(options),
      slow_([&io](Task task) { boost::asio::post(io, std::move(task)); }),
      durable_([&io](Task task) { boost::asio::post(io, std::move(task)); }, std::move(durable)),
      spill_({.book = book_,
              .post = [&io](Task task) { boost::asio::post(io, std::move(task)); },
              .directory = std::move(spill)},
             spill_handlers()),
      sparing_(book_, [this](const ControlMessage& message) { tell(message); }) {
  adopt_files();
}

void DataService::tell(const ControlMessage& message) {
  if (handlers_.tell) handlers_.tell(message);
}

void DataService::forget(const DataId& data) {
  seals_.erase(data);
  filing_.erase(data);
  spill_.dropped(data);
  durable_.dropped(data);
  durable_.when_gone(data, [this, data] { book_.file_gone(data); });
  if (auto file = files_.extract(data); !file.empty()) left_.insert(std::move(file));
  let_go_if_closed(data);
  close_if_unused(data);
  if (handlers_.dropped) handlers_.dropped(data);
}

void DataService::keep(const DataId& data) {
  if (kept_.insert(data).second) book_.keep(data);
}

/// Whoever was the last one that we know of should have closed it.
void DataService::keep_if_open(const DataId& data) {
  if (book_.pins(data) == 1 && is_open_elsewhere(data)) keep(data);
}

void DataService::let_go_if_closed(const DataId& data) {
  if (!kept_.contains(data) || is_open_elsewhere(data)) return;
  kept_.erase(data);
  book_.unpin(data);
  close_if_unused(data);
}

void DataService::close_if_unused(const DataId& data) {
  if (book_.pins(data) != 0) return;
  if (auto file = left_.extract(data); !file.empty()) slow_.close(std::move(file.mapped()));
}

bool DataService::is_open_elsewhere(const DataId& data) const {
  for (const auto* files : {&files_, &left_})
    if (const auto file = files->find(data); file != files->end()) {
      const auto alone = file->second.check_alone();
      return !alone && alone.error().code == ErrorCode::conflict;
    }
  return false;
}

void DataService::stop_reading(const DataId& data) {
  keep_if_open(data);
  book_.stop_reading(data);
  let_go_if_closed(data);
  close_if_unused(data);
}

void DataService::leave(const DataId& data) {
  keep_if_open(data);
  book_.unpin(data);
  let_go_if_closed(data);
  close_if_unused(data);
}

void DataService::refuse(const MakeData& request, const Failure& why) {
  log::info("event=data_refused data={} code={}", to_string(request.data), to_string(why.code));
  tell(DataRefused{request.data, why.code, why.message});
}

/// For a copy nothing goes to disk: the gateway knows what can be spared, and does so first.
void DataService::obey(const MakeData& request) {
  if (request.created_ago || book_.contains(request.data)) return make(request);
  const ByteCount bytes = request.terms.bytes;
  spill_.make_room({request.terms.tenant.uid, bytes}, request.data,
                   clock_now() + patience + time_to_spill(bytes),
                   [this, request](const Result<void>& there) {
                     if (there) return make(request);
                     if (there.error().code != ErrorCode::cancelled) refuse(request, there.error());
                   });
}

void DataService::make(const MakeData& request) {
  if (ended_) return refuse(request, {ErrorCode::lease_ended, "the executor's grant ends"});
  // Before its bytes are sent.
  if (request.terms.durable && !request.created_ago)
    if (const auto may = DataDurable::check_queue(
            book_.unwritten(request.terms.tenant.uid, /*besides=*/request.data));
        !may)
      return refuse(request, may.error());
  const bool is_new = !files_.contains(request.data);
  if (auto begun = begin_room(request, /*worker=*/std::nullopt); !begun)
    return refuse(request, begun.error());
  if (is_new)
    log::info("event=data_made data={} tenant={} bytes={}", to_string(request.data),
              request.terms.tenant.uid, request.terms.bytes.value);
  tell(DataMade{request.data});
}

void DataService::evicted(const DataId& data) {
  log::info("event=data_dropped data={} reason=evicted", to_string(data));
  forget(data);
  tell(DataDropped{data, DataEnd::evicted});
}

/// Unless it is there: it was asked for once more.
Result<void> DataService::begin_room(const MakeData& request,
                                     const std::optional<std::uint64_t>& worker) {
  const auto book = [&] {
    return worker ? book_.make_in_call(request, *worker, clock_now())
                  : book_.make(request, clock_now());
  };
  // A call may ask for anything, also for more than a file can have.
  if (request.terms.bytes > book_.budget()) return fail(book().error());
  // First: nothing goes for what there is no file for.
  auto file = worker ? MemoryFile::make_for_call(request.terms.bytes)
                     : MemoryFile::make(request.terms.bytes);
  if (!file) return fail(std::move(file.error()));
  auto victims = book();
  if (!victims) return fail(spill_.explain(std::move(victims.error())));
  for (const DataId& data : *victims) evicted(data);
  files_.try_emplace(request.data, std::move(*file));
  return {};
}

Result<DataService::Room> DataService::make_in_call(const LeaseTenant& tenant, ByteCount most,
                                                    std::uint64_t worker) {
  if (ended_) return fail(ErrorCode::lease_ended, "the executor's grant ends");
  const MakeData request{
      .data = make_data_id(),
      .terms = {.tenant = tenant, .bytes = most, .name = {}, .secret = random_hex(secret_bytes)}};
  if (auto begun = begin_room(request, worker); !begun) return fail(std::move(begun.error()));
  auto file = files_.at(request.data).open_to_write();
  if (!file) {
    discard(request.data);
    return fail(std::move(file.error()));
  }
  return Room{.data = request.data, .file = std::move(*file)};
}

Result<DataService::Room> DataService::open_again(const DataId& data, std::uint64_t worker) const {
  const auto made = book_.made_by(worker);
  const bool is_room = std::ranges::any_of(
      made, [&](const DataBook::MadeInCall& one) { return one.data == data && !one.sealed; });
  if (!is_room) return fail(ErrorCode::conflict, "the room has been sealed, or given up");
  auto file = files_.at(data).open_to_write();
  if (!file) return fail(std::move(file.error()));
  return Room{.data = data, .file = std::move(*file)};
}

Result<DataService::Room> DataService::make_for_lease(const LeaseTenant& tenant, ByteCount bytes) {
  if (ended_) return fail(ErrorCode::lease_ended, "the executor's grant ends");
  const MakeData request{
      .data = make_data_id(),
      .terms = {.tenant = tenant, .bytes = bytes, .name = {}, .secret = random_hex(secret_bytes)}};
  if (auto begun = begin_room(request, /*worker=*/std::nullopt); !begun)
    return fail(std::move(begun.error()));
  book_.keep_for_lease(request.data);
  auto file = files_.at(request.data).open_to_write();
  if (!file) {
    discard(request.data);
    return fail(std::move(file.error()));
  }
  return Room{.data = request.data, .file = std::move(*file)};
}

void DataService::seal_in_call(SealInCall request,
                               const std::function<void(const Result<void>&)>& done) {
  if (auto may = book_.check_seal_in_call(request.data, request.worker, request.used); !may)
    return done(may);
  auto same = files_.at(request.data).duplicate();
  if (!same) return done(fail(std::move(same.error())));
  const ByteCount used = request.used;
  slow_.seal(
      std::move(*same),
      [this, alive = std::weak_ptr(alive_), request = std::move(request),
       done](const Result<void>& result) {
        if (alive.expired()) return;
        if (result) book_.seal_in_call(request.data, request.used, request.name, clock_now());
        done(result);
      },
      used);
}

Result<void> DataService::publish(const DataAccepted& accepted, std::uint64_t worker) {
  std::unordered_map<DataId, ByteCount> sizes;
  for (const DataBook::MadeInCall& made : book_.made_by(worker))
    if (made.sealed) sizes.emplace(made.data, made.terms.bytes);
  for (const DataAccepted::Object& object : accepted.objects) {
    const auto size = sizes.find(object.data);
    if (size == sizes.end())
      return fail(ErrorCode::data_lost, "an object that the call has sealed is not there any more");
    if (auto fixed = files_.at(object.data).fix_size(size->second); !fixed) return fixed;
  }
  for (const DataAccepted::Object& object : accepted.objects) {
    book_.publish(object, accepted.holder_uid, clock_now());
    if (const auto bytes = book_.seal(object.data, clock_now()))
      tell(DataSealed{object.data, *bytes});
    log::info("event=data_made data={} worker={} version={}", to_string(object.data), worker,
              object.version);
  }
  return {};
}

void DataService::discard(const DataId& data, const std::function<void()>& done) {
  auto file = book_.drop_slowly(data) ? files_.extract(data) : decltype(files_)::node_type{};
  if (file.empty()) {
    if (done) done();
    return;
  }
  slow_.close(std::move(file.mapped()), [this, alive = std::weak_ptr(alive_), data, done] {
    if (alive.expired()) return;
    book_.unpin(data);
    if (done) done();
  });
  if (handlers_.dropped) handlers_.dropped(data);
}

void DataService::obey(const SealData& request) {
  const auto file = files_.find(request.data);
  if (file == files_.end() && book_.is_on_disk(request.data)) return sealed(request.data, {});
  if (file == files_.end()) return tell(DataDropped{request.data, DataEnd::unknown});
  book_.begin_to_seal(request, clock_now());
  auto same = file->second.duplicate();
  if (!same) return sealed(request.data, fail(std::move(same.error())));
  const std::uint64_t seal = seals_[request.data] = ++newest_seal_;
  slow_.seal(std::move(*same), [this, alive = std::weak_ptr(alive_), data = request.data,
                                seal](const Result<void>& result) {
    if (alive.expired()) return;
    // It may have been dropped meanwhile, of which the gateway has heard, and be there again.
    const auto awaited = seals_.find(data);
    if (awaited == seals_.end() || awaited->second != seal) return;
    seals_.erase(awaited);
    sealed(data, result);
  });
}

void DataService::sealed(const DataId& data, const Result<void>& result) {
  if (!book_.contains(data)) return;
  if (!result) {
    log::warn("event=data_not_sealed data={} reason=\"{}\"", to_string(data),
              result.error().message);
    book_.drop(data);
    forget(data);
    return tell(DataDropped{data, DataEnd::unfinished});
  }
  if (book_.lacks_file(data)) return write_file(data);
  let_go_if_closed(data);
  if (const auto bytes = book_.seal(data, clock_now())) tell(DataSealed{data, *bytes});
}

void DataService::obey(const DropData& request) {
  spill_.cancel(request.data);
  if (book_.drop(request.data)) {
    log::info("event=data_dropped data={} reason=deleted", to_string(request.data));
    forget(request.data);
  }
  tell_when_gone({request.data, DataEnd::deleted});
}

void DataService::obey(const SpareData& request) {
  if (!book_.drop_unless_used(request.data)) return tell(DataKept{request.data});
  log::info("event=data_dropped data={} reason=spared", to_string(request.data));
  forget(request.data);
  tell(DataDropped{request.data, DataEnd::evicted});
}

void DataService::tick() {
  spill_.tick(clock_now());
  sparing_.tick(clock_now());
  durable_.tick(clock_now());
  for (const DataDropped& dropped : book_.end_overdue(clock_now())) {
    log::info("event=data_dropped data={} reason={}", to_string(dropped.data),
              to_string(dropped.reason));
    forget(dropped.data);
    tell_when_gone(dropped);
  }
  const std::vector<DataId> kept(kept_.begin(), kept_.end());
  for (const DataId& data : kept) let_go_if_closed(data);
}

std::vector<DataHeld> DataService::introduce() {
  std::vector<DataHeld> held = book_.held(clock_now());
  introduced_.clear();
  for (const DataHeld& one : held) introduced_.insert(one.data);
  return held;
}

void DataService::begin_afresh() {
  spill_.cancel(std::nullopt);
  for (const DataId& data : book_.keep_only(introduced_)) {
    log::info("event=data_dropped data={} reason=unknown_to_gateway", to_string(data));
    forget(data);
  }
}

void DataService::end() {
  ended_ = true;
  const std::vector<DataId> all = book_.drop_all();
  if (!all.empty()) log::info("event=all_data_dropped objects={} reason=grant_ended", all.size());
  durable_.end();
  spill_.end();
  sparing_.end();
  for (const DataId& data : all)
    if (auto file = files_.extract(data); !file.empty()) slow_.close(std::move(file.mapped()));
  // Their files stay.
  for (const DataId& data : all) book_.file_gone(data);
  for (auto& [data, file] : std::exchange(left_, {})) slow_.close(std::move(file));
}

Result<DataService::Opened> DataService::open(const LaneOpenData& request, std::uint32_t uid) {
  const auto bytes = book_.open(request, uid, clock_now());
  if (!bytes) return fail(bytes.error());
  const MemoryFile& file = files_.at(request.data);
  const bool reads = request.access == DataAccess::read;
  auto opened = reads ? file.open_to_read() : file.open_to_write();
  if (!opened) {
    if (reads) book_.stop_reading(request.data);
    return fail(std::move(opened.error()));
  }
  // Who writes says when it is done, which is not always true.
  if (!reads) keep(request.data);
  return Opened{*bytes, std::move(*opened)};
}

Result<DataService::Opened> DataService::take(const DataId& data, std::uint32_t tenant,
                                              std::optional<std::uint64_t> worker) {
  return open_pinned(data, book_.pin(data, tenant, clock_now(), worker));
}

Result<DataService::Opened> DataService::lend(const DataId& data) {
  return open_pinned(data, book_.pin_for_copy(data, clock_now()));
}

Result<DataService::Opened> DataService::open_pinned(const DataId& data,
                                                     const Result<ByteCount>& bytes) {
  if (!bytes) return fail(bytes.error());
  auto file = files_.at(data).open_to_read();
  if (!file) {
    book_.unpin(data);
    return fail(std::move(file.error()));
  }
  return Opened{*bytes, std::move(*file)};
}

}  // namespace orchid::executor
