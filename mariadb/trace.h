// hailstone_trace: the functions of the storage engine interface that the server calls for a statement, in
// order, for people who learn or debug that interface. INFORMATION_SCHEMA.HAILSTONE_TRACE shows them, and the
// error log when hailstone_trace_log is on.
//
// Each function of the handler and of the handlerton runs its body through run_traced(). With tracing off
// that is a branch on a null pointer, or, where it has to be found out whether the session is traced, on a
// flag that stays false until somebody switches tracing on for the first time.
//
// A line of a trace stands for all calls of one function with the same arguments that follow each other. When
// a function that handles rows comes again after others, all lines since its line become a loop: they took
// turns, and each goes on counting. So a trace stays short however many rows the statement has, and lines
// never move.
//
// A trace belongs to a session and to its thread. Its memory is bounded: statements_kept statements,
// lines_kept lines in each.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/guard.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// What the numbers of a TracedCall mean.
enum class Argument : uint8_t {
  None,
  Text,            // text
  RenamedTo,       // text: path
  Scan,            // bool: whether the whole table will be read, not positions
  Index,           // number of the index
  SortedIndex,     // number of the index, bool: in its order
  Search,          // number of the index, ha_rkey_function
  Bounds,          // number of the index, 1: there is a lower bound + 2: an upper one
  Operation,       // ha_extra_function
  Lock,            // F_RDLCK, F_WRLCK, F_UNLCK
  TableLock,       // thr_lock_type
  Information,     // HA_STATUS_…
  Rows,            // how many will come, 0: unknown
  Values,          // how many are wanted
  TransactionEnd,  // bool: all, bool: ends the transaction
};

/// What a function returns.
enum class Returns : uint8_t {
  Nothing,    // that would say something
  Error,      // a number of the server's, 0: none
  Row,        // the same; without an error one row was read or written
  Number,     // an estimate or a count
  Admin,      // HA_ADMIN_…
  Alter,      // enum_alter_inplace_result
  Remainder,  // of a condition; null: all of it was taken
  Pushed,     // a handler of a whole query, or null
};

struct TracedCall {
  const char* function;  // a literal: calls of one function are told by its address
  Returns returns = Returns::Error;
  Argument argument = Argument::None;
  int64_t first = 0;
  int64_t second = 0;
  const char* text = nullptr;
  const char* path = nullptr;  // of the table, where the call names one
};

/// Whose function it is; without a table it is the handlerton's.
struct TracedTable {
  const void* handler = nullptr;
  const TABLE* table = nullptr;
  const std::string* name = nullptr;  // as in the catalog
};

struct TraceLine {
  // What is the same in all its calls.
  const void* handler;
  const char* function;
  int64_t first;
  int64_t second;
  Returns returns;
  std::string table;
  std::string catalog_name;  // of that table; empty: of none
  std::string arguments;

  uint64_t calls = 0;
  uint64_t rows = 0;
  int64_t result = 0;  // the last that was not 0
  std::chrono::nanoseconds time{0};
  uint32_t loop = 0;  // same number: took turns; 0: in no loop

  std::string result_text() const;
  double microseconds() const { return std::chrono::duration<double, std::micro>(time).count(); }
};

struct TracedStatement {
  uint64_t number;
  query_id_t query_id;
  std::string query;  // its beginning
  CHARSET_INFO* query_charset;
  bool of_another =
      false;  // ran with the rights of another user, as the statements of a definer's routine do
  bool reads_trace = false;
  std::vector<TraceLine> lines;
  uint32_t loops = 0;
  uint64_t calls_not_kept = 0;
  size_t logged = 0;  // lines in the error log

  /// The first and last line of the loop that a line is in, counted from 0.
  std::pair<size_t, size_t> loop_of(size_t line) const;
};

/// Set when hailstone_trace is switched on in any session or for all of them; never cleared.
inline std::atomic<bool> tracing_was_on{false};

class Trace {
 public:
  static constexpr size_t statements_kept = 10;
  static constexpr size_t lines_kept = 1000;

  /// The trace of a session that is traced now, else null.
  static Trace* of(THD* thd) { return tracing_was_on.load(std::memory_order_relaxed) ? find(thd) : nullptr; }

  explicit Trace(THD* thd) : thd_(thd) {}

  /// Both need memory, and leave calls out where there is none.
  void begin(const TracedCall& call, const TracedTable& table) noexcept;
  /// Of the call that was begun last and has not ended.
  void end(int64_t result) noexcept;

  /// Of a handler, for a statement. While none is at work, calls are written to the error log at once.
  void start_work() { ++handlers_at_work_; }
  void stop_work() { --handlers_at_work_; }

  /// The statement that is running now shows the trace: it leaves no trace itself.
  void hide_current_statement();
  /// Oldest first.
  const std::deque<TracedStatement>& statements() const { return statements_; }

 private:
  /// A call that has begun.
  struct Running {
    uint64_t statement;
    size_t line;
    std::chrono::steady_clock::time_point start;
  };
  static Trace* find(THD* thd);
  void keep(const TracedCall& call, const TracedTable& table);
  void start_statement();
  size_t find_line(const TracedCall& call, const TracedTable& table);
  void write_log();

  THD* thd_;
  std::deque<TracedStatement> statements_;
  std::vector<Running> running_;  // one within the other
  size_t left_out_ = 0;           // calls that have begun and for which there was no memory
  uint64_t last_number_ = 0;
  size_t handlers_at_work_ = 0;
};

template <typename Result>
int64_t trace_number(const Result& result) {
  if constexpr (std::is_pointer_v<Result>) {
    return result != nullptr ? 1 : 0;
  } else {
    return static_cast<int64_t>(result);
  }
}

/// What a function returns that had no memory for its work.
template <typename Result>
Result without_memory(Returns returns) {
  if constexpr (std::is_pointer_v<Result>) {
    return nullptr;
  } else if constexpr (std::is_same_v<Result, bool>) {
    return true;
  } else if constexpr (std::is_same_v<Result, enum_alter_inplace_result>) {
    return HA_ALTER_ERROR;
  } else {
    switch (returns) {
      case Returns::Admin:
        return static_cast<Result>(HA_ADMIN_FAILED);
      case Returns::Number:
        return sizeof(Result) == sizeof(ha_rows) ? static_cast<Result>(HA_POS_ERROR) : Result{};
      default:
        return static_cast<Result>(HA_ERR_OUT_OF_MEM);
    }
  }
}

/// Runs the body of a function that the server calls; `trace` is null when nobody wants to know. Here ends
/// what had no memory.
template <typename Body>
auto run_traced(Trace* trace, const TracedCall& call, const TracedTable& table, Body&& body) noexcept {
  if (trace != nullptr) [[unlikely]] {
    // Copies, as the compiler would otherwise build what nobody looks at.
    const TracedCall begun = call;
    const TracedTable of = table;
    trace->begin(begun, of);
  }
  if constexpr (std::is_void_v<decltype(body())>) {
    try_to(body);
    if (trace != nullptr) [[unlikely]]
      trace->end(0);
  } else {
    using Returned = decltype(body());
    const auto work = [&]() -> Returned {
      try {
        return body();
      } catch (const std::bad_alloc&) {
        return without_memory<Returned>(call.returns);
      }
    };
    Returned result = work();
    if (trace != nullptr) [[unlikely]]
      trace->end(trace_number(result));
    return result;
  }
}

/// The same for the handlerton's functions.
template <typename Body>
auto run_traced(THD* thd, const TracedCall& call, Body&& body) {
  return run_traced(Trace::of(thd), call, {}, body);
}

}  // namespace hailstone
