// Where calls of a crew go that are to go on at a data object.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "data/data_of_calls.h"

namespace orchid::executor {

/// As it is opened, and then nothing is given.
void DataOfCalls::locate(Asker asker, const ServiceRequest& request) {
  const auto worker = find_worker(asker.worker);
  if (worker == nullptr || !worker->crew_seat())
    return refuse(asker, {ErrorCode::bad_request, "only a call of a crew goes on where data is"});
  asker.locates = true;
  asker.located = request.name.empty() ? to_string(request.data) : request.name;
  open(asker, request);
}

/// The object is here, and so are these members. It is best given to one that has it mapped, itself
/// before others; else objects are spread over the members, each going to the same one again.
void DataOfCalls::tell_place(const Asker& asker, const DataId& data) const {
  const auto worker = find_worker(asker.worker);
  if (worker == nullptr) return;
  std::vector<std::shared_ptr<WorkerProcess>> members{worker};
  for (const auto& [id, other] : parts_.workers.alive())
    if (other != worker && other->crew_seat() &&
        other->crew_seat()->wires == worker->crew_seat()->wires)
      members.push_back(other);
  auto chosen =
      std::ranges::find_if(members, [&](const auto& member) { return member->knows_data(data); });
  if (chosen == members.end()) {
    std::ranges::sort(members, {},
                      [](const auto& member) { return member->crew_seat()->place.member; });
    chosen =
        members.begin() + static_cast<std::ptrdiff_t>(std::hash<DataId>()(data) % members.size());
  }
  done(asker, data, ByteCount{(*chosen)->crew_seat()->place.member});
}

void DataOfCalls::decline(Question question, const Failure& why) {
  for (const DataId& data : question.offered) parts_.data.discard(data);
  if (question.asker.locates && why.code == ErrorCode::data_elsewhere)
    return locate_elsewhere(question.asker);
  refuse(question.asker, why);
}

/// The client has placed the crew's members, and may ask the gateway where the object is.
void DataOfCalls::locate_elsewhere(const Asker& asker) const {
  elsewhere_(asker.worker, asker.located, [asker](const Result<std::uint32_t>& member) {
    if (!member) return refuse(asker, member.error());
    done(asker, {}, ByteCount{*member});
  });
}

}  // namespace orchid::executor
