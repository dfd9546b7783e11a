// Objects that are on disk: in place of memory, or as files that outlive us.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "data/clock_now.h"
#include "data/data_service.h"
#include "foundation/log.h"

namespace orchid::executor {
namespace {

/// Of what is on disk and is to have a file: until it is in memory again.
constexpr std::chrono::seconds file_patience{60};

}  // namespace

DataSpill::Handlers DataService::spill_handlers() {
  return {.duplicate = [this](const DataId& data) { return files_.at(data).duplicate(); },
          .ending = [this](const DataId& data) { keep_if_open(data); },
          .stays = [this](const DataId& data) { close_if_unused(data); },
          .on_disk =
              [this](const DataId& data) { slow_.close(std::move(files_.extract(data).mapped())); },
          .reader_of = [this](const DataId& data) { return durable_.reader_of(data); },
          .spoiled = [this](const DataId& data) { file_spoiled(data); },
          .evicted = [this](const DataId& data) { evicted(data); },
          .returned =
              [this](const DataId& data, MemoryFile file, bool wanted) {
                if (wanted)
                  files_.emplace(data, std::move(file));
                else
                  slow_.close(std::move(file));
              }};
}

void DataService::prepare_room(std::uint32_t tenant, ByteCount bytes,
                               std::chrono::milliseconds within, Done done) {
  const DataBook::Demand demand{tenant, bytes};
  spill_.make_room(demand, std::nullopt, clock_now() + within,
                   [this, demand, done = std::move(done)](const Result<void>& there) {
                     if (!there) return done(there);
                     sparing_.make_room(demand, [done] { done({}); });
                   });
}

void DataService::prepare(const DataId& data, std::chrono::milliseconds within, Done done) {
  spill_.bring_back(data, clock_now() + within, std::move(done));
}

void DataService::adopt_files() {
  const DurableFolder::Found found = durable_.find();
  files_ignored_ = found.ignored;
  for (const DataHeld& held : found.held) {
    const auto adopted = book_.adopt(held, clock_now());
    if (adopted) {
      durable_.adopt(held);
      continue;
    }
    ++files_ignored_;
    log::error("event=durable_file_ignored data={} tenant={} reason=\"{}\"", to_string(held.data),
               held.terms.tenant.uid, adopted.error().message);
  }
}

void DataService::count(std::map<std::string, std::uint64_t>& counters) const {
  spill_.count(counters);
  if (files_ignored_ != 0) counters["data_files_ignored"] = files_ignored_;
}

/// It is sealed when its file is on the disk, or not at all. It may be dropped while it waits for
/// the disk: its memory is charged for as long as that has it open.
void DataService::write_file(const DataId& data) {
  if (durable_.is_writing(data)) return;
  DataHeld held = book_.describe(data, clock_now());
  held.created_ago = {};
  write_held(std::move(held),
             [this, data](Result<std::string> digest) { file_written(data, std::move(digest)); });
}

void DataService::write_held(DataHeld held, std::function<void(Result<std::string>)> done) {
  const DataId data = held.data;
  auto same = files_.at(data).duplicate();
  if (!same) return done(fail(std::move(same.error())));
  book_.keep(data);
  durable_.write(std::move(held), std::move(*same),
                 {.closed = [this, data] { leave(data); }, .done = std::move(done)});
}

/// One answer is enough for who asks twice. What is on disk for want of memory is read back first.
void DataService::obey(const FileData& request) {
  if (filing_.contains(request.data)) return;
  prepare(request.data, file_patience, [this, request](const Result<void>& there) {
    if (!there) return refuse_file(request.data, there.error());
    begin_filing(request);
  });
}

void DataService::begin_filing(const FileData& request) {
  const DataId data = request.data;
  if (ended_) return refuse_file(data, {ErrorCode::lease_ended, "the executor's grant ends"});
  if (filing_.contains(data)) return;
  const auto wanted = book_.want_file(data, request.expires_in, clock_now());
  if (!wanted) return refuse_file(data, wanted.error());
  if (!*wanted) return tell(DataFiled{data});
  DataHeld held = book_.describe(data, clock_now());
  if (const auto may = DataDurable::check_queue(book_.unwritten(held.terms.tenant.uid, data));
      !may) {
    book_.has_no_file(data);
    return refuse_file(data, may.error());
  }
  filing_.insert(data);
  write_held(std::move(held),
             [this, data](Result<std::string> digest) { filed(data, std::move(digest)); });
}

/// It stays what it was if its file could not be written.
void DataService::filed(const DataId& data, Result<std::string> digest) {
  filing_.erase(data);
  if (!digest) {
    book_.has_no_file(data);
    return refuse_file(
        data, {digest.error().code, "its file could not be written: " + digest.error().message});
  }
  book_.keep_file(data);
  book_.keep_digest(data, std::move(*digest));
  log::info("event=data_kept data={}", to_string(data));
  tell(DataFiled{data});
}

void DataService::refuse_file(const DataId& data, const Failure& why) {
  log::warn("event=data_not_kept data={} code={} reason=\"{}\"", to_string(data),
            to_string(why.code), why.message);
  tell(DataNotFiled{data, why.code, why.message});
}

void DataService::file_written(const DataId& data, Result<std::string> digest) {
  if (digest) {
    book_.keep_file(data);
    book_.keep_digest(data, std::move(*digest));
    log::info("event=data_kept data={}", to_string(data));
    return sealed(data, {});
  }
  log::warn("event=data_not_kept data={} code={} reason=\"{}\"", to_string(data),
            to_string(digest.error().code), digest.error().message);
  book_.drop(data);
  forget(data);
  tell(DataRefused{data, digest.error().code,
                   "its file could not be written: " + digest.error().message});
}

/// Only when no executor will find it again: who has heard of it need not tell the next one.
void DataService::tell_when_gone(const DataDropped& dropped) {
  durable_.when_gone(dropped.data, [this, dropped] { tell(dropped); });
}

/// The bytes that somebody may have read before were the right ones; there are none now. Whoever
/// finds the file again sees the same.
void DataService::file_spoiled(const DataId& data) {
  durable_.spoiled(data);
  if (!book_.drop(data)) return;
  forget(data);
  tell(DataDropped{data, DataEnd::spoiled});
}

}  // namespace orchid::executor
