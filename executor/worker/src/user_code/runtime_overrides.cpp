#include "user_code/runtime_overrides.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <locale>
#include <memory_resource>
#include <new>
#include <span>
#include <utility>

#include "orchid/function.h"
#include "orchid/kernel.h"

namespace orchid::executor {
namespace {

[[noreturn]] void exit_with(int status) {
  StatusPage& page = *override_targets().page;
  CallLog::flush_standard_streams();
  page.code.store(status);
  page.last_words.store(static_cast<std::uint32_t>(LastWords::exited));
  ::_exit(status & 0xff);
}

[[noreturn]] void exit_at_once(int status) { exit_with(status); }

/// Destructors of user globals run when the process ends, which is without notice: like a batch
/// job's, they do not run.
int register_at_exit(void (*)(void*), void*, void*) { return 0; }
int register_plain_at_exit(void (*)()) { return 0; }

ssize_t write_bytes(int fd, const void* bytes, std::size_t size) {
  if (fd != STDOUT_FILENO && fd != STDERR_FILENO) return ::write(fd, bytes, size);
  override_targets().log->append({static_cast<const char*>(bytes), size});
  return static_cast<ssize_t>(size);
}

void* noting_refusal(void* memory, std::size_t size) {
  if (memory == nullptr && size != 0)
    override_targets().page->refused.fetch_or(refused_memory, std::memory_order_relaxed);
  return memory;
}
void* allocate(std::size_t size) { return noting_refusal(std::malloc(size), size); }
void* allocate_zeroed(std::size_t count, std::size_t size) {
  return noting_refusal(std::calloc(count, size), size);
}
void* reallocate(void* old, std::size_t size) {
  return noting_refusal(std::realloc(old, size), size);
}
void* allocate_aligned(std::size_t alignment, std::size_t size) {
  return noting_refusal(std::aligned_alloc(alignment, size), size);
}

/// Those streams are the worker's: it looks into them after each call, and so do later calls.
int close_stream(FILE* stream) {
  return CallLog::is_log_stream(stream) ? std::fflush(stream) : std::fclose(stream);
}
FILE* reopen_stream(const char* path, const char* mode, FILE* stream) {
  if (!CallLog::is_log_stream(stream)) return std::freopen(path, mode, stream);
  errno = EACCES;
  return nullptr;
}
/// A buffer of the function's might be gone at the next call. They keep none.
int set_buffer(FILE* stream, char* buffer, int mode, std::size_t size) {
  return CallLog::is_log_stream(stream) ? 0 : std::setvbuf(stream, buffer, mode, size);
}
void set_plain_buffer(FILE* stream, char* buffer) {
  (void)set_buffer(stream, buffer, buffer != nullptr ? _IOFBF : _IONBF, BUFSIZ);
}
void set_sized_buffer(FILE* stream, char* buffer, std::size_t size) {
  (void)set_buffer(stream, buffer, buffer != nullptr ? _IOFBF : _IONBF, size);
}
void set_line_buffer(FILE* stream) { (void)set_buffer(stream, nullptr, _IOLBF, 0); }

using Handler = void (*)(int);
Handler set_handler(int number, Handler handler) {
  override_targets().signals_changed = true;
  return std::signal(number, handler);
}
int set_action(int number, const struct sigaction* action, struct sigaction* old) {
  override_targets().signals_changed = true;
  return ::sigaction(number, action, old);
}
int set_process_mask(int how, const sigset_t* set, sigset_t* old) {
  override_targets().signals_changed = true;
  return ::sigprocmask(how, set, old);
}
int set_thread_mask(int how, const sigset_t* set, sigset_t* old) {
  override_targets().signals_changed = true;
  return ::pthread_sigmask(how, set, old);
}
int set_alternate_stack(const stack_t* stack, stack_t* old) {
  override_targets().signals_changed = true;
  return ::sigaltstack(stack, old);
}

char* set_locale(int category, const char* name) {
  if (name != nullptr) override_targets().library_changed = true;
  return std::setlocale(category, name);
}
locale_t use_locale(locale_t locale) {
  if (locale != nullptr) override_targets().library_changed = true;
  return ::uselocale(locale);
}
std::locale set_global_locale(const std::locale& locale) {
  override_targets().library_changed = true;
  return std::locale::global(locale);
}
std::new_handler set_new_handler(std::new_handler handler) {
  override_targets().library_changed = true;
  return std::set_new_handler(handler);
}
std::terminate_handler set_terminate_handler(std::terminate_handler handler) {
  override_targets().library_changed = true;
  return std::set_terminate(handler);
}
std::pmr::memory_resource* set_memory_resource(std::pmr::memory_resource* resource) {
  override_targets().library_changed = true;
  return std::pmr::set_default_resource(resource);
}

/// The address that static objects of a module register their destructors with; only its being
/// distinct matters.
const char module_handle = 0;

template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

using Override = std::pair<std::string_view, void*>;

void* find(std::span<const Override> overrides, std::string_view name) {
  const auto found = std::ranges::find(overrides, name, &Override::first);
  return found == overrides.end() ? nullptr : found->second;
}

/// Of orchid/function.h and orchid/kernel.h.
void* find_host_function(std::string_view name) {
  static const std::array<Override, 43> functions{{
      {"orchid_output", address_of(orchid_output)},
      {"orchid_append", address_of(orchid_append)},
      {"orchid_exchange", address_of(orchid_exchange)},
      {"orchid_error", address_of(orchid_error)},
      {"orchid_log", address_of(orchid_log)},
      {"orchid_should_stop", address_of(orchid_should_stop)},
      {"orchid_progress", address_of(orchid_progress)},
      {"orchid_time_left_ns", address_of(orchid_time_left_ns)},
      {"orchid_invoke_inline", address_of(orchid_invoke_inline)},
      {"orchid_spawn", address_of(orchid_spawn)},
      {"orchid_then", address_of(orchid_then)},
      {"orchid_child", address_of(orchid_child)},
      {"orchid_child_count", address_of(orchid_child_count)},
      {"orchid_deploy_module", address_of(orchid_deploy_module)},
      {"orchid_specialise", address_of(orchid_specialise)},
      {"orchid_forward", address_of(orchid_forward)},
      {"orchid_forward_to_data", address_of(orchid_forward_to_data)},
      {"orchid_member", address_of(orchid_member)},
      {"orchid_member_count", address_of(orchid_member_count)},
      {"orchid_invocation_id", address_of(orchid_invocation_id)},
      {"orchid_core", address_of(orchid_core)},
      {"orchid_data", address_of(orchid_data)},
      {"orchid_data_count", address_of(orchid_data_count)},
      {"orchid_data_create", address_of(orchid_data_create)},
      {"orchid_data_open", address_of(orchid_data_open)},
      {"orchid_data_seal", address_of(orchid_data_seal)},
      {"orchid_leased_open", address_of(orchid_leased_open)},
      {"orchid_leased_put", address_of(orchid_leased_put)},
      {"orchid_leased_get", address_of(orchid_leased_get)},
      {"orchid_leased_fetch_add", address_of(orchid_leased_fetch_add)},
      {"orchid_leased_compare_swap", address_of(orchid_leased_compare_swap)},
      {"orchid_leased_fence", address_of(orchid_leased_fence)},
      {"orchid_leased_run", address_of(orchid_leased_run)},
      {"orchid_leased_start", address_of(orchid_leased_start)},
      {"orchid_leased_wait", address_of(orchid_leased_wait)},
      {"orchid_core_count", address_of(orchid_core_count)},
      {"orchid_device_kind", address_of(orchid_device_kind)},
      {"orchid_device_alloc", address_of(orchid_device_alloc)},
      {"orchid_device_free", address_of(orchid_device_free)},
      {"orchid_device_write", address_of(orchid_device_write)},
      {"orchid_device_read", address_of(orchid_device_read)},
      {"orchid_launch", address_of(orchid_launch)},
      {"orchid_device_wait", address_of(orchid_device_wait)},
  }};
  return find(functions, name);
}

}  // namespace

OverrideTargets& override_targets() {
  static OverrideTargets targets;
  return targets;
}

void* find_override(std::string_view name) {
  static const std::array<Override, 34> overrides{{
      {"exit", address_of(exit_with)},
      {"_exit", address_of(exit_at_once)},
      {"_Exit", address_of(exit_at_once)},
      {"quick_exit", address_of(exit_at_once)},
      {"__cxa_atexit", address_of(register_at_exit)},
      {"__cxa_thread_atexit", address_of(register_at_exit)},
      {"atexit", address_of(register_plain_at_exit)},
      {"at_quick_exit", address_of(register_plain_at_exit)},
      {"write", address_of(write_bytes)},
      {"malloc", address_of(allocate)},
      {"calloc", address_of(allocate_zeroed)},
      {"realloc", address_of(reallocate)},
      {"aligned_alloc", address_of(allocate_aligned)},
      {"memalign", address_of(allocate_aligned)},
      {"fclose", address_of(close_stream)},
      {"freopen", address_of(reopen_stream)},
      {"freopen64", address_of(reopen_stream)},
      {"setvbuf", address_of(set_buffer)},
      {"setbuf", address_of(set_plain_buffer)},
      {"setbuffer", address_of(set_sized_buffer)},
      {"setlinebuf", address_of(set_line_buffer)},
      {"signal", address_of(set_handler)},
      {"sigaction", address_of(set_action)},
      {"sigprocmask", address_of(set_process_mask)},
      {"pthread_sigmask", address_of(set_thread_mask)},
      {"sigaltstack", address_of(set_alternate_stack)},
      {"setlocale", address_of(set_locale)},
      {"uselocale", address_of(use_locale)},
      {"__uselocale", address_of(use_locale)},
      {"_ZNSt6locale6globalERKS_", address_of(set_global_locale)},
      {"_ZSt15set_new_handlerPFvvE", address_of(set_new_handler)},
      {"_ZSt13set_terminatePFvvE", address_of(set_terminate_handler)},
      {"_ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE", address_of(set_memory_resource)},
      {"__dso_handle", const_cast<char*>(&module_handle)},
  }};
  void* const host = find_host_function(name);
  return host != nullptr ? host : find(overrides, name);
}

}  // namespace orchid::executor
