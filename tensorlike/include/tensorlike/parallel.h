// Loops over several threads. The caller's thread lets go of the interpreter, so that kernels run beside Python.
#pragma once

#include "python.h"
#include "error.h"

#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

TENSORLIKE_BEGIN(at)

namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
inline thread_local int thread_number = -1;
inline std::atomic<int>& thread_count() {
  static std::atomic<int> count = [] {
    const char* wished = std::getenv("OMP_NUM_THREADS");
    const int number = wished == nullptr ? 0 : std::atoi(wished);
    return number > 0 ? number : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return count;
}
}  // namespace internal

inline int get_num_threads() { return internal::thread_count(); }
inline void set_num_threads(int count) {
  TORCH_CHECK(count > 0, "Expected positive number of threads");
  internal::thread_count() = count;
}
inline int get_thread_num() { return std::max(internal::thread_number, 0); }
inline bool in_parallel_region() { return internal::thread_number >= 0; }
inline int64_t divup(int64_t a, int64_t b) { return (a + b - 1) / b; }
template <class T>
C10_HOST_DEVICE constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
template <class T>
C10_HOST_DEVICE constexpr T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}

namespace detail {
// Run `part(i)` for each i below `count`, one thread each, the first one here. The first exception is thrown again.
template <class F>
void run_in_threads(int64_t count, const F& part) {
  std::exception_ptr error;
  std::mutex guard;
  const auto run = [&](int64_t i) {
    const int before = std::exchange(internal::thread_number, static_cast<int>(i));
    try {
      part(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!error) error = std::current_exception();
    }
    internal::thread_number = before;
  };
  {
    const c10::detail::WithoutGil others_run;
    std::vector<std::thread> threads;
    int64_t begun = 1;
    try {
      threads.reserve(static_cast<size_t>(count));
      for (; begun < count; begun++) threads.emplace_back(run, begun);
    } catch (const std::exception&) {
      // The system gives no more threads: this one does the rest.
    }
    run(0);
    for (int64_t i = begun; i < count; i++) run(i);
    for (std::thread& thread : threads) thread.join();
  }
  if (error) std::rethrow_exception(error);
}
}  // namespace detail

// Call `f(begin, end)` on parts of the range, each at least `grain_size` long, on several threads.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
  TORCH_CHECK(grain_size >= 0, "parallel_for: grain_size must not be negative");
  if (begin >= end) return;
  const int64_t most = grain_size > 0 ? divup(end - begin, grain_size) : end - begin;
  const int64_t parts = in_parallel_region() ? 1 : std::min<int64_t>(get_num_threads(), most);
  if (parts <= 1) {
    f(begin, end);
    return;
  }
  const int64_t step = divup(end - begin, parts);
  detail::run_in_threads(divup(end - begin, step), [&](int64_t i) {
    f(begin + i * step, std::min(end, begin + (i + 1) * step));
  });
}

// Reduce parts of the range with `f(begin, end, identity)`, and their results with `combine`.
template <class T, class F, class C>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain_size, const T identity, const F& f, const C& combine) {
  TORCH_CHECK(grain_size >= 0, "parallel_reduce: grain_size must not be negative");
  if (begin >= end) return identity;
  const int64_t most = grain_size > 0 ? divup(end - begin, grain_size) : end - begin;
  const int64_t parts = in_parallel_region() ? 1 : std::min<int64_t>(get_num_threads(), most);
  if (parts <= 1) return f(begin, end, identity);
  const int64_t step = divup(end - begin, parts), count = divup(end - begin, step);
  std::vector<T> results(static_cast<size_t>(count), identity);
  detail::run_in_threads(count, [&](int64_t i) {
    results[static_cast<size_t>(i)] = f(begin + i * step, std::min(end, begin + (i + 1) * step), identity);
  });
  T total = identity;
  for (const T& result : results) total = combine(total, result);
  return total;
}

TENSORLIKE_END(at)
