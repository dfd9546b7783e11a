#include "data/durable_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "data/file_copy.h"
#include "foundation/log.h"
#include "foundation/numbers.h"
#include "foundation/random.h"
#include "protocol/digest.h"
#include "protocol/running_digest.h"

namespace orchid::executor {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t header_bytes = 4096;
constexpr std::string_view magic = "orchid-data 1 ";
constexpr std::string_view extension = ".data";

/// Nothing outside of `directory`, however it is named or linked. Errors: `not_found`;
/// `unsupported`: the kernel cannot; `disk_full`, `system`.
Result<UniqueFd> open_below(const UniqueFd& directory, const std::string& name, int flags) {
  open_how how{.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC,
               .mode = (flags & O_CREAT) != 0 ? 0600U : 0U,
               .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  UniqueFd opened(
      static_cast<int>(::syscall(SYS_openat2, directory.get(), name.c_str(), &how, sizeof how)));
  if (opened) return opened;
  const int why = errno;
  if (why == ENOENT) return fail(ErrorCode::not_found, name + " is not there");
  if (why == ENOSYS)
    return fail(ErrorCode::unsupported, "data as files needs Linux 5.6 or newer (openat2)");
  errno = why;
  return fail(file_failure("open " + name));
}

std::string file_name(const DataId& data) { return to_string(data) + std::string(extension); }

milliseconds since_epoch(WallTime time) {
  return std::chrono::duration_cast<milliseconds>(time.time_since_epoch());
}

struct Header {
  DataHeld held;
  milliseconds written;
};

Result<std::array<std::byte, header_bytes>> make_header(const DataHeld& held, WallTime now) {
  const std::string rest = std::to_string(since_epoch(now).count()) + "\n" + encode(held);
  const std::string text =
      std::string(magic) + digest_of(std::as_bytes(std::span(rest))) + "\n" + rest;
  std::array<std::byte, header_bytes> header{};
  if (text.size() >= header.size())
    return fail(ErrorCode::system, "what is known of the data does not fit into its file's header");
  std::ranges::copy(std::as_bytes(std::span(text)), header.begin());
  return header;
}

Result<Header> parse_header(std::string_view text) {
  const Failure spoiled{ErrorCode::data_lost, "its header is not what was written"};
  text = text.substr(0, text.find('\0'));
  const std::size_t first = text.find('\n');
  if (!text.starts_with(magic) || first == std::string_view::npos) return fail(spoiled);
  const std::string_view digest = text.substr(magic.size(), first - magic.size());
  const std::string_view rest = text.substr(first + 1);
  const std::size_t second = rest.find('\n');
  if (second == std::string_view::npos || digest_of(std::as_bytes(std::span(rest))) != digest)
    return fail(spoiled);
  const auto written = parse_number<std::int64_t>(rest.substr(0, second));
  auto held = parse_held_data(rest.substr(second + 1));
  if (!written || !held) return fail(spoiled);
  return Header{.held = std::move(*held), .written = milliseconds(*written)};
}

/// From its beginning, and no more than there is. Errors: `system`.
Result<std::string> read_text(const UniqueFd& file, std::size_t most) {
  std::string text(most, '\0');
  std::size_t have = 0;
  while (have < most) {
    const ssize_t got =
        ::pread(file.get(), text.data() + have, most - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(file_failure("read a file of data"));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

/// Of a whole file: its size is what the header says. Errors: `data_lost`: it is not what was
/// written; `system`: it cannot be read now.
Result<Header> read_header(const UniqueFd& file) {
  const auto text = read_text(file, header_bytes);
  if (!text) return fail(text.error());
  if (text->size() < header_bytes)
    return fail(ErrorCode::data_lost, "it is shorter than its header");
  auto header = parse_header(*text);
  if (!header) return header;
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(file_failure("look at a file of data"));
  if (static_cast<std::uint64_t>(status.st_size) != header_bytes + header->held.terms.bytes.value)
    return fail(ErrorCode::data_lost, "it has another size than was written");
  return header;
}

/// False: its time is over. A clock that was set back takes nothing away.
bool age(DataHeld& held, milliseconds passed) {
  passed = std::max(passed, milliseconds(0));
  held.created_ago += passed;
  if (!held.terms.expires_in) return true;
  if (*held.terms.expires_in <= passed) return false;
  *held.terms.expires_in -= passed;
  return true;
}

/// It is not there, and the disk knows.
Result<void> remove_name(const UniqueFd& directory, const std::string& name) {
  if (::unlinkat(directory.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return fail(file_failure("remove " + name));
  if (::fsync(directory.get()) != 0)
    return fail(file_failure("write the directory of data to its disk"));
  return {};
}

/// Goes with its name, unless it was given another one.
class UnfinishedFile {
 public:
  UnfinishedFile(const UniqueFd& directory, std::string name)
      : directory_(directory), name_(std::move(name)) {}
  ~UnfinishedFile() {
    if (!name_.empty()) ::unlinkat(directory_.get(), name_.c_str(), 0);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  [[nodiscard]] Result<void> rename(const std::string& to) {
    if (::renameat(directory_.get(), name_.c_str(), directory_.get(), to.c_str()) != 0)
      return fail(file_failure("name a file of data"));
    name_.clear();
    if (::fsync(directory_.get()) == 0) return {};
    const Failure why = file_failure("write the directory of data to its disk");
    if (auto removed = remove_name(directory_, to); !removed)
      log::error("event=durable_file_stays file={} reason=\"{}\"", to, removed.error().message);
    return fail(why);
  }

 private:
  const UniqueFd& directory_;
  std::string name_;
};

std::vector<std::string> names_in(const UniqueFd& directory) {
  std::vector<std::string> names;
  auto again = open_below(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!again) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again->get()), ::closedir);
  if (entries == nullptr) return names;
  static_cast<void>(again->release());  // closedir closes it
  while (const dirent* entry = ::readdir(entries.get())) names.emplace_back(entry->d_name);
  return names;
}

/// For people who look for the one that has the directory.
void describe_owner(const UniqueFd& lock) {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  const std::string owner =
      "process " + std::to_string(::getpid()) + " on " + std::string(host.data()) + "\n";
  if (::ftruncate(lock.get(), 0) == 0)
    static_cast<void>(::pwrite(lock.get(), owner.data(), owner.size(), 0));
}

/// Until it is closed, which the kernel does when the process ends, however it ends.
Result<UniqueFd> lock_directory(const UniqueFd& root, const std::string& directory) {
  auto lock = open_below(root, ".orchid-lock", O_RDWR | O_CREAT);
  if (!lock) return lock;
  if (::flock(lock->get(), LOCK_EX | LOCK_NB) == 0) {
    describe_owner(*lock);
    return lock;
  }
  if (errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK)
    return fail(system_failure(ErrorCode::unsupported,
                               "the file system of " + directory +
                                   " has no locks (flock): take a directory on another one",
                               errno));
  if (errno != EWOULDBLOCK) return fail(file_failure("lock " + directory));
  constexpr std::size_t most = 300;
  std::string owner = read_text(*lock, most).value_or("");
  owner = owner.substr(0, owner.find('\n'));
  return fail(ErrorCode::conflict, directory + " is in use by another executor" +
                                       (owner.empty() ? "" : " (" + owner + ")") +
                                       ": each one needs a directory of its own; end that one "
                                       "first, or name another directory");
}

}  // namespace

Result<DurableFolder> DurableFolder::open(const std::filesystem::path& directory) {
  UniqueFd root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(file_failure("open " + directory.string()));
  struct stat status{};
  if (::fstat(root.get(), &status) != 0) return fail(file_failure("look at " + directory.string()));
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(ErrorCode::bad_configuration, directory.string() +
                                                  " must belong to the user of the executor (" +
                                                  std::to_string(::geteuid()) +
                                                  "), and nobody else may write to it: "
                                                  "chown it, and chmod go-w");
  if (auto again = open_below(root, ".", O_RDONLY | O_DIRECTORY); !again)
    return fail(std::move(again.error()));
  auto lock = lock_directory(root, directory.string());
  if (!lock) return fail(std::move(lock.error()));
  return DurableFolder(Directory{.root = std::move(root), .lock = std::move(*lock)});
}

/// That a folder is there does not say that the disk knows of it: who has made it may have been
/// killed, or told of an error, before that.
Result<UniqueFd> DurableFolder::make_tenant(std::uint32_t tenant) const {
  const std::string name = std::to_string(tenant);
  if (::mkdirat(root().get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(file_failure("make a folder for data"));
  if (::fsync(root().get()) != 0) return fail(file_failure("make a folder for data"));
  return open_tenant(tenant);
}

Result<UniqueFd> DurableFolder::open_tenant(std::uint32_t tenant) const {
  return open_below(root(), std::to_string(tenant), O_RDONLY | O_DIRECTORY);
}

DurableFolder::Found DurableFolder::list(WallTime now) const {
  Found all;
  for (const std::string& name : names_in(root()))
    if (const auto tenant = parse_number<std::uint32_t>(name)) list_tenant(*tenant, now, all);
  return all;
}

/// No writer is at it: the directory is ours, and we have just begun.
void DurableFolder::list_tenant(std::uint32_t tenant, WallTime now, Found& all) const {
  const auto directory = open_tenant(tenant);
  if (!directory) return;
  // Who was killed may not have come to that, and others are told of these names now.
  if (::fsync(directory->get()) != 0)
    log::error("event=durable_directory_not_synced tenant={} reason=\"{}\"", tenant,
               file_failure("write it to its disk").message);
  for (const std::string& name : names_in(*directory)) {
    if (name.starts_with(".orchid-")) ::unlinkat(directory->get(), name.c_str(), 0);
    if (!name.ends_with(extension) || name.starts_with('.')) continue;
    const auto file = open_below(*directory, name, O_RDONLY | O_NONBLOCK);
    auto header = file ? read_header(*file) : Result<Header>(fail(file.error()));
    if (header && (header->held.terms.tenant.uid != tenant || file_name(header->held.data) != name))
      header = fail(ErrorCode::data_lost, "it is in another one's place");
    if (!header) {
      log::error("event=durable_file_ignored tenant={} file={} reason=\"{}\"", tenant, name,
                 header.error().message);
      ++all.ignored;
      continue;
    }
    if (age(header->held, since_epoch(now) - header->written))
      all.held.push_back(std::move(header->held));
    else
      ::unlinkat(directory->get(), name.c_str(), 0);
  }
}

Result<std::string> DurableFolder::write(const MemoryFile& object, DataHeld held, WallTime now,
                                         const std::atomic<bool>& stop) const {
  const ByteCount bytes = held.terms.bytes;
  constexpr std::size_t token_bytes = 8;
  if (auto may = check_file_limit({bytes.value + header_bytes}); !may)
    return fail(std::move(may.error()));
  const auto from = object.open_to_read();
  if (!from) return fail(from.error());
  const auto directory = make_tenant(held.terms.tenant.uid);
  if (!directory) return fail(directory.error());
  const std::string name = ".orchid-" + random_hex(token_bytes);
  const auto file = open_below(*directory, name, O_RDWR | O_CREAT | O_EXCL);
  if (!file) return fail(file.error());
  UnfinishedFile unfinished(*directory, name);
  RunningDigest digest;
  const FileCopy out{.from = {from->get()},
                     .to = {file->get(), header_bytes},
                     .bytes = bytes,
                     .flushes = true,
                     .digest = &digest};
  if (auto copied = copy_file(out, stop); !copied) return fail(std::move(copied.error()));
  held.digest = digest.finish();
  if (held.digest.empty()) return fail(ErrorCode::system, "the SHA-256 of OpenSSL does not work");
  const auto header = make_header(held, now);
  if (!header) return fail(header.error());
  if (::pwrite(file->get(), header->data(), header->size(), 0) !=
      static_cast<ssize_t>(header->size()))
    return fail(file_failure("write data"));
  // An empty object has nothing behind its header.
  if (::fsync(file->get()) != 0) return fail(file_failure("write data to its disk"));
  if (auto named = unfinished.rename(file_name(held.data)); !named)
    return fail(std::move(named.error()));
  return held.digest;
}

Result<MemoryFile> DurableFolder::read(const DurableName& name, ByteCount bytes,
                                       const std::atomic<bool>& stop) const {
  const auto directory = open_tenant(name.tenant);
  const auto file = directory ? open_below(*directory, file_name(name.data), O_RDONLY)
                              : Result<UniqueFd>(fail(directory.error()));
  if (!file && file.error().code == ErrorCode::not_found)
    return fail(ErrorCode::data_lost, "its file is not there any more");
  if (!file) return fail(file.error());
  const auto header = read_header(*file);
  if (!header) return fail(header.error());
  if (header->held.data != name.data || header->held.terms.bytes != bytes)
    return fail(ErrorCode::data_lost, "its file is of another object");
  auto made = MemoryFile::make(bytes);
  if (!made) return made;
  const auto to = made->open_to_write();
  if (!to) return fail(to.error());
  RunningDigest digest;
  const FileCopy back{
      .from = {file->get(), header_bytes}, .to = {to->get()}, .bytes = bytes, .digest = &digest};
  if (auto copied = copy_file(back, stop); !copied) return fail(std::move(copied.error()));
  if (digest.finish() != header->held.digest)
    return fail(ErrorCode::data_lost, "the bytes of its file are not those that were written");
  if (auto sealed = made->seal(); !sealed) return fail(std::move(sealed.error()));
  return made;
}

Result<void> DurableFolder::remove(const DurableName& name) const {
  const auto directory = open_tenant(name.tenant);
  if (directory) return remove_name(*directory, file_name(name.data));
  if (directory.error().code == ErrorCode::not_found) return {};
  return fail(directory.error());
}

Result<void> DurableFolder::set_aside(const DurableName& name) const {
  const auto directory = open_tenant(name.tenant);
  if (!directory && directory.error().code == ErrorCode::not_found) return {};
  if (!directory) return fail(directory.error());
  const std::string aside = to_string(name.data) + ".bad";
  const std::string from = file_name(name.data);
  if (::renameat(directory->get(), from.c_str(), directory->get(), aside.c_str()) != 0 &&
      errno != ENOENT)
    return fail(file_failure("name a file of data " + aside));
  if (::fsync(directory->get()) != 0)
    return fail(file_failure("write the directory of data to its disk"));
  return {};
}

}  // namespace orchid::executor
