#include "code/code_service.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "foundation/duplicate.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid::executor {

std::optional<CodeKey> CodeService::key_of(const TenantModule& module, CompileTier tier) const {
  if (!compilers_.target()) return std::nullopt;
  return make_code_key(module, *compilers_.target(), tier);
}

bool CodeService::find(const TenantModule& module, const Done& done) {
  return find_in_memory(module, done) || find_failure(module, done) || find_on_disk(module, done);
}

bool CodeService::find_in_memory(const TenantModule& module, const Done& done) {
  if (const auto known = memory_.find(module); known != memory_.end()) {
    recency_.splice(recency_.begin(), recency_, known->second.place);
    done(Code{known->second.file, CodeSource::memory, {}, known->second.tier});
    return true;
  }
  if (const auto flight = flights_.find(module); flight != flights_.end()) {
    flight->second.waiting.push_back(done);
    return true;
  }
  return false;
}

bool CodeService::find_on_disk(const TenantModule& module, const Done& done) {
  const auto key = key_of(module);
  if (!key) return false;
  const auto stored = store_.find(*key);
  if (!stored) return false;
  auto file = make_sealed_memory("orchid-code", *stored);
  if (!file) return false;
  auto shared = std::make_shared<const UniqueFd>(std::move(*file));
  remember(module, shared, CompileTier::o3);
  done(Code{std::move(shared), CodeSource::disk, {}});
  return true;
}

std::optional<Failure> CodeService::known_failure(const TenantModule& module, CompileTier tier) {
  const auto key = key_of(module, tier);
  return key ? failures_.find(key->text, std::chrono::steady_clock::now()) : std::nullopt;
}

bool CodeService::find_failure(const TenantModule& module, const Done& done) {
  const auto why = known_failure(module, CompileTier::quick);
  if (why) done(fail(*why));
  return why.has_value();
}

/// Only what the module is to blame for, and what costs much to find out.
void CodeService::remember_failure(const TenantModule& module, CompileTier tier,
                                   const Failure& why) {
  const auto key = key_of(module, tier);
  const bool has_no_kernels = !module.gpu.empty() && why.code == ErrorCode::not_found;
  if (!key || (!has_no_kernels && why.code != ErrorCode::compile_limit &&
               why.code != ErrorCode::module_rejected))
    return;
  failures_.remember(key->text, why, std::chrono::steady_clock::now());
  if (has_no_kernels) return;  // nothing is wrong with it
  log::warn("event=cannot_compile module={} tenant={} tier={} code={} reason=\"{}\"",
            short_digest(module.digest), module.tenant, to_string(tier), to_string(why.code),
            why.message);
}

void CodeService::compile(const TenantModule& module, UniqueFd bytes, Done done) {
  compile(module, {.bytes = std::move(bytes), .digest_of_bytes = module.digest, .spent = nullptr},
          std::move(done));
}

void CodeService::compile(const TenantModule& module, Made made, Done done) {
  UniqueFd& bytes = made.bytes;
  ByteCount size;
  {
    const auto mapped = MappedFile::map(bytes.get(), {.limit = limits::module_size});
    if (!mapped) return done(fail(mapped.error()));
    if (digest_of(mapped->bytes()) != made.digest_of_bytes)
      return done(
          fail(ErrorCode::bad_request, "the module's bytes do not have the announced digest"));
    size = ByteCount{mapped->bytes().size()};
  }
  // Another client may have sent it meanwhile.
  if (find_in_memory(module, done) || find_failure(module, done)) return;
  if (compilers_.waiting(module.tenant, CompileRank::calls) >= most_waiting)
    return done(fail(ErrorCode::no_capacity, "too many modules wait for a compiler; try again"));
  auto copy = duplicate(bytes.get());
  const bool busy = compilers_.waiting(module.tenant, CompileRank::better) >= most_improvements;
  const bool quickly = copy && (!busy || known_failure(module, CompileTier::o3));
  const auto tier = quickly ? CompileTier::quick : CompileTier::o3;
  Flight& flight = flights_[module];
  if (copy) flight.module = std::move(*copy);
  flight.size = size;
  flight.tier = tier;
  flight.constants = made.constants;
  flight.spent = made.spent;
  flight.waiting.push_back(std::move(done));
  compilers_.compile({.tenant = module.tenant,
                      .purpose = CompileRank::calls,
                      .tier = tier,
                      .module = std::move(bytes),
                      .size = size,
                      .gpu = module.gpu,
                      .constants = std::move(made.constants),
                      .spent = std::move(made.spent)},
                     [this, module](Result<CompilerPool::Compiled> result) {
                       compiled(module, std::move(result));
                     });
}

void CodeService::compiled(const TenantModule& module, Result<CompilerPool::Compiled> result) {
  auto flight = flights_.extract(module);
  const std::vector<Done>& waiting = flight.mapped().waiting;
  if (!result) {
    remember_failure(module, flight.mapped().tier, result.error());
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
  remember(module, file, result->tier);
  const bool quick = result->tier == CompileTier::quick;
  const bool improves = quick && !known_failure(module, CompileTier::o3);
  if (improves) improvements_.try_emplace(module);
  for (const Done& done : waiting)
    done(Code{file, CodeSource::compiled, result->duration, result->tier});
  // The call that waits for the code need not wait for the disk.
  if (!quick) return boost::asio::post(io_, [this, module, file] { keep(module, *file); });
  if (improves) improve(module, std::move(flight.mapped()));
}

void CodeService::improve(const TenantModule& module, Flight flight) {
  compilers_.compile({.tenant = module.tenant,
                      .purpose = CompileRank::better,
                      .tier = CompileTier::o3,
                      .module = std::move(flight.module),
                      .size = flight.size,
                      .constants = std::move(flight.constants),
                      .spent = std::move(flight.spent)},
                     [this, module](Result<CompilerPool::Compiled> better) {
                       improved(module, std::move(better));
                     });
}

void CodeService::improved(const TenantModule& module, Result<CompilerPool::Compiled> result) {
  const auto waiting = improvements_.extract(module);
  if (result)
    if (const auto mapped = MappedFile::map(result->code.get(), {.limit = CodeStore::largest_code});
        !mapped)
      result = fail(mapped.error());
  if (!result) {
    remember_failure(module, CompileTier::o3, result.error());
    return log::warn("event=code_stays_quick module={}", short_digest(module.digest));
  }
  ++improved_;
  const auto file = std::make_shared<const UniqueFd>(std::move(result->code));
  remember(module, file, CompileTier::o3);
  if (!waiting.empty())
    for (const Better& better : waiting.mapped()) better(*file);
  // Nobody need wait for the disk.
  boost::asio::post(io_, [this, module, file] { keep(module, *file); });
}

void CodeService::when_better(const TenantModule& module, Better better) {
  if (const auto making = improvements_.find(module); making != improvements_.end())
    return making->second.push_back(std::move(better));
  const auto known = memory_.find(module);
  if (known != memory_.end() && known->second.tier == CompileTier::o3) better(*known->second.file);
}

void CodeService::keep(const TenantModule& module, const UniqueFd& file) {
  const auto key = key_of(module);
  const auto mapped = MappedFile::map(file.get(), {.limit = CodeStore::largest_code});
  if (!key || !mapped) return;
  if (auto stored = store_.insert(*key, mapped->bytes()); !stored)
    log::warn("event=code_not_stored module={} reason=\"{}\"", short_digest(module.digest),
              stored.error().message);
}

void CodeService::remember(const TenantModule& module, std::shared_ptr<const UniqueFd> file,
                           CompileTier tier) {
  const auto mapped = MappedFile::map(file->get(), {.limit = CodeStore::largest_code});
  const std::uint64_t bytes = mapped ? mapped->bytes().size() : 0;
  bytes_ += bytes;
  if (const auto known = memory_.find(module); known != memory_.end()) {
    bytes_ -= std::exchange(known->second.bytes, bytes);
    known->second.file = std::move(file);
    known->second.tier = tier;
  } else {
    recency_.push_front(module);
    memory_[module] = {std::move(file), tier, bytes, recency_.begin()};
  }
  while (memory_.size() > modules_in_memory ||
         (bytes_ > bytes_in_memory.value && memory_.size() > 1)) {
    const auto oldest = memory_.find(recency_.back());
    bytes_ -= oldest->second.bytes;
    memory_.erase(oldest);
    recency_.pop_back();
  }
}

}  // namespace orchid::executor
