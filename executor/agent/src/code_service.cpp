#include "code_service.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid::executor {
namespace {
constexpr ByteCount largest_object = 1_GiB;
}

std::optional<ObjectKey> CodeService::key_of(const std::string& digest) const {
  if (!compiler_.target()) return std::nullopt;
  return make_object_key(digest, *compiler_.target(), CompileTier::o3);
}

bool CodeService::find(const std::string& digest, const Done& done) {
  return find_in_memory(digest, done) || find_on_disk(digest, done);
}

bool CodeService::find_in_memory(const std::string& digest, const Done& done) {
  if (const auto known = memory_.find(digest); known != memory_.end()) {
    recency_.splice(recency_.begin(), recency_, known->second.place);
    done(Object{known->second.file, CodeSource::memory, {}});
    return true;
  }
  if (const auto flight = waiting_.find(digest); flight != waiting_.end()) {
    flight->second.push_back(done);
    return true;
  }
  return false;
}

bool CodeService::find_on_disk(const std::string& digest, const Done& done) {
  const auto key = key_of(digest);
  if (!key) return false;
  const auto stored = store_.find(*key);
  if (!stored) return false;
  auto file = make_sealed_memory("orchid-object", *stored);
  if (!file) return false;
  auto shared = std::make_shared<const UniqueFd>(std::move(*file));
  remember(digest, shared);
  done(Object{std::move(shared), CodeSource::disk, {}});
  return true;
}

void CodeService::compile(const std::string& digest, UniqueFd module, Done done) {
  {
    const auto mapped = MappedFile::map(module.get(), {.limit = limits::module_size});
    if (!mapped) return done(fail(mapped.error()));
    if (digest_of(mapped->bytes()) != digest)
      return done(
          fail(ErrorCode::bad_request, "the module's bytes do not have the announced digest"));
  }
  // Another client may have sent it meanwhile.
  if (find_in_memory(digest, done)) return;
  waiting_[digest].push_back(std::move(done));
  compiler_.compile(std::move(module), CompileTier::o3,
                    [this, digest](Result<CompilerProcess::Compiled> result) {
                      compiled(digest, std::move(result));
                    });
}

void CodeService::compiled(const std::string& digest, Result<CompilerProcess::Compiled> result) {
  auto flight = waiting_.extract(digest);
  if (!result) {
    for (const Done& done : flight.mapped()) done(fail(result.error()));
    return;
  }
  auto file = std::make_shared<const UniqueFd>(std::move(result->object));
  // The compiler is not trusted: the object is taken only as a sealed file of bounded size, and
  // ends up in this tenant's workers alone.
  const auto mapped = MappedFile::map(file->get(), {.limit = largest_object});
  if (!mapped) {
    for (const Done& done : flight.mapped()) done(fail(mapped.error()));
    return;
  }
  remember(digest, file);
  for (const Done& done : flight.mapped())
    done(Object{file, CodeSource::compiled, result->duration});
  // The call that waits for the code need not wait for the disk.
  boost::asio::post(io_, [this, digest, file] { keep(digest, *file); });
}

void CodeService::keep(const std::string& digest, const UniqueFd& file) {
  const auto key = key_of(digest);
  const auto mapped = MappedFile::map(file.get(), {.limit = largest_object});
  if (!key || !mapped) return;
  if (auto stored = store_.insert(*key, mapped->bytes()); !stored)
    log::warn("event=object_not_stored module={} reason=\"{}\"", short_digest(digest),
              stored.error().message);
}

void CodeService::remember(const std::string& digest, std::shared_ptr<const UniqueFd> file) {
  recency_.push_front(digest);
  memory_[digest] = {std::move(file), recency_.begin()};
  if (memory_.size() <= objects_in_memory) return;
  memory_.erase(recency_.back());
  recency_.pop_back();
}

}  // namespace orchid::executor
