// Objects that are kept as files, too.
#include <string>
#include <utility>

#include "data/clock_now.h"
#include "data/data_service.h"
#include "foundation/log.h"

namespace orchid::executor {

void DataService::adopt_files() {
  for (const DataHeld& held : durable_.find()) {
    const auto adopted = book_.adopt(held, clock_now());
    if (adopted)
      durable_.adopt(held);
    else
      log::error("event=durable_file_ignored data={} tenant={} reason=\"{}\"", to_string(held.data),
                 held.terms.tenant.uid, adopted.error().message);
  }
}

/// It is sealed when its file is on the disk, or not at all.
void DataService::write_file(const DataId& data) {
  if (durable_.is_writing(data)) return;
  auto same = files_.at(data).duplicate();
  if (!same) return sealed(data, fail(std::move(same.error())));
  DataHeld held = book_.describe(data, clock_now());
  held.created_ago = {};
  durable_.write(std::move(held), std::move(*same), [this, data](Result<std::string> digest) {
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
  });
}

/// The bytes that somebody may have read before were the right ones; there are none now.
void DataService::file_spoiled(const DataId& data) {
  durable_.spoiled(data);
  if (!book_.drop(data)) return;
  forget(data);
  tell(DataDropped{data, DataEnd::spoiled});
}

}  // namespace orchid::executor
