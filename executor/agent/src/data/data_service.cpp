#include "data/data_service.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "foundation/log.h"

namespace orchid::executor {
namespace {

MonotonicTime clock_now() { return std::chrono::steady_clock::now(); }

}  // namespace

DataService::DataService(boost::asio::io_context& io, const DataBook::Options& options)
    : book_(options), slow_([&io](Task task) { boost::asio::post(io, std::move(task)); }) {}

void DataService::tell(const ControlMessage& message) {
  if (handlers_.tell) handlers_.tell(message);
}

void DataService::forget(const DataId& data) {
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
  // First: nothing goes for what there is no file for.
  auto file = MemoryFile::make(request.terms.bytes);
  if (!file) return refuse(file.error());
  const auto evicted = book_.make(request, clock_now());
  if (!evicted) return refuse(evicted.error());
  for (const DataId& data : *evicted) {
    log::info("event=data_dropped data={} reason=evicted", to_string(data));
    forget(data);
    tell(DataDropped{data, DataEnd::evicted});
  }
  if (files_.contains(request.data)) return tell(DataMade{request.data});  // the same once more
  files_.emplace(request.data, std::move(*file));
  log::info("event=data_made data={} tenant={} bytes={}", to_string(request.data),
            request.terms.tenant.uid, request.terms.bytes.value);
  tell(DataMade{request.data});
}

void DataService::obey(const SealData& request) {
  const auto file = files_.find(request.data);
  if (file == files_.end()) return tell(DataDropped{request.data, DataEnd::unknown});
  book_.begin_to_seal(request, clock_now());
  auto same = file->second.duplicate();
  if (!same) return sealed(request.data, fail(std::move(same.error())));
  slow_.seal(std::move(*same), [this, alive = std::weak_ptr(alive_),
                                data = request.data](const Result<void>& result) {
    if (!alive.expired()) sealed(data, result);
  });
}

/// It may have been dropped meanwhile, of which the gateway has heard.
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
  for (auto& [data, file] : std::exchange(files_, {})) slow_.close(std::move(file));
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

Result<DataService::Opened> DataService::take(const DataId& data, std::uint32_t tenant) {
  const auto bytes = book_.pin(data, tenant, clock_now());
  if (!bytes) return fail(bytes.error());
  auto file = files_.at(data).open_to_read();
  if (!file) {
    book_.unpin(data);
    return fail(std::move(file.error()));
  }
  return Opened{*bytes, std::move(*file)};
}

}  // namespace orchid::executor
