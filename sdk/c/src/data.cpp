// Data objects: each function is a call or two of the C++ API.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "handles.h"

namespace {

using orchid::DataInfo;
using orchid::c::bytes_of;
using orchid::c::guarded;
using orchid::c::text_of;

orchid::DataOptions options_of(const orchid_data_options* stated) {
  orchid::DataOptions options;
  if (stated == nullptr) return options;
  options.if_match = text_of(stated->if_match);
  options.only_new = stated->only_new != 0;
  options.expires_in = std::chrono::seconds(stated->expires_in_s);
  options.copies = std::max(stated->copies, 1U);
  return options;
}

/// What a caller is shown, with what its texts point to.
struct ShownData : orchid_data_info {
  DataInfo info;
  std::vector<const char*> names_of_hosts;
  std::unique_ptr<ShownData> behind;
};

std::unique_ptr<ShownData> show(DataInfo info, std::unique_ptr<ShownData> behind = nullptr) {
  auto one = std::make_unique<ShownData>();
  one->info = std::move(info);
  one->behind = std::move(behind);
  for (const std::string& host : one->info.hosts) one->names_of_hosts.push_back(host.c_str());
  static_cast<orchid_data_info&>(*one) = {.id = one->info.id.c_str(),
                                          .name = one->info.name.c_str(),
                                          .version = one->info.version,
                                          .size = one->info.size,
                                          .state = one->info.state.c_str(),
                                          .created = one->info.created.c_str(),
                                          .expires = one->info.expires.c_str(),
                                          .digest = one->info.digest.c_str(),
                                          .hosts = one->names_of_hosts.data(),
                                          .host_count = one->names_of_hosts.size(),
                                          .copies_wanted = one->info.copies_wanted,
                                          .next = one->behind.get()};
  return one;
}

/// `to` may be NULL.
orchid_status hand_out(std::unique_ptr<ShownData> one, const orchid_data_info** to) {
  if (to != nullptr) *to = one.release();
  return ORCHID_STATUS_OK;
}

[[noreturn]] void throw_errno(const std::string& what) {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT;
  const bool missing = number == ENOENT && what.starts_with("read ");
  throw orchid::Error({.kind = full      ? orchid::ErrorKind::disk_full
                               : missing ? orchid::ErrorKind::not_found
                                         : orchid::ErrorKind::system,
                       .message = what + ": " + std::strerror(number)});
}

class File {
 public:
  File(const std::string& path, int flags)
      : file_(::open(path.c_str(), flags | O_CLOEXEC, 0666)), path_(path) {
    if (file_ < 0) throw_errno(((flags & O_ACCMODE) == O_RDONLY ? "read " : "write ") + path);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] std::uint64_t size() const {
    struct stat status{};
    if (::fstat(file_, &status) != 0) throw_errno("look at " + path_);
    if (!S_ISREG(status.st_mode))
      throw orchid::Error({.kind = orchid::ErrorKind::bad_request,
                           .message = path_ + " is no regular file, and does not tell its size"});
    return static_cast<std::uint64_t>(status.st_size);
  }
  [[nodiscard]] std::size_t read(std::span<std::byte> room) const {
    ssize_t count = -1;
    do count = ::read(file_, room.data(), room.size());
    while (count < 0 && errno == EINTR);
    if (count < 0) throw_errno("read " + path_);
    if (count == 0)
      throw orchid::Error({.kind = orchid::ErrorKind::bad_request,
                           .message = path_ + " ended before its size",
                           .hint = "nothing was kept; put it when it is not being written to"});
    return static_cast<std::size_t>(count);
  }
  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw_errno("write " + path_);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  /// Some file systems say only now that the disk is full.
  void close() {
    if (::close(std::exchange(file_, -1)) != 0) throw_errno("write " + path_);
  }

 private:
  int file_;
  const std::string path_;
};

/// A file that takes the place of another one when it is whole, and is removed if not.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)), file_(beside_, O_WRONLY | O_CREAT | O_EXCL) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!beside_.empty()) ::unlink(beside_.c_str());
  }
  void write(std::span<const std::byte> bytes) const { file_.write(bytes); }
  void finish() {
    file_.close();
    if (::rename(beside_.c_str(), path_.c_str()) != 0) throw_errno("make " + path_);
    beside_.clear();
  }

 private:
  static std::string name_beside(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
      throw orchid::Error({.kind = orchid::ErrorKind::bad_request,
                           .message = path + " is no regular file: give another name"});
    static std::atomic<unsigned> number{0};
    return path + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  }
  const std::string path_;
  std::string beside_ = name_beside(path_);
  File file_;
};

/// All bytes of the version that `info` is of.
void fetch(orchid_client* client, const DataInfo& info, std::span<std::byte> room) {
  std::span<std::byte> left = room.first(info.size);
  client->client.get_data(info.id, [&left](std::span<const std::byte> bytes) {
    const std::size_t count = std::min(bytes.size(), left.size());
    std::copy_n(bytes.begin(), count, left.begin());
    left = left.subspan(count);
  });
  if (!left.empty())
    throw orchid::Error(
        {.kind = orchid::ErrorKind::internal,
         .message = "the gateway has sent less of " + info.label() + " than it is"});
}

}  // namespace

void orchid_data_info_free(const orchid_data_info* info) {
  // One by one: a list may be long.
  auto* one = static_cast<ShownData*>(const_cast<orchid_data_info*>(info));
  while (one != nullptr) {
    const std::unique_ptr<ShownData> freed(one);
    one = freed->behind.release();
  }
}

orchid_status orchid_data_put(orchid_client* client, const char* name, const void* bytes,
                              size_t size, const orchid_data_options* options,
                              const orchid_data_info** made) {
  return guarded([&] {
    return hand_out(
        show(client->client.put_data(text_of(name), bytes_of(bytes, size), options_of(options))),
        made);
  });
}

orchid_status orchid_data_put_file(orchid_client* client, const char* name, const char* path,
                                   const orchid_data_options* options,
                                   const orchid_data_info** made) {
  return guarded([&] {
    const File file(path, O_RDONLY | O_NONBLOCK);  // a FIFO without a writer is refused at once
    const auto read = [&file](std::span<std::byte> room) { return file.read(room); };
    return hand_out(
        show(client->client.put_data(text_of(name), file.size(), read, options_of(options))), made);
  });
}

orchid_status orchid_data_get(orchid_client* client, const char* reference, orchid_bytes* bytes) {
  return guarded([&] {
    const DataInfo info = client->client.describe_data(reference);
    std::unique_ptr<void, decltype(&std::free)> room(
        std::malloc(std::max<std::size_t>(info.size, 1)), std::free);
    if (!room) throw std::bad_alloc();
    fetch(client, info, orchid::c::room_of(room.get(), info.size));
    *bytes = {.data = room.release(), .size = info.size};
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_data_get_into(orchid_client* client, const char* reference, void* room,
                                   size_t capacity, size_t* size) {
  return guarded([&] {
    const DataInfo info = client->client.describe_data(reference);
    *size = info.size;
    if (info.size > capacity)
      throw orchid::Error({.kind = orchid::ErrorKind::too_large,
                           .message = info.label() + " has " + std::to_string(info.size) +
                                      " bytes, and there is room for " + std::to_string(capacity),
                           .hint = "give it room for all of them"});
    fetch(client, info, orchid::c::room_of(room, capacity));
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_data_get_file(orchid_client* client, const char* reference, const char* path) {
  return guarded([&] {
    NewFile file(path);
    client->client.get_data(reference,
                            [&file](std::span<const std::byte> bytes) { file.write(bytes); });
    file.finish();
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_data_map(orchid_client* client, const char* reference,
                              orchid_data_mapping** mapping) {
  return guarded([&] {
    *mapping = std::make_unique<orchid_data_mapping>(client->client.map_data(reference)).release();
    return ORCHID_STATUS_OK;
  });
}

const void* orchid_data_mapping_bytes(const orchid_data_mapping* mapping, size_t* size) {
  const std::span<const std::byte> bytes = mapping->data.bytes();
  *size = bytes.size();
  return bytes.data();
}

void orchid_data_mapping_free(orchid_data_mapping* mapping) { delete mapping; }

orchid_status orchid_data_describe(orchid_client* client, const char* reference,
                                   const orchid_data_info** info) {
  return guarded([&] { return hand_out(show(client->client.describe_data(reference)), info); });
}

orchid_status orchid_data_list(orchid_client* client, const orchid_data_info** first) {
  return guarded([&] {
    std::vector<DataInfo> all = client->client.list_data();
    std::unique_ptr<ShownData> list;
    for (auto info = all.rbegin(); info != all.rend(); ++info)
      list = show(std::move(*info), std::move(list));
    return hand_out(std::move(list), first);
  });
}

orchid_status orchid_data_remove(orchid_client* client, const char* reference) {
  return guarded([&] {
    client->client.remove_data(reference);
    return ORCHID_STATUS_OK;
  });
}

orchid_status orchid_lease_data(orchid_lease* lease, const char* reference,
                                orchid_leased_data** data) {
  return guarded([&] {
    *data = std::make_unique<orchid_leased_data>(lease->lease.data(reference)).release();
    return ORCHID_STATUS_OK;
  });
}

const char* orchid_leased_data_id(const orchid_leased_data* data) {
  return data->data.id().c_str();
}

uint64_t orchid_leased_data_size(const orchid_leased_data* data) { return data->data.size(); }

void orchid_leased_data_free(orchid_leased_data* data) { delete data; }
