// Messages made with `<<`, in the names of glog: `LOG(WARNING) << text`, `CHECK_EQ(a, b) << text`.
#pragma once

#include "error.h"

#include <iostream>

TENSORLIKE_BEGIN(c10)

constexpr int GLOG_INFO = 0, GLOG_WARNING = 1, GLOG_ERROR = 2, GLOG_FATAL = 3;

// A message, which is complete when it is destroyed: warnings and errors then go to the standard error stream. A failed
// check raises an Error, where PyTorch ends the process.
class MessageLogger {
 public:
  MessageLogger(const char* file, int line, int severity) : severity_(severity) {
    if (severity != GLOG_FATAL) stream_ << "[" << "IWE"[severity < 0 ? 0 : severity] << " " << file << ":" << line << "] ";
  }
  C10_DISABLE_COPY_AND_ASSIGN(MessageLogger);
  ~MessageLogger() noexcept(false) {
    if (severity_ == GLOG_FATAL) throw Error(stream_.str());
    if (severity_ >= GLOG_WARNING) std::cerr << stream_.str() + "\n";
  }
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
  int severity_;
};
// Makes an expression of a message, so that a macro can choose between it and none.
struct LoggerVoidify {
  void operator&(const std::ostream&) const {}
};

TENSORLIKE_END(c10)

#define TENSORLIKE_LOG_IF(severity, condition) \
  !(condition) ? (void)0 : ::c10::LoggerVoidify() & ::c10::MessageLogger(__FILE__, __LINE__, severity).stream()
#define TENSORLIKE_CHECK_OP(a, b, op)                   \
  TENSORLIKE_LOG_IF(::c10::GLOG_FATAL, !((a)op(b)))     \
      << "Check failed: " #a " " #op " " #b " (" << (a) << " vs. " << (b) << ") "
#ifdef NDEBUG
#define TENSORLIKE_IN_DEBUG(statement) while (false) statement
#else
#define TENSORLIKE_IN_DEBUG(statement) statement
#endif

// Each of them may be defined by glog itself.
#ifndef CHECK
#define CHECK(condition) TENSORLIKE_LOG_IF(::c10::GLOG_FATAL, !(condition)) << "Check failed: " #condition " "
#define DCHECK(condition) TENSORLIKE_IN_DEBUG(CHECK(condition))
#endif
#ifndef LOG
#define LOG(severity) TENSORLIKE_LOG_IF(::c10::GLOG_##severity, true)
#define LOG_IF(severity, condition) TENSORLIKE_LOG_IF(::c10::GLOG_##severity, condition)
#define DLOG(severity) TENSORLIKE_IN_DEBUG(LOG(severity))
#define VLOG(level) TENSORLIKE_LOG_IF(-(level), true)
#define VLOG_IS_ON(level) ((level) <= 0)
#endif
#ifndef CHECK_EQ
#define CHECK_EQ(a, b) TENSORLIKE_CHECK_OP(a, b, ==)
#define CHECK_NE(a, b) TENSORLIKE_CHECK_OP(a, b, !=)
#define CHECK_LT(a, b) TENSORLIKE_CHECK_OP(a, b, <)
#define CHECK_LE(a, b) TENSORLIKE_CHECK_OP(a, b, <=)
#define CHECK_GT(a, b) TENSORLIKE_CHECK_OP(a, b, >)
#define CHECK_GE(a, b) TENSORLIKE_CHECK_OP(a, b, >=)
#define DCHECK_EQ(a, b) TENSORLIKE_IN_DEBUG(CHECK_EQ(a, b))
#define DCHECK_NE(a, b) TENSORLIKE_IN_DEBUG(CHECK_NE(a, b))
#define DCHECK_LT(a, b) TENSORLIKE_IN_DEBUG(CHECK_LT(a, b))
#define DCHECK_LE(a, b) TENSORLIKE_IN_DEBUG(CHECK_LE(a, b))
#define DCHECK_GT(a, b) TENSORLIKE_IN_DEBUG(CHECK_GT(a, b))
#define DCHECK_GE(a, b) TENSORLIKE_IN_DEBUG(CHECK_GE(a, b))
#endif

// Reports of use have no listener here, as in a PyTorch where none is set.
#define C10_LOG_API_USAGE_ONCE(...) static_assert(true)
