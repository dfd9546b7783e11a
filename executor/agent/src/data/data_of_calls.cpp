#include "data/data_of_calls.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "data/clock_now.h"
#include "foundation/log.h"
#include "foundation/numbers.h"
#include "foundation/random.h"
#include "protocol/names.h"

namespace orchid::executor {
namespace {

/// A worker waits for half a minute for what it has asked.
constexpr std::chrono::seconds disk_patience{20};

std::uint64_t random_number() {
  std::array<std::uint64_t, 1> number{};
  fill_random(std::as_writable_bytes(std::span(number)));
  return number.front() >> 1U;  // so that it never wraps
}

/// "NAME", or "NAME@VERSION" if that may be.
Result<void> check_name(std::string_view name, bool with_version) {
  const std::size_t at = name.find('@');
  if (at != std::string_view::npos && !with_version)
    return fail(ErrorCode::bad_request, "the gateway gives data its version: name it without one");
  if (at != std::string_view::npos && !parse_number<std::uint64_t>(name.substr(at + 1)))
    return fail(ErrorCode::bad_request, "a version is a number");
  return check_function_name(name.substr(0, at));
}

bool is_about(const DataAccepted& message, const std::vector<DataId>& offered) {
  return std::ranges::equal(message.objects, offered, {}, &DataAccepted::Object::data);
}

}  // namespace

DataOfCalls::DataOfCalls(Parts parts)
    : parts_(std::move(parts)), last_question_(random_number()), next_question_(parts_.io) {}

void DataOfCalls::refuse(const Asker& asker, const Failure& why) {
  asker.answer({.verdict = ServiceVerdict::refused,
                .sequence = asker.sequence,
                .code = why.code,
                .message = why.message},
               -1);
}

void DataOfCalls::done(const Asker& asker, const DataId& data, ByteCount bytes, int descriptor) {
  asker.answer({.verdict = ServiceVerdict::done,
                .sequence = asker.sequence,
                .data = data,
                .bytes = bytes.value},
               descriptor);
}

std::shared_ptr<WorkerProcess> DataOfCalls::find_worker(std::uint64_t worker) const {
  const auto found = parts_.workers.alive().find(worker);
  return found == parts_.workers.alive().end() ? nullptr : found->second;
}

void DataOfCalls::ask(const LeaseTenant& tenant, std::uint64_t worker,
                      const ServiceRequest& request, const Answer& answer) {
  const Asker asker{
      .tenant = tenant, .worker = worker, .sequence = request.sequence, .answer = answer};
  switch (request.ask) {
    case ServiceAsk::open_data:
      return open(asker, request);
    case ServiceAsk::locate_data:
      return locate(asker, request);
    case ServiceAsk::create_data:
      return create(asker, ByteCount{request.bytes});
    case ServiceAsk::seal_data:
      return seal(asker, request);
    case ServiceAsk::publish_data:
      return publish(asker, request.bytes);
    case ServiceAsk::discard_data:
      // When the memory is there again: the next call may need it.
      return discard(worker, /*sealed_too=*/true, [asker] { done(asker); });
    case ServiceAsk::open_memory:
    case ServiceAsk::create_module:
    case ServiceAsk::make_module:
    case ServiceAsk::share_module:
    case ServiceAsk::fetch_module:
      break;
  }
}

/// What has an id and is here needs nobody else. A name means the newest of all hosts, which only
/// the gateway knows.
void DataOfCalls::open(const Asker& asker, const ServiceRequest& request) {
  if (!request.name.empty()) {
    if (auto checked = check_name(request.name, /*with_version=*/true); !checked)
      return refuse(asker, checked.error());
    return find(asker, request.name);
  }
  if (parts_.data.book().is_sealed_by(request.data, asker.worker))
    return refuse(asker, {ErrorCode::conflict,
                          "what a call has made is opened by others, when the call has succeeded"});
  if (parts_.data.book().has_for(request.data, asker.tenant.uid, asker.worker))
    return give(asker, request.data);
  find(asker, to_string(request.data));
}

void DataOfCalls::find(const Asker& asker, std::string reference) {
  if (!names_data_)
    return refuse(asker, {ErrorCode::unreachable,
                          "no gateway that knows what data is called is connected; try again"});
  TenantsQuestions& own = tenants_[asker.tenant.uid];
  if (own.waiting.size() >= most_waiting)
    return refuse(asker, {ErrorCode::no_capacity,
                          "too many calls of yours are asking for data by name; try again"});
  own.waiting.push_back({asker, std::move(reference)});
  send_waiting();
}

void DataOfCalls::send_waiting() {
  MonotonicTime next = MonotonicTime::max();
  const MonotonicTime now = clock_now();
  for (auto& [uid, own] : tenants_) {
    while (!own.waiting.empty() && own.tokens.take(now)) {
      Wanted wanted = std::move(own.waiting.front());
      own.waiting.pop_front();
      send(std::move(wanted));
    }
    if (!own.waiting.empty()) next = std::min(next, own.tokens.ready_at());
  }
  if (next != MonotonicTime::max())
    next_question_.begin(std::chrono::ceil<std::chrono::milliseconds>(
                             std::max(next - now, MonotonicTime::duration::zero())),
                         [this] { send_waiting(); });
}

void DataOfCalls::send(Wanted wanted) {
  const std::uint64_t number = ++last_question_;
  const LeaseTenant tenant = wanted.asker.tenant;
  put(std::move(wanted.asker), number, {});
  parts_.tell(
      FindData{.question = number, .tenant = tenant, .reference = std::move(wanted.reference)});
}

void DataOfCalls::put(Asker asker, std::uint64_t number, std::vector<DataId> offered) {
  questions_.emplace(number, Question{.asker = std::move(asker),
                                      .due = clock_now() + answer_within,
                                      .offered = std::move(offered)});
}

/// Nothing is read back for who would not get it.
void DataOfCalls::give(const Asker& asker, const DataId& data) {
  if (asker.locates) return tell_place(asker, data);
  if (!parts_.data.book().has_for(data, asker.tenant.uid, asker.worker))
    return give_from_memory(asker, data);
  parts_.data.prepare(data, disk_patience, [this, asker, data](const Result<void>& there) {
    if (!there) return refuse(asker, there.error());
    give_from_memory(asker, data);
  });
}

/// The worker has it mapped from then on, until it is dropped, or not opened for long.
void DataOfCalls::give_from_memory(const Asker& asker, const DataId& data) {
  const auto worker = find_worker(asker.worker);
  if (worker == nullptr) return;
  auto taken = parts_.data.take(data, asker.tenant.uid, asker.worker);
  if (!taken) return refuse(asker, taken.error());
  const auto leave = [&service = parts_.data, data] { service.leave(data); };
  if (worker->knows_data(data)) {
    worker->use_data(data, clock_now());
    leave();  // it has it once already
  } else {
    worker->adopt_data(data, taken->bytes, clock_now(), leave);
  }
  done(asker, data, taken->bytes, taken->file.get());
}

/// What was asked for once more is the same room.
void DataOfCalls::create(const Asker& asker, ByteCount most) {
  if (find_worker(asker.worker) == nullptr) return;
  const auto last = creations_.find(asker.worker);
  if (last != creations_.end() && last->second.sequence == asker.sequence)
    return create_again(asker);
  creations_[asker.worker] = {.sequence = asker.sequence, .room = std::nullopt};
  parts_.data.prepare_room(asker.tenant.uid, most, disk_patience,
                           [this, asker, most](const Result<void>& there) {
                             const auto now = creations_.find(asker.worker);
                             // Its call has ended meanwhile.
                             if (now == creations_.end() || now->second.sequence != asker.sequence)
                               return;
                             if (there) return create_prepared(asker, most);
                             creations_.erase(now);
                             refuse(asker, there.error());
                           });
}

/// One that waits for the disk is answered then, through whatever depot there is.
void DataOfCalls::create_again(const Asker& asker) {
  const Creation& last = creations_.at(asker.worker);
  if (!last.room) return;
  auto room = parts_.data.open_again(*last.room, asker.worker);
  if (!room) return refuse(asker, room.error());
  done(asker, room->data, rooms_.at(room->data), room->file.get());
}

void DataOfCalls::create_prepared(const Asker& asker, ByteCount most) {
  auto room = parts_.data.make_in_call(asker.tenant, most, asker.worker);
  if (!room) {
    creations_.erase(asker.worker);
    return refuse(asker, room.error());
  }
  creations_.at(asker.worker).room = room->data;
  if (const auto worker = find_worker(asker.worker)) worker->give_addresses(most);
  rooms_.emplace(room->data, most);
  done(asker, room->data, most, room->file.get());
}

void DataOfCalls::close_room(std::uint64_t worker, const DataId& data) {
  const auto room = rooms_.extract(data);
  if (room.empty()) return;
  if (const auto process = find_worker(worker)) process->take_addresses(room.mapped());
}

void DataOfCalls::seal(const Asker& asker, const ServiceRequest& request) {
  const ByteCount used{request.bytes};
  if (!request.name.empty())
    if (auto checked = check_name(request.name, /*with_version=*/false); !checked)
      return refuse(asker, checked.error());
  parts_.data.seal_in_call(
      {.data = request.data, .worker = asker.worker, .used = used, .name = request.name},
      [this, asker, data = request.data, used](const Result<void>& result) {
        if (!result) return refuse(asker, result.error());
        close_room(asker.worker, data);
        // Its worker may have ended while the kernel looked at the pages: nobody will publish it.
        if (find_worker(asker.worker) == nullptr) return parts_.data.discard(data);
        done(asker, data, used);
      });
}

/// What was not sealed vanishes. A depot that was killed may have lost our answer, or not have it
/// yet: then this comes twice, and is answered once more.
void DataOfCalls::publish(const Asker& asker, std::uint64_t sealed) {
  const auto told = published_.find(asker.worker);
  if (told != published_.end() && told->second.sequence == asker.sequence)
    return asker.answer(told->second, -1);
  for (const auto& [number, question] : questions_)
    if (question.asker.worker == asker.worker && question.asker.sequence == asker.sequence) return;
  const auto answer = [this, worker = asker.worker, answer = asker.answer](
                          const ServiceAnswer& said, int descriptor) {
    if (find_worker(worker) != nullptr) published_[worker] = said;
    answer(said, descriptor);
  };
  offer({.tenant = asker.tenant,
         .worker = asker.worker,
         .sequence = asker.sequence,
         .answer = answer},
        sealed);
}

void DataOfCalls::offer(const Asker& asker, std::uint64_t sealed) {
  discard(asker.worker, /*sealed_too=*/false);
  PublishData message{.question = ++last_question_, .objects = {}};
  std::vector<DataId> offered;
  for (const DataBook::MadeInCall& made : parts_.data.book().made_by(asker.worker)) {
    message.objects.push_back({made.data, made.terms});
    offered.push_back(made.data);
  }
  if (offered.size() < sealed) {
    discard(asker.worker, /*sealed_too=*/true);
    return refuse(asker, {ErrorCode::data_lost,
                          "of " + std::to_string(sealed) + " objects that the call has sealed " +
                              std::to_string(offered.size()) + " are still there"});
  }
  if (offered.empty()) return done(asker);
  if (!names_data_) {
    discard(asker.worker, /*sealed_too=*/true);
    return refuse(asker, {ErrorCode::unreachable,
                          "no gateway that can name the data is connected; try again"});
  }
  put(asker, message.question, std::move(offered));
  parts_.tell(message);
}

/// `done`, if it is one: when all is gone, with its memory.
void DataOfCalls::discard(std::uint64_t worker, bool sealed_too,
                          const std::function<void()>& done) {
  creations_.erase(worker);
  std::vector<DataId> going;
  for (const DataBook::MadeInCall& made : parts_.data.book().made_by(worker))
    if (!made.sealed || sealed_too) going.push_back(made.data);
  const auto left = std::make_shared<std::size_t>(going.size());
  for (const DataId& data : going) {
    close_room(worker, data);
    parts_.data.discard(data, [left, done] {
      if (--*left == 0 && done) done();
    });
  }
  if (going.empty() && done) done();
}

void DataOfCalls::obey(const DataFound& message) {
  auto question = questions_.extract(message.question);
  if (!question.empty() && question.mapped().offered.empty())
    give(question.mapped().asker, message.data);
}

void DataOfCalls::obey(const DataAccepted& message) {
  const auto question = questions_.find(message.question);
  if (question != questions_.end() && is_about(message, question->second.offered))
    return accepted(questions_.extract(question).mapped(), message);
  // Nobody waits for it any more: what was offered has been dropped, or an earlier process had it.
  for (const DataAccepted::Object& object : message.objects)
    if (!parts_.data.book().contains(object.data))
      parts_.tell(DataDropped{object.data, DataEnd::expired});
}

/// From here on the gateway lets older versions go. A worker that has ended has told nobody that
/// its call has succeeded: then the call runs again, and this was not it.
void DataOfCalls::accepted(const Question& question, const DataAccepted& message) {
  const Asker& asker = question.asker;
  auto published = parts_.data.publish(message, asker.worker);
  if (published) return done(asker);
  for (const DataId& data : question.offered) {
    parts_.data.discard(data);
    parts_.tell(DataDropped{data, DataEnd::expired});
  }
  refuse(asker, published.error());
}

void DataOfCalls::obey(const DataDeclined& message) {
  auto question = questions_.extract(message.question);
  if (!question.empty()) decline(std::move(question.mapped()), {message.code, message.message});
}

void DataOfCalls::begin(bool names_data, bool resumed) {
  names_data_ = names_data;
  if (resumed) return;
  const Failure anew{ErrorCode::unreachable, "the gateway has started anew; try again"};
  for (auto& [uid, own] : std::exchange(tenants_, {}))
    for (const Wanted& wanted : own.waiting) refuse(wanted.asker, anew);
  for (auto& [number, question] : std::exchange(questions_, {})) decline(std::move(question), anew);
}

void DataOfCalls::tick(MonotonicTime now) {
  // A tenant that has rested for so long is as good as new.
  std::erase_if(tenants_, [now](const auto& entry) {
    return entry.second.waiting.empty() && entry.second.tokens.is_full(now);
  });
  std::vector<std::uint64_t> late;
  for (const auto& [number, question] : questions_)
    if (question.due <= now) late.push_back(number);
  for (const std::uint64_t number : late) {
    Question question = std::move(questions_.extract(number).mapped());
    // It may have heard of them, and is to forget them.
    for (const DataId& data : question.offered) parts_.tell(DataDropped{data, DataEnd::expired});
    decline(std::move(question),
            {ErrorCode::unreachable, "the gateway does not answer; try again"});
  }
}

void DataOfCalls::worker_ended(std::uint64_t worker) {
  std::erase_if(questions_, [&](const auto& entry) {
    if (entry.second.asker.worker != worker) return false;
    // The gateway may have heard of them, and is to forget them.
    for (const DataId& data : entry.second.offered)
      parts_.tell(DataDropped{data, DataEnd::expired});
    return true;
  });
  for (auto& [uid, own] : tenants_)
    std::erase_if(own.waiting, [&](const Wanted& one) { return one.asker.worker == worker; });
  published_.erase(worker);
  discard(worker, /*sealed_too=*/true);
}

}  // namespace orchid::executor
