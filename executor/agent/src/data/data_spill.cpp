#include "data/data_spill.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "data/clock_now.h"
#include "foundation/log.h"

namespace orchid::executor {
namespace {

const Failure the_end{ErrorCode::lease_ended, "the executor's grant ends"};

}  // namespace

DataSpill::DataSpill(Parts parts, Handlers handlers)
    : parts_(std::move(parts)), handlers_(std::move(handlers)) {}

DataSpill::~DataSpill() {
  if (moving_) *moving_->stop = true;
}

void DataSpill::make_room(const DataBook::Demand& demand, std::optional<DataId> room,
                          MonotonicTime due, Done done) {
  if (ended_) return done(fail(the_end));
  if (!moving_) trouble_.reset();
  // Where nothing can be put on disk, because nothing is left that could be, it may be soon: what
  // is under way is for somebody who came before.
  const bool has_to_wait =
      !parts_.book.fits(demand) && (moving_ || parts_.book.next_to_spill(demand));
  if (!has_to_wait) return done({});
  waiting_.push_back(
      {.demand = demand, .room = room, .back = std::nullopt, .due = due, .done = std::move(done)});
  advance();
}

void DataSpill::bring_back(const DataId& data, MonotonicTime due, Done done) {
  const auto demand = parts_.book.demand_of(data);
  if (!demand) return done({});
  if (ended_) return done(fail(the_end));
  const bool is_first = !readers_.contains(data);
  readers_[data].push_back({due, std::move(done)});
  if (!is_first) return;
  waiting_.push_back({.demand = *demand,
                      .room = std::nullopt,
                      .back = data,
                      .due = MonotonicTime::max(),
                      .done = {}});
  advance();
}

/// Who has come first is served first. Handlers may bring more.
void DataSpill::advance() {
  while (!moving_ && !waiting_.empty()) {
    if (write_for(waiting_.front())) return;
    const Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    if (first.back)
      read(first);
    else
      first.done({});
  }
}

/// False: nothing can be done for it, or has to be.
bool DataSpill::write_for(Waiting& first) {
  if (first.disk_is_full) return false;
  while (const auto next = parts_.book.next_to_spill(first.demand)) {
    if (!parts_.book.has_file(*next)) {
      write(*next);
      return true;
    }
    leave_to_its_file(*next);
  }
  return false;
}

/// It is on disk already.
void DataSpill::leave_to_its_file(const DataId& data) {
  static_cast<void>(parts_.book.begin_spill(data));
  handlers_.ending(data);
  if (parts_.book.end_spill(data, /*written=*/true))
    handlers_.on_disk(data);
  else
    handlers_.stays(data);
}

void DataSpill::write(const DataId& data) {
  const ByteCount bytes = parts_.book.begin_spill(data);
  moving_ = Move{data};
  thread_.run([this, alive = std::weak_ptr(alive_), post = parts_.post, data, bytes,
               stop = moving_->stop, directory = parts_.directory,
               object = std::optional(handlers_.duplicate(data))]() mutable {
    auto file = *object ? SpillFile::write(directory, **object, bytes, *stop)
                        : Result<SpillFile>(fail(object->error()));
    object.reset();  // before anybody counts on the pages being gone
    post([this, alive, data, file = std::move(file)]() mutable {
      if (!alive.expired()) written(data, std::move(file));
    });
  });
}

void DataSpill::written(const DataId& data, Result<SpillFile> file) {
  moving_.reset();
  handlers_.ending(data);
  const bool is_there = parts_.book.end_spill(data, file.has_value());
  if (!is_there) handlers_.stays(data);
  if (is_there) {
    ++spilled_;
    trouble_.reset();
    log::info("event=data_spilled data={}", to_string(data));
    files_.emplace(data, std::make_shared<const SpillFile>(std::move(*file)));
    handlers_.on_disk(data);
  } else if (file) {
    dispose(std::move(*file));
  } else if (file.error().code != ErrorCode::cancelled) {
    ++failed_;
    trouble_ = file.error().message;
    log::warn("event=data_not_spilled data={} code={} reason=\"{}\"", to_string(data),
              to_string(file.error().code), file.error().message);
    if (!waiting_.empty()) waiting_.front().disk_is_full = true;
  }
  advance();
}

void DataSpill::read(const Waiting& request) {
  const DataId data = *request.back;
  // It may have been dropped meanwhile: who wants it sees that.
  if (!parts_.book.is_on_disk(data)) return answer_readers(data, {});
  const auto evicted = parts_.book.begin_return(data, clock_now());
  if (!evicted) return answer_readers(data, fail(explain(evicted.error())));
  moving_ = Move{data};
  auto reader = handlers_.reader_of(data);
  if (!reader)
    reader = [file = files_.at(data)](ByteCount bytes, const std::atomic<bool>& stop) {
      return file->read(bytes, stop);
    };
  thread_.run([this, alive = std::weak_ptr(alive_), post = parts_.post, data,
               bytes = request.demand.bytes, stop = moving_->stop, reader = std::move(reader)] {
    post([this, alive, data, object = reader(bytes, *stop)]() mutable {
      if (!alive.expired()) was_read(data, std::move(object));
    });
  });
  for (const DataId& one : *evicted) handlers_.evicted(one);
}

void DataSpill::was_read(const DataId& data, Result<MemoryFile> object) {
  moving_.reset();
  const bool is_there = parts_.book.end_return(data, object.has_value());
  if (is_there) {
    ++returned_;
    log::info("event=data_read_back data={}", to_string(data));
    close(data);
  }
  Result<void> result;
  if (object)
    handlers_.returned(data, std::move(*object), is_there);
  else if (parts_.book.is_on_disk(data))
    result = fail(std::move(object.error()).while_doing("reading data back from disk"));
  if (!result)
    log::error("event=data_not_read_back data={} reason=\"{}\"", to_string(data),
               result.error().message);
  const bool is_spoiled = !result && result.error().code == ErrorCode::data_lost;
  answer_readers(data, result);
  if (is_spoiled) handlers_.spoiled(data);
  advance();
}

void DataSpill::answer_readers(const DataId& data, const Result<void>& result) {
  const auto readers = readers_.extract(data);
  if (readers.empty()) return;
  for (const Reader& reader : readers.mapped()) reader.done(result);
}

Failure DataSpill::explain(Failure why) const {
  if (parts_.directory.empty() || why.code != ErrorCode::no_data_memory) return why;
  why.message += "; " + to_string(parts_.book.on_disk()) + " of " + to_string(parts_.book.disk()) +
                 " are on disk";
  if (trouble_) why.message += ", and no more goes there: " + *trouble_;
  return why;
}

/// The kernel gives a large file's blocks back, which takes it a while.
void DataSpill::dispose(SpillFile file) {
  closing_.run([file = std::move(file)] {});
}

void DataSpill::close(const DataId& data) {
  auto file = files_.extract(data);
  if (!file.empty()) closing_.run([file = std::move(file.mapped())]() mutable { file.reset(); });
}

void DataSpill::dropped(const DataId& data) {
  if (moving_ && moving_->data == data) *moving_->stop = true;
  close(data);
}

/// Whoever is told may ask for something else at once.
template <typename Which>
void DataSpill::refuse_rooms(Which which, const Failure& why) {
  std::deque<Waiting> refused;
  const auto goes = [&](const Waiting& one) { return !one.back && which(one); };
  for (const Waiting& one : waiting_)
    if (goes(one)) refused.push_back(one);
  std::erase_if(waiting_, goes);
  for (const Waiting& one : refused) one.done(fail(why));
}

template <typename Which>
void DataSpill::refuse_readers(Which which, const Failure& why) {
  std::vector<Reader> refused;
  for (auto& [data, readers] : readers_) {
    std::ranges::copy_if(readers, std::back_inserter(refused), which);
    std::erase_if(readers, which);
  }
  for (const Reader& reader : refused) reader.done(fail(why));
}

void DataSpill::cancel(std::optional<DataId> room) {
  refuse_rooms([&](const Waiting& one) { return one.room && (!room || one.room == room); },
               {ErrorCode::cancelled, "the room is not wanted any more"});
}

void DataSpill::tick(MonotonicTime now) {
  refuse_rooms([now](const Waiting& one) { return one.due <= now; },
               {ErrorCode::no_capacity,
                "what makes room for the data is still being written to disk: try again"});
  refuse_readers([now](const Reader& one) { return one.due <= now; },
                 {ErrorCode::no_capacity,
                  "the data was put on disk, and is still being read back: try again"});
}

void DataSpill::end() {
  ended_ = true;
  if (moving_) *moving_->stop = true;
  while (!files_.empty()) close(files_.begin()->first);
  refuse_rooms([](const Waiting&) { return true; }, the_end);
  refuse_readers([](const Reader&) { return true; }, the_end);
  waiting_.clear();
  readers_.clear();
}

void DataSpill::count(std::map<std::string, std::uint64_t>& counters) const {
  if (parts_.directory.empty()) return;
  counters["data_spilled"] = spilled_;
  counters["data_read_back"] = returned_;
  counters["data_not_spilled"] = failed_;
  counters["data_on_disk_bytes"] = parts_.book.on_disk().value;
}

}  // namespace orchid::executor
