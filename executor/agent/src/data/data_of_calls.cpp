#include "data/data_of_calls.h"

#include <string>
#include <utility>

#include "foundation/log.h"

namespace orchid::executor {

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
    case ServiceAsk::create_data:
      return create(asker, ByteCount{request.bytes});
    case ServiceAsk::seal_data:
      return seal(asker, request);
    case ServiceAsk::publish_data:
      return publish(asker);
    case ServiceAsk::discard_data:
      discard(worker, /*sealed_too=*/true);
      return done(asker);
  }
}

/// What has an id and is here needs nobody else. A name means the newest of all hosts, which only
/// the gateway knows.
void DataOfCalls::open(const Asker& asker, const ServiceRequest& request) {
  std::string reference = request.name;
  if (reference.empty()) {
    if (parts_.data.book().has_for(request.data, asker.tenant.uid))
      return give(asker, request.data);
    reference = to_string(request.data);
  }
  find(asker, std::move(reference));
}

void DataOfCalls::find(const Asker& asker, std::string reference) {
  if (!names_data_)
    return refuse(asker, {ErrorCode::unreachable,
                          "no gateway that knows what data is called is connected; try again"});
  const std::uint64_t number = ++last_question_;
  const LeaseTenant tenant = asker.tenant;
  put(asker, number, {});
  parts_.tell(FindData{.question = number, .tenant = tenant, .reference = std::move(reference)});
}

void DataOfCalls::put(Asker asker, std::uint64_t number, std::vector<DataId> offered) {
  questions_.emplace(number, Question{.asker = std::move(asker),
                                      .due = std::chrono::steady_clock::now() + answer_within,
                                      .offered = std::move(offered)});
}

/// The worker has it mapped from then on, until it is dropped or the worker ends.
void DataOfCalls::give(const Asker& asker, const DataId& data) {
  const auto worker = find_worker(asker.worker);
  if (worker == nullptr) return;
  auto taken = parts_.data.take(data, asker.tenant.uid);
  if (!taken) return refuse(asker, taken.error());
  const auto leave = [&service = parts_.data, data] { service.leave(data); };
  if (worker->has_data(data, [](const Result<ByteCount>&) {}))
    leave();  // it has it once already
  else
    worker->adopt_data(data, taken->bytes, leave);
  done(asker, data, taken->bytes, taken->file.get());
}

void DataOfCalls::create(const Asker& asker, ByteCount most) {
  const auto worker = find_worker(asker.worker);
  if (worker == nullptr) return;
  auto room = parts_.data.make_in_call(asker.tenant, most, asker.worker);
  if (!room) return refuse(asker, room.error());
  worker->give_addresses(most);
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
  if (request.name.find('@') != std::string::npos)
    return refuse(
        asker, {ErrorCode::bad_request, "the gateway gives data its version: name it without one"});
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
void DataOfCalls::publish(const Asker& asker) {
  const auto told = published_.find(asker.worker);
  if (told != published_.end() && told->second.sequence == asker.sequence)
    return asker.answer(told->second, -1);
  for (const auto& [number, question] : questions_)
    if (question.asker.worker == asker.worker && question.asker.sequence == asker.sequence) return;
  offer({.tenant = asker.tenant,
         .worker = asker.worker,
         .sequence = asker.sequence,
         .answer = [this, worker = asker.worker, answer = asker.answer](const ServiceAnswer& said,
                                                                        int descriptor) {
           if (find_worker(worker) != nullptr) published_[worker] = said;
           answer(said, descriptor);
         }});
}

void DataOfCalls::offer(const Asker& asker) {
  discard(asker.worker, /*sealed_too=*/false);
  PublishData message{.question = ++last_question_, .objects = {}};
  std::vector<DataId> offered;
  for (const DataBook::MadeInCall& made : parts_.data.book().made_by(asker.worker)) {
    message.objects.push_back({made.data, made.terms});
    offered.push_back(made.data);
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

void DataOfCalls::discard(std::uint64_t worker, bool sealed_too) {
  for (const DataBook::MadeInCall& made : parts_.data.book().made_by(worker)) {
    if (made.sealed && !sealed_too) continue;
    close_room(worker, made.data);
    parts_.data.discard(made.data);
  }
}

void DataOfCalls::obey(const DataFound& message) {
  auto question = questions_.extract(message.question);
  if (!question.empty() && question.mapped().offered.empty())
    give(question.mapped().asker, message.data);
}

void DataOfCalls::obey(const DataAccepted& message) {
  auto question = questions_.extract(message.question);
  const bool late = question.empty() || find_worker(question.mapped().asker.worker) == nullptr;
  for (const DataAccepted::Object& object : message.objects) {
    // Nobody has had an answer, and the call runs again: this was not it.
    if (late) parts_.data.discard(object.data);
    if (late || !parts_.data.publish(object, message.holder_uid))
      parts_.tell(DataDropped{object.data, DataEnd::expired});
    else
      log::info("event=data_made data={} worker={} version={}", to_string(object.data),
                question.mapped().asker.worker, object.version);
  }
  if (!late) done(question.mapped().asker);
}

void DataOfCalls::obey(const DataDeclined& message) {
  auto question = questions_.extract(message.question);
  if (!question.empty()) decline(std::move(question.mapped()), {message.code, message.message});
}

void DataOfCalls::decline(Question question, const Failure& why) {
  for (const DataId& data : question.offered) parts_.data.discard(data);
  refuse(question.asker, why);
}

void DataOfCalls::begin(bool names_data, bool resumed) {
  names_data_ = names_data;
  if (resumed) return;
  for (auto& [number, question] : std::exchange(questions_, {}))
    decline(std::move(question),
            {ErrorCode::unreachable, "the gateway has started anew; try again"});
}

void DataOfCalls::tick(MonotonicTime now) {
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

void serve_calls(DepotPool& depots, DataOfCalls& data, WorkerPool& workers) {
  const auto asked = [&](Depot& depot, const DepotAsked& message) {
    // When there is an answer, the depot may be another one.
    data.ask(depot.tenant(), message.worker, message.request,
             [&depots, uid = depot.tenant().uid, worker = message.worker](
                 const ServiceAnswer& answer, int descriptor) {
               if (Depot* now = depots.find(uid)) now->answer({worker, answer}, descriptor);
             });
  };
  const auto nonsense = [&](std::uint64_t id) {
    const auto worker = workers.alive().find(id);
    if (worker == workers.alive().end()) return;
    log::warn("event=worker_sent_nonsense worker={} to=depot", id);
    worker->second->kill(KillReason::nonsense);
  };
  depots.set_handlers({.asked = asked, .nonsense = nonsense});
  workers.watch_ends([&](std::uint64_t worker) {
    depots.leave(worker);
    data.worker_ended(worker);
  });
}

/// What it has offered is out of its hands; the answer finds that it has ended.
void DataOfCalls::worker_ended(std::uint64_t worker) {
  std::erase_if(questions_, [&](const auto& entry) {
    return entry.second.asker.worker == worker && entry.second.offered.empty();
  });
  published_.erase(worker);
  discard(worker, /*sealed_too=*/true);
}

}  // namespace orchid::executor
