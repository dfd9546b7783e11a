#include "data/data_durable.h"

#include <chrono>
#include <utility>

#include "data/clock_now.h"
#include "foundation/log.h"

namespace orchid::executor {

DataDurable::DataDurable(Poster post, std::optional<DurableFolder> folder)
    : post_(std::move(post)), folder_(std::move(folder)) {}

DurableFolder::Found DataDurable::find() const {
  return folder_ ? folder_->list(std::chrono::system_clock::now()) : DurableFolder::Found{};
}

void DataDurable::adopt(const DataHeld& held) { files_[held.data] = held.terms.tenant.uid; }

Result<void> DataDurable::check_queue(const DataBook::Unwritten& own) {
  if (own.objects < most_writes && own.bytes < most_bytes) return {};
  return fail(ErrorCode::no_capacity,
              std::to_string(own.objects) + " objects of this tenant (" + to_string(own.bytes) +
                  ") are on their way already, and not yet in their files: try again in a few "
                  "seconds");
}

/// One piece of work at a time is at the disk: the others are ours, and can be taken back.
void DataDurable::advance() {
  if (busy_ || ended_) return;
  auto next = turns_.next();
  if (!next) return;
  busy_ = true;
  thread_.run(std::move(next->run));
}

void DataDurable::write(DataHeld held, MemoryFile object, Writing writing) {
  const DurableName name{.tenant = held.terms.tenant.uid, .data = held.data};
  const auto stop = std::make_shared<std::atomic<bool>>(false);
  writes_[name.data] = {.tenant = name.tenant, .stop = stop};
  ++open_;
  writing.closed = [this, closed = std::move(writing.closed)] {
    --open_;
    closed();
  };
  auto closed = writing.closed;
  Task run = [this, alive = std::weak_ptr(alive_), post = post_, folder = *folder_, name, stop,
              held = std::move(held), object = std::optional(std::move(object)),
              writing = std::move(writing)]() mutable {
    auto digest = folder.write(*object, std::move(held), std::chrono::system_clock::now(), *stop);
    object.reset();  // before anybody counts on the pages being nobody's
    post([this, alive, name, stop, writing = std::move(writing),
          digest = std::move(digest)]() mutable {
      if (alive.expired()) return;
      busy_ = false;
      writing.closed();
      written(name, stop, std::move(digest), writing);
      advance();
    });
  };
  turns_.add_last(
      name.tenant,
      {.data = name.data, .is_write = true, .run = std::move(run), .closed = std::move(closed)});
  advance();
}

/// It may have been dropped meanwhile.
void DataDurable::written(const DurableName& name, const Stop& write, Result<std::string> digest,
                          const Writing& writing) {
  const auto awaited = writes_.find(name.data);
  if (awaited == writes_.end() || awaited->second.stop != write) {
    const auto going = going_.find(name.data);
    if (going == going_.end()) return;
    if (!digest) return has_gone(name.data);
    going->second.leave = &DurableFolder::remove;
    return begin_to_leave(going->second);
  }
  writes_.erase(awaited);
  if (digest) files_[name.data] = name.tenant;
  writing.done(std::move(digest));
}

DataDurable::Read DataDurable::reader_of(const DataId& data) const {
  const auto file = files_.find(data);
  if (file == files_.end()) return {};
  return [folder = *folder_, name = DurableName{.tenant = file->second, .data = data}](
             ByteCount bytes, const std::atomic<bool>& stop) {
    return folder.read(name, bytes, stop);
  };
}

/// A write that has not begun is not begun. One that is at the disk may have given the file its
/// name already: whether it has is known when it has ended.
void DataDurable::dropped(const DataId& data) {
  const auto write = writes_.extract(data);
  if (write.empty()) return send_away(data, &DurableFolder::remove);
  const auto [tenant, stop] = write.mapped();
  *stop = true;
  auto queued = turns_.take_out(tenant, [&](const Work& work) { return work.data == data; });
  if (!queued) {
    going_[data].name = {.tenant = tenant, .data = data};
    return;
  }
  forget(std::move(*queued));
}

/// Its descriptor is closed before anybody hears of it.
void DataDurable::forget(Work write) {
  write.run = nullptr;
  post_([alive = std::weak_ptr(alive_), closed = std::move(write.closed)] {
    if (!alive.expired()) closed();
  });
}

void DataDurable::spoiled(const DataId& data) {
  if (!files_.contains(data)) return;
  log::error("event=durable_file_spoiled data={} tenant={}", to_string(data), files_.at(data));
  send_away(data, &DurableFolder::set_aside);
}

void DataDurable::send_away(const DataId& data, Leave leave) {
  const auto file = files_.extract(data);
  if (file.empty()) return;
  Going& going = going_[data];
  going.name = {.tenant = file.mapped(), .data = data};
  going.leave = leave;
  begin_to_leave(going);
}

void DataDurable::begin_to_leave(Going& going) {
  going.due.reset();
  Task run = [this, alive = std::weak_ptr(alive_), post = post_, folder = *folder_,
              name = going.name, leave = going.leave] {
    post([this, alive, data = name.data, result = (folder.*leave)(name)] {
      if (alive.expired()) return;
      busy_ = false;
      left(data, result);
      advance();
    });
  };
  if (ended_) return thread_.run(std::move(run));
  turns_.add_first(going.name.tenant, {.data = going.name.data, .run = std::move(run)});
  advance();
}

void DataDurable::left(const DataId& data, const Result<void>& result) {
  if (result) return has_gone(data);
  const auto found = going_.find(data);
  if (found == going_.end()) return;
  found->second.due = clock_now() + until_retry;
  if (!std::exchange(found->second.has_failed, true))
    log::error("event=durable_file_stays data={} tenant={} reason=\"{}\" retried_every_s={}",
               to_string(data), found->second.name.tenant, result.error().message,
               until_retry.count());
}

void DataDurable::has_gone(const DataId& data) {
  const auto going = going_.extract(data);
  if (going.empty()) return;
  for (const auto& gone : going.mapped().gone) gone();
}

void DataDurable::when_gone(const DataId& data, std::function<void()> done) {
  if (const auto going = going_.find(data); going != going_.end())
    going->second.gone.push_back(std::move(done));
  else
    done();
}

void DataDurable::tick(MonotonicTime now) {
  for (auto& [data, going] : going_)
    if (going.due && *going.due <= now) begin_to_leave(going);
}

void DataDurable::end() {
  ended_ = true;
  for (const auto& [data, write] : writes_) *write.stop = true;
  while (auto work = turns_.next())
    if (work->is_write)
      forget(std::move(*work));
    else
      thread_.run(std::move(work->run));
}

}  // namespace orchid::executor
