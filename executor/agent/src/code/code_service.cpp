#include "code/code_service.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid::executor {

std::optional<CodeKey> CodeService::key_of(const std::string& digest) const {
  if (!compiler_.target()) return std::nullopt;
  return make_code_key(digest, *compiler_.target(), CompileTier::o3);
}

bool CodeService::find(const std::string& digest, const Done& done) {
  return find_in_memory(digest, done) || find_on_disk(digest, done);
}

bool CodeService::find_in_memory(const std::string& digest, const Done& done) {
  if (const auto known = memory_.find(digest); known != memory_.end()) {
    recency_.splice(recency_.begin(), recency_, known->second.place);
    done(Code{known->second.file, CodeSource::memory, {}, known->second.tier});
    return true;
  }
  if (const auto flight = flights_.find(digest); flight != flights_.end()) {
    flight->second.waiting.push_back(done);
    return true;
  }
  return false;
}

bool CodeService::find_on_disk(const std::string& digest, const Done& done) {
  const auto key = key_of(digest);
  if (!key) return false;
  const auto stored = store_.find(*key);
  if (!stored) return false;
  auto file = make_sealed_memory("orchid-code", *stored);
  if (!file) return false;
  auto shared = std::make_shared<const UniqueFd>(std::move(*file));
  remember(digest, shared, CompileTier::o3);
  done(Code{std::move(shared), CodeSource::disk, {}});
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
  UniqueFd copy(::fcntl(module.get(), F_DUPFD_CLOEXEC, 0));
  const bool busy = improver_.queued() >= most_improvements;
  const auto tier = copy && !busy ? CompileTier::quick : CompileTier::o3;
  flights_[digest] = {std::move(copy), {}};
  flights_[digest].waiting.push_back(std::move(done));
  compiler_.compile(std::move(module), tier,
                    [this, digest](Result<CompilerProcess::Compiled> result) {
                      compiled(digest, std::move(result));
                    });
}

void CodeService::compiled(const std::string& digest, Result<CompilerProcess::Compiled> result) {
  auto flight = flights_.extract(digest);
  const std::vector<Done>& waiting = flight.mapped().waiting;
  if (!result) {
    for (const Done& done : waiting) done(fail(result.error()));
    return;
  }
  auto file = std::make_shared<const UniqueFd>(std::move(result->code));
  // The compiler is not trusted: the code is taken only as a sealed file of bounded size, and
  // ends up in this tenant's workers alone.
  const auto mapped = MappedFile::map(file->get(), {.limit = CodeStore::largest_code});
  if (!mapped) {
    for (const Done& done : waiting) done(fail(mapped.error()));
    return;
  }
  remember(digest, file, result->tier);
  const bool quick = result->tier == CompileTier::quick;
  if (quick) improvements_.try_emplace(digest);
  for (const Done& done : waiting)
    done(Code{file, CodeSource::compiled, result->duration, result->tier});
  // The call that waits for the code need not wait for the disk.
  if (!quick) return boost::asio::post(io_, [this, digest, file] { keep(digest, *file); });
  improver_.compile(std::move(flight.mapped().module), CompileTier::o3,
                    [this, digest](Result<CompilerProcess::Compiled> better) {
                      improved(digest, std::move(better));
                    });
}

void CodeService::improved(const std::string& digest, Result<CompilerProcess::Compiled> result) {
  const auto waiting = improvements_.extract(digest);
  if (result)
    if (const auto mapped = MappedFile::map(result->code.get(), {.limit = CodeStore::largest_code});
        !mapped)
      result = fail(mapped.error());
  if (!result)
    return log::warn("event=code_stays_quick module={} reason=\"{}\"", short_digest(digest),
                     result.error().message);
  ++improved_;
  const auto file = std::make_shared<const UniqueFd>(std::move(result->code));
  remember(digest, file, CompileTier::o3);
  if (!waiting.empty())
    for (const Better& better : waiting.mapped()) better(*file);
  keep(digest, *file);
}

void CodeService::when_better(const std::string& digest, Better better) {
  if (const auto making = improvements_.find(digest); making != improvements_.end())
    return making->second.push_back(std::move(better));
  const auto known = memory_.find(digest);
  if (known != memory_.end() && known->second.tier == CompileTier::o3) better(*known->second.file);
}

void CodeService::keep(const std::string& digest, const UniqueFd& file) {
  const auto key = key_of(digest);
  const auto mapped = MappedFile::map(file.get(), {.limit = CodeStore::largest_code});
  if (!key || !mapped) return;
  if (auto stored = store_.insert(*key, mapped->bytes()); !stored)
    log::warn("event=code_not_stored module={} reason=\"{}\"", short_digest(digest),
              stored.error().message);
}

void CodeService::remember(const std::string& digest, std::shared_ptr<const UniqueFd> file,
                           CompileTier tier) {
  if (const auto known = memory_.find(digest); known != memory_.end()) {
    known->second.file = std::move(file);
    known->second.tier = tier;
    return;
  }
  recency_.push_front(digest);
  memory_[digest] = {std::move(file), tier, recency_.begin()};
  if (memory_.size() <= modules_in_memory) return;
  memory_.erase(recency_.back());
  recency_.pop_back();
}

}  // namespace orchid::executor
