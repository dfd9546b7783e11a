#include "data/data_service.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "data/clock_now.h"
#include "foundation/log.h"
#include "foundation/random.h"

namespace orchid::executor {
namespace {

constexpr std::size_t secret_bytes = 32;

}  // namespace

DataService::DataService(boost::asio::io_context& io, const DataBook::Options& options)
    : book_(options), slow_([&io](Task task) { boost::asio::post(io, std::move(task)); }) {}

void DataService::tell(const ControlMessage& message) {
  if (handlers_.tell) handlers_.tell(message);
}

void DataService::forget(const DataId& data) {
  seals_.erase(data);
  auto file = files_.extract(data);
  if (!file.empty()) slow_.close(std::move(file.mapped()));
  if (handlers_.dropped) handlers_.dropped(data);
}

void DataService::obey(const MakeData& request) {
  const auto refuse = [&](const Failure& why) {
    log::info("event=data_refused data={} code={}", to_string(request.data), to_string(why.code));
    tell(DataRefused{request.data, why.code, why.message});
  };
  if (ended_) return refuse({ErrorCode::lease_ended, "the executor's grant ends"});
  const bool is_new = !files_.contains(request.data);
  if (auto begun = begin_room(request, /*worker=*/std::nullopt); !begun)
    return refuse(begun.error());
  if (is_new)
    log::info("event=data_made data={} tenant={} bytes={}", to_string(request.data),
              request.terms.tenant.uid, request.terms.bytes.value);
  tell(DataMade{request.data});
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
  const auto evicted = book();
  if (!evicted) return fail(evicted.error());
  for (const DataId& data : *evicted) {
    log::info("event=data_dropped data={} reason=evicted", to_string(data));
    forget(data);
    tell(DataDropped{data, DataEnd::evicted});
  }
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
  for (const DataAccepted::Object& object : accepted.objects) {
    if (!book_.is_sealed_by(object.data, worker))
      return fail(ErrorCode::data_lost, "an object that the call has sealed is not there any more");
    if (auto fixed = files_.at(object.data).fix_size(); !fixed) return fixed;
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
  if (const auto bytes = book_.seal(data, clock_now())) tell(DataSealed{data, *bytes});
}

void DataService::obey(const DropData& request) {
  if (book_.drop(request.data)) {
    log::info("event=data_dropped data={} reason=deleted", to_string(request.data));
    forget(request.data);
  }
  tell(DataDropped{request.data, DataEnd::deleted});
}

void DataService::obey(const SpareData& request) {
  if (!book_.drop_unless_used(request.data)) return tell(DataKept{request.data});
  log::info("event=data_dropped data={} reason=spared", to_string(request.data));
  forget(request.data);
  tell(DataDropped{request.data, DataEnd::evicted});
}

void DataService::tick() {
  for (const DataDropped& dropped : book_.end_overdue(clock_now())) {
    log::info("event=data_dropped data={} reason={}", to_string(dropped.data),
              to_string(dropped.reason));
    forget(dropped.data);
    tell(dropped);
  }
}

std::vector<DataHeld> DataService::introduce() {
  std::vector<DataHeld> held = book_.held(clock_now());
  introduced_.clear();
  for (const DataHeld& one : held) introduced_.insert(one.data);
  return held;
}

void DataService::begin_afresh() {
  for (const DataId& data : book_.keep_only(introduced_)) {
    log::info("event=data_dropped data={} reason=unknown_to_gateway", to_string(data));
    forget(data);
  }
}

void DataService::end() {
  ended_ = true;
  const std::vector<DataId> all = book_.drop_all();
  if (!all.empty()) log::info("event=all_data_dropped objects={} reason=grant_ended", all.size());
  for (const DataId& data : all) slow_.close(std::move(files_.extract(data).mapped()));
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

Result<DataService::Opened> DataService::open_for_copy(const DataId& data) {
  const auto bytes = book_.open_for_copy(data);
  if (!bytes) return fail(bytes.error());
  auto file = files_.at(data).open_to_write();
  if (!file) {
    book_.unpin(data);
    return fail(std::move(file.error()));
  }
  return Opened{*bytes, std::move(*file)};
}

}  // namespace orchid::executor
