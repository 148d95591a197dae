// TPC-H's queries through hailstone.h, in this process: bench/tpch_library.py asks for them, one by one.
//   tpch_library DIRECTORY FOLDER MEMORY
// Loads FOLDER/TABLE.tsv into a new database in DIRECTORY, which may take MEMORY bytes. Then reads lines
//   QUERY THREADS BYTES     (BYTES: of hs_query_memory(), 0: no limit of its own)
// and answers each with: a line of microseconds, microseconds of the processor, and the numbers of lines of
// the answer and of the explanation; the answer's rows, tab-separated; the explanation. Amounts of money,
// percentages and quantities are whole numbers of hundredths (HS_INT64).
#include <hailstone.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

__extension__ using Wide = __int128;

void check(int status, const void* handle) {
  if (status == HS_OK) return;
  std::fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  std::exit(1);
}

[[noreturn]] void give_up(const std::string& sentence) {
  std::fprintf(stderr, "tpch_library: %s\n", sentence.c_str());
  std::exit(1);
}

struct TableOfRows {
  const char* name;
  std::vector<std::pair<const char*, hs_type>> columns;
  std::vector<const char*> key;
};

// As in bench/tpch.py; DECIMALs are hundredths.
const std::vector<TableOfRows>& tables() {
  static const std::vector<TableOfRows> all = {
      {"region",
       {{"r_regionkey", HS_INT32}, {"r_name", HS_STRING}, {"r_comment", HS_STRING}},
       {"r_regionkey"}},
      {"nation",
       {{"n_nationkey", HS_INT32},
        {"n_name", HS_STRING},
        {"n_regionkey", HS_INT32},
        {"n_comment", HS_STRING}},
       {"n_nationkey"}},
      {"supplier",
       {{"s_suppkey", HS_INT32},
        {"s_name", HS_STRING},
        {"s_address", HS_STRING},
        {"s_nationkey", HS_INT32},
        {"s_phone", HS_STRING},
        {"s_acctbal", HS_INT64},
        {"s_comment", HS_STRING}},
       {"s_suppkey"}},
      {"customer",
       {{"c_custkey", HS_INT32},
        {"c_name", HS_STRING},
        {"c_address", HS_STRING},
        {"c_nationkey", HS_INT32},
        {"c_phone", HS_STRING},
        {"c_acctbal", HS_INT64},
        {"c_mktsegment", HS_STRING},
        {"c_comment", HS_STRING}},
       {"c_custkey"}},
      {"part",
       {{"p_partkey", HS_INT32},
        {"p_name", HS_STRING},
        {"p_mfgr", HS_STRING},
        {"p_brand", HS_STRING},
        {"p_type", HS_STRING},
        {"p_size", HS_INT32},
        {"p_container", HS_STRING},
        {"p_retailprice", HS_INT64},
        {"p_comment", HS_STRING}},
       {"p_partkey"}},
      {"orders",
       {{"o_orderkey", HS_INT32},
        {"o_custkey", HS_INT32},
        {"o_orderstatus", HS_STRING},
        {"o_totalprice", HS_INT64},
        {"o_orderdate", HS_DATE},
        {"o_orderpriority", HS_STRING},
        {"o_clerk", HS_STRING},
        {"o_shippriority", HS_INT32},
        {"o_comment", HS_STRING}},
       {"o_orderkey"}},
      {"lineitem",
       {{"l_orderkey", HS_INT32},
        {"l_partkey", HS_INT32},
        {"l_suppkey", HS_INT32},
        {"l_linenumber", HS_INT32},
        {"l_quantity", HS_INT64},
        {"l_extendedprice", HS_INT64},
        {"l_discount", HS_INT64},
        {"l_tax", HS_INT64},
        {"l_returnflag", HS_STRING},
        {"l_linestatus", HS_STRING},
        {"l_shipdate", HS_DATE},
        {"l_commitdate", HS_DATE},
        {"l_receiptdate", HS_DATE},
        {"l_shipinstruct", HS_STRING},
        {"l_shipmode", HS_STRING},
        {"l_comment", HS_STRING}},
       {"l_orderkey", "l_linenumber"}},
  };
  return all;
}

/// Of YYYY-MM-DD.
int64_t day_of(std::string_view text) {
  const auto number = [&](size_t first, size_t digits) {
    return std::atoi(std::string(text.substr(first, digits)).c_str());
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::string date_of(int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

hs_value value_of(std::string_view text, hs_type type) {
  if (type == HS_STRING) return hs_bytes(text.data(), text.size());
  if (type == HS_DATE) return hs_int(day_of(text));
  return hs_int(std::strtoll(text.data(), nullptr, 10));
}

class Tpch {
 public:
  Tpch(const char* directory, uint64_t memory) {
    hs_options options;
    hs_options_init(&options);
    options.memory_bytes = memory;
    check(hs_open(directory, &options, &database_), database_);
  }
  ~Tpch() {
    hs_transaction_close(transaction_);
    for (const auto& [name, table] : tables_) hs_table_close(table);
    check(hs_close(database_), database_);
  }
  Tpch(const Tpch&) = delete;
  Tpch& operator=(const Tpch&) = delete;

  void load(const TableOfRows& rows, const std::string& path) {
    hs_schema* schema = nullptr;
    check(hs_schema_new(&schema), nullptr);
    for (const auto& [name, type] : rows.columns) {
      check(hs_schema_column(schema, name, type, 0, HS_NOT_NULL), schema);
    }
    check(hs_schema_primary_key(schema, rows.key.data(), rows.key.size()), schema);
    hs_transaction* transaction = nullptr;
    check(hs_begin(database_, HS_REPEATABLE_READ, &transaction), database_);
    hs_table* table = nullptr;
    check(hs_table_create(transaction, (std::string("tpch/") + rows.name).c_str(), schema, &table),
          transaction);
    hs_schema_free(schema);
    hs_load* load = nullptr;
    check(hs_load_begin(transaction, table, &load), transaction);
    std::ifstream file(path);
    std::string line;
    std::vector<hs_value> row;
    while (std::getline(file, line)) {
      row.clear();
      std::string_view rest(line);
      for (const auto& [name, type] : rows.columns) {
        const size_t end = std::min(rest.find('\t'), rest.size());
        row.push_back(value_of(rest.substr(0, end), type));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      check(hs_load_row(load, row.data(), row.size()), load);
    }
    if (file.bad() || !file.eof()) give_up(path + " cannot be read");
    check(hs_load_finish(load), load);
    hs_load_close(load);
    check(hs_commit(transaction), transaction);
    hs_transaction_close(transaction);
    tables_.emplace(rows.name, table);
  }
  /// All queries see what is there now.
  void begin() { check(hs_begin(database_, HS_REPEATABLE_READ, &transaction_), database_); }

  hs_transaction* transaction() const { return transaction_; }
  hs_table* table(const char* name) const { return tables_.at(name); }

 private:
  hs_database* database_ = nullptr;
  hs_transaction* transaction_ = nullptr;
  std::map<std::string, hs_table*> tables_;
};

using Texts = std::vector<const char*>;

/// One query, with the words of hailstone.h.
class Query {
 public:
  Query(const Tpch& tpch, const char* table) {
    check(hs_query_table(tpch.transaction(), tpch.table(table), nullptr, &query_), tpch.transaction());
  }
  ~Query() { hs_query_close(query_); }
  Query(Query&& other) noexcept : query_(std::exchange(other.query_, nullptr)) {}
  Query& operator=(Query&&) = delete;

  hs_query* handle() const { return query_; }
  Query&& where(const char* condition) && {
    check(hs_query_filter(query_, condition, nullptr, 0), query_);
    return std::move(*this);
  }
  Query&& join(const Query& right, const char* condition, hs_join_kind kind = HS_JOIN_INNER) && {
    check(hs_query_join(query_, right.query_, kind, condition, nullptr, 0), query_);
    return std::move(*this);
  }
  Query&& groups(const Texts& keys, const Texts& aggregates) && {
    check(hs_query_aggregate(query_, keys.data(), keys.size(), aggregates.data(), aggregates.size(), nullptr,
                             0),
          query_);
    return std::move(*this);
  }
  Query&& columns(const Texts& items) && {
    check(hs_query_project(query_, items.data(), items.size(), nullptr, 0), query_);
    return std::move(*this);
  }
  Query&& order(const Texts& keys) && {
    check(hs_query_sort(query_, keys.data(), keys.size(), nullptr, 0), query_);
    return std::move(*this);
  }
  Query&& first(uint64_t rows) && {
    check(hs_query_limit(query_, 0, rows), query_);
    return std::move(*this);
  }

 private:
  hs_query* query_ = nullptr;
};

Query query_1(const Tpch& tpch) {
  return Query(tpch, "lineitem")
      .where("l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY")
      .groups({"l_returnflag", "l_linestatus"},
              {"SUM(l_quantity) AS sum_qty", "SUM(l_extendedprice) AS sum_base_price",
               "SUM(l_extendedprice * (100 - l_discount)) AS sum_disc_price",
               "SUM(l_extendedprice * (100 - l_discount) * (100 + l_tax)) AS sum_charge",
               "AVG(l_quantity) AS avg_qty", "AVG(l_extendedprice) AS avg_price",
               "AVG(l_discount) AS avg_disc", "COUNT(*) AS count_order"})
      .order({"l_returnflag", "l_linestatus"});
}

Query query_3(const Tpch& tpch) {
  return Query(tpch, "customer")
      .join(Query(tpch, "orders"), "c_custkey = o_custkey")
      .join(Query(tpch, "lineitem"), "l_orderkey = o_orderkey")
      .where(
          "c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'")
      .groups({"l_orderkey", "o_orderdate", "o_shippriority"},
              {"SUM(l_extendedprice * (100 - l_discount)) AS revenue"})
      .order({"revenue DESC", "o_orderdate"})
      .first(10)
      .columns({"l_orderkey", "revenue", "o_orderdate", "o_shippriority"});
}

Query query_5(const Tpch& tpch) {
  return Query(tpch, "customer")
      .join(Query(tpch, "orders"), "c_custkey = o_custkey")
      .join(Query(tpch, "lineitem"), "l_orderkey = o_orderkey")
      .join(Query(tpch, "supplier"), "l_suppkey = s_suppkey AND c_nationkey = s_nationkey")
      .join(Query(tpch, "nation"), "s_nationkey = n_nationkey")
      .join(Query(tpch, "region"), "n_regionkey = r_regionkey")
      .where(
          "r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1994-01-01' + "
          "INTERVAL 1 YEAR")
      .groups({"n_name"}, {"SUM(l_extendedprice * (100 - l_discount)) AS revenue"})
      .order({"revenue DESC"});
}

Query query_6(const Tpch& tpch) {
  return Query(tpch, "lineitem")
      .where(
          "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL 1 YEAR "
          "AND l_discount BETWEEN 5 AND 7 AND l_quantity < 2400")
      .groups({}, {"SUM(l_extendedprice * l_discount) AS revenue"});
}

Query query_12(const Tpch& tpch) {
  return Query(tpch, "orders")
      .join(Query(tpch, "lineitem"), "o_orderkey = l_orderkey")
      .where(
          "l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
          "AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1994-01-01' + INTERVAL 1 YEAR")
      .groups(
          {"l_shipmode"},
          {"SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) "
           "AS high_line_count",
           "SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) "
           "AS low_line_count"})
      .order({"l_shipmode"});
}

Query query_14(const Tpch& tpch) {
  return Query(tpch, "lineitem")
      .join(Query(tpch, "part"), "l_partkey = p_partkey")
      .where("l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-09-01' + INTERVAL 1 MONTH")
      .groups({}, {"SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (100 - l_discount) ELSE 0 END) "
                   "AS promoted",
                   "SUM(l_extendedprice * (100 - l_discount)) AS revenue"})
      .columns({"100.00 * promoted / revenue AS promo_revenue"});
}

Query query_18(const Tpch& tpch) {
  const Query large = Query(tpch, "lineitem")
                          .groups({"l_orderkey AS large_key"}, {"SUM(l_quantity) AS quantity"})
                          .where("quantity > 30000");
  return Query(tpch, "customer")
      .join(Query(tpch, "orders"), "c_custkey = o_custkey")
      .join(Query(tpch, "lineitem"), "o_orderkey = l_orderkey")
      .join(large, "o_orderkey = large_key", HS_JOIN_SEMI)
      .groups({"c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice"},
              {"SUM(l_quantity) AS quantity"})
      .order({"o_totalprice DESC", "o_orderdate"})
      .first(100);
}

const std::map<std::string, std::function<Query(const Tpch&)>> queries = {
    {"q1", query_1},   {"q3", query_3},   {"q5", query_5},  {"q6", query_6},
    {"q12", query_12}, {"q14", query_14}, {"q18", query_18}};

/// A DECIMAL as decimal128 holds it.
std::string decimal_of(Wide number, unsigned scale) {
  const bool is_negative = number < 0;
  std::string digits;
  for (Wide rest = is_negative ? -number : number; rest != 0 || digits.size() <= scale; rest /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  if (scale != 0) digits.insert(digits.size() - scale, ".");
  return (is_negative ? "-" : "") + digits;
}

template <typename Number>
Number number_at(const ArrowArray& column, int64_t row) {
  Number number;
  std::memcpy(&number, static_cast<const char*>(column.buffers[1]) + row * int64_t{sizeof(Number)},
              sizeof number);
  return number;
}

std::string text_of(const ArrowArray& column, const std::string& format, int64_t row) {
  if (format == "i") return std::to_string(number_at<int32_t>(column, row));
  if (format == "l") return std::to_string(number_at<int64_t>(column, row));
  if (format == "L") return std::to_string(number_at<uint64_t>(column, row));
  if (format == "tdD") return date_of(number_at<int32_t>(column, row));
  if (format == "u") {
    const auto begin = number_at<int32_t>(column, row), end = number_at<int32_t>(column, row + 1);
    return {static_cast<const char*>(column.buffers[2]) + begin, static_cast<size_t>(end - begin)};
  }
  if (format.starts_with("d:"))
    return decimal_of(number_at<Wide>(column, row),
                      static_cast<unsigned>(std::atoi(format.c_str() + format.find(',') + 1)));
  give_up("a column has the format " + format);
}

/// The rows of a stream.
std::vector<std::string> rows_of(ArrowArrayStream& stream) {
  ArrowSchema schema;
  if (stream.get_schema(&stream, &schema) != 0) give_up(stream.get_last_error(&stream));
  std::vector<std::string> rows;
  for (ArrowArray array;;) {
    if (stream.get_next(&stream, &array) != 0) give_up(stream.get_last_error(&stream));
    if (array.release == nullptr) break;
    for (int64_t row = 0; row < array.length; ++row) {
      std::string& text = rows.emplace_back();
      for (int64_t i = 0; i < array.n_children; ++i) {
        if (i != 0) text += '\t';
        text += text_of(*array.children[i], schema.children[i]->format, row);
      }
    }
    array.release(&array);
  }
  schema.release(&schema);
  return rows;
}

int64_t processor_microseconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * int64_t{1'000'000} + used.ru_utime.tv_usec +
         used.ru_stime.tv_usec;
}

void answer(const Tpch& tpch, const std::string& name, unsigned threads, uint64_t memory) {
  const auto known = queries.find(name);
  if (known == queries.end()) give_up("there is no query " + name);
  const int64_t processor = processor_microseconds();
  const auto start = std::chrono::steady_clock::now();
  const Query query = known->second(tpch);
  check(hs_query_threads(query.handle(), threads), query.handle());
  check(hs_query_memory(query.handle(), memory), query.handle());
  ArrowArrayStream stream;
  check(hs_query_stream(query.handle(), &stream), query.handle());
  const std::vector<std::string> rows = rows_of(stream);
  const auto taken =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  const int64_t processor_taken = processor_microseconds() - processor;
  const char* explanation = nullptr;
  check(hs_query_explain(query.handle(), &explanation), query.handle());
  std::string explained(explanation);
  if (!explained.ends_with('\n')) explained += '\n';
  stream.release(&stream);
  std::printf("%lld %lld %zu %lld\n", static_cast<long long>(taken.count()),
              static_cast<long long>(processor_taken), rows.size(),
              static_cast<long long>(std::ranges::count(explained, '\n')));
  for (const std::string& row : rows) std::printf("%s\n", row.c_str());
  std::fputs(explained.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s DIRECTORY FOLDER MEMORY\n", argv[0]);
    return 2;
  }
  Tpch tpch(argv[1], std::strtoull(argv[3], nullptr, 10));
  for (const TableOfRows& table : tables())
    tpch.load(table, std::string(argv[2]) + "/" + table.name + ".tsv");
  tpch.begin();
  std::printf("ready\n");
  std::fflush(stdout);
  std::string name;
  uint64_t memory = 0;
  for (unsigned threads = 0; std::cin >> name >> threads >> memory;) {
    answer(tpch, name, threads, memory);
  }
  return 0;
}
