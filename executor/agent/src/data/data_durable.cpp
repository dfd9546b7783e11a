#include "data/data_durable.h"

#include <chrono>
#include <utility>

#include "foundation/log.h"

namespace orchid::executor {

DataDurable::DataDurable(Poster post, std::optional<DurableFolder> folder)
    : post_(std::move(post)), folder_(std::move(folder)) {}

std::vector<DataHeld> DataDurable::find() const {
  return folder_ ? folder_->list(std::chrono::system_clock::now()) : std::vector<DataHeld>{};
}

void DataDurable::adopt(const DataHeld& held) { files_[held.data] = held.terms.tenant.uid; }

void DataDurable::write(DataHeld held, MemoryFile object, Done done) {
  const DurableName name{.tenant = held.terms.tenant.uid, .data = held.data};
  const Stop stop = writes_[held.data] = std::make_shared<std::atomic<bool>>(false);
  thread_.run([this, alive = std::weak_ptr(alive_), post = post_, folder = *folder_, name, stop,
               held = std::move(held), object = std::optional(std::move(object)),
               done = std::move(done)]() mutable {
    auto digest = folder.write(*object, std::move(held), std::chrono::system_clock::now(), *stop);
    object.reset();
    post([this, alive, name, stop, done = std::move(done), digest = std::move(digest)]() mutable {
      if (!alive.expired()) written(name, stop, std::move(digest), done);
    });
  });
}

/// It may have been dropped meanwhile.
void DataDurable::written(const DurableName& name, const Stop& write, Result<std::string> digest,
                          const Done& done) {
  const auto awaited = writes_.find(name.data);
  if (awaited == writes_.end() || awaited->second != write) {
    if (digest) thread_.run([folder = *folder_, name] { folder.remove(name); });
    return;
  }
  writes_.erase(awaited);
  if (digest) files_[name.data] = name.tenant;
  done(std::move(digest));
}

DataDurable::Read DataDurable::reader_of(const DataId& data) const {
  const auto file = files_.find(data);
  if (file == files_.end()) return {};
  return [folder = *folder_, name = DurableName{.tenant = file->second, .data = data}](
             ByteCount bytes, const std::atomic<bool>& stop) {
    return folder.read(name, bytes, stop);
  };
}

void DataDurable::dropped(const DataId& data) {
  if (const auto write = writes_.find(data); write != writes_.end()) {
    *write->second = true;
    writes_.erase(write);
  }
  const auto file = files_.find(data);
  if (file == files_.end()) return;
  const DurableName name{.tenant = file->second, .data = data};
  files_.erase(file);
  thread_.run([folder = *folder_, name] { folder.remove(name); });
}

void DataDurable::spoiled(const DataId& data) {
  const auto file = files_.find(data);
  if (file == files_.end()) return;
  const DurableName name{.tenant = file->second, .data = data};
  files_.erase(file);
  log::error("event=durable_file_spoiled data={} tenant={}", to_string(data), name.tenant);
  thread_.run([folder = *folder_, name] { folder.set_aside(name); });
}

void DataDurable::end() {
  for (const auto& [data, stop] : writes_) *stop = true;
}

}  // namespace orchid::executor
