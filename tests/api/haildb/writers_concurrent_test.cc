// Sixteen writers on the default configuration: memory makes them slower and fails none of them, and what
// they have committed is there, by every index.
//
// HAILSTONE_STRESS_SECONDS is how long they write (2). Two of three rows belong to one thread, whose model of
// them is compared at the end; the others are fought for.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "api/haildb/fixture.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

constexpr int threads = 16, tables = 4, keys_of_a_thread = 4000;
constexpr int shared_keys = 32'000, first_of_threads = 1'000'000;

using Model = std::map<int, std::string>;  // by id

/// An error that ends the transaction: another one is begun then.
bool ends_transaction(ib_err_t code) { return code == DB_DEADLOCK || code == DB_LOCK_WAIT_TIMEOUT; }

bool is_refusal(ib_err_t code) {
  return code != DB_SUCCESS && code != DB_DUPLICATE_KEY && code != DB_RECORD_NOT_FOUND &&
         code != DB_END_OF_INDEX && !ends_transaction(code);
}

class HaildbWritersConcurrentTest : public HaildbTest {
 protected:
  static std::string name_of(int table) { return "test/t" + std::to_string(table); }

  static void create_tables() {
    for (int table = 0; table < tables; ++table) {
      create(name_of(table).c_str(),
             {{"id", IB_INT, IB_COL_NOT_NULL, 4}, {"name", IB_VARCHAR, 0, 60}, {"data", IB_BLOB, 0, 0}},
             {{"PRIMARY", {{"id"}}, true}, {"names", {{"name"}}}});
    }
  }

  static uint64_t memory_waits() {
    uint64_t waits = 0;
    EXPECT_OK(ib_status_get_i64("memory_waits", reinterpret_cast<ib_i64_t*>(&waits)));
    return waits;
  }

  /// What one thread does, and knows of its own rows.
  class Writer {
   public:
    /// One in `one_large_in` transactions writes up to some hundred megabytes, the others a few rows.
    Writer(int number, uint64_t seed, uint64_t one_large_in)
        : number_(number), one_large_in_(one_large_in), random_(seed + static_cast<uint64_t>(number)) {}

    void run(const std::atomic<bool>& ended) {
      while (!ended.load() && !::testing::Test::HasFailure()) transaction();
    }
    const Model& rows(int table) const { return rows_[static_cast<size_t>(table)]; }
    uint64_t commits = 0, lost = 0;  // lost to other writers
    std::map<int, uint64_t> codes;

   private:
    uint64_t below(uint64_t bound) { return random_() % bound; }

    void transaction() {
      const auto table = static_cast<int>(below(tables));
      Model after = rows(table);
      ib_trx_t trx = ib_trx_begin(static_cast<ib_trx_level_t>(below(4)));
      ib_crsr_t cursor = nullptr;
      ASSERT_OK(ib_cursor_open_table(name_of(table).c_str(), trx, &cursor));
      const uint64_t steps = below(one_large_in_) == 0 ? 1000 + below(10'000) : 1 + below(100);
      const size_t greatest = below(2) == 0 ? 20'000 : 300;
      bool is_active = true;
      for (uint64_t step = 0; step < steps && is_active; ++step) {
        const ib_err_t code = change(cursor, after, greatest);
        ++codes[code];
        is_active = !ends_transaction(code);
        if (is_refusal(code)) {
          EXPECT_OK(ib_cursor_close(cursor));
          EXPECT_OK(ib_trx_rollback(trx));
          return;
        }
      }
      ASSERT_OK(ib_cursor_close(cursor));
      if (!is_active) {
        ++lost;
        ASSERT_DB(IB_TRX_NOT_STARTED, ib_trx_state(trx));
        ASSERT_OK(ib_trx_release(trx));
      } else if (below(5) == 0) {
        ASSERT_OK(ib_trx_rollback(trx));
      } else {
        ASSERT_OK(ib_trx_commit(trx));
        ++commits;
        rows_[static_cast<size_t>(table)] = std::move(after);
      }
    }

    /// Inserts, updates, deletes or searches one row.
    ib_err_t change(ib_crsr_t cursor, Model& after, size_t greatest) {
      const bool own = below(3) != 0;
      const int id = own ? first_of_threads * (number_ + 1) + static_cast<int>(below(keys_of_a_thread))
                         : static_cast<int>(below(shared_keys));
      const uint64_t what = below(10);
      std::string data(below(greatest), static_cast<char>('a' + below(26)));
      if (what < 5) {
        const ib_err_t code = insert_row(cursor, id, data);
        if (own && !ends_transaction(code) && !is_refusal(code)) {
          EXPECT_EQ(code == DB_DUPLICATE_KEY, after.contains(id)) << ib_strerror(code);
        }
        if (own && code == DB_SUCCESS) after[id] = data;
        return code;
      }
      if (what == 9) {  // reads a range without locks
        EXPECT_OK(ib_cursor_set_lock_mode(cursor, IB_LOCK_NONE));
        ib_err_t code = move_to(cursor, id);
        for (int i = 0; i < 20 && code == DB_SUCCESS; ++i) code = ib_cursor_next(cursor);
        return code;
      }
      ib_err_t code = ib_cursor_set_lock_mode(cursor, IB_LOCK_X);
      if (code == DB_SUCCESS) {
        ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
        code = move_to(cursor, id);
        ib_cursor_set_match_mode(cursor, IB_CLOSEST_MATCH);
      }
      if (own && !ends_transaction(code) && !is_refusal(code)) {
        EXPECT_EQ(code == DB_SUCCESS, after.contains(id)) << ib_strerror(code);
      }
      if (code != DB_SUCCESS) return code;
      if (what < 8) {
        code = update_row(cursor, id, data);
        if (own && code == DB_SUCCESS) after[id] = data;
      } else {
        code = ib_cursor_delete_row(cursor);
        if (own && code == DB_SUCCESS) after.erase(id);
      }
      return code;
    }

    static std::string name_for(const std::string& data) { return data.substr(0, 40); }

    static void fill_tuple(ib_tpl_t tuple, int id, const std::string& data) {
      set(tuple, 0, id);
      set(tuple, 1, name_for(data));
      set(tuple, 2, data);
    }
    static ib_err_t insert_row(ib_crsr_t cursor, int id, const std::string& data) {
      ib_tpl_t tuple = ib_clust_read_tuple_create(cursor);
      fill_tuple(tuple, id, data);
      const ib_err_t code = ib_cursor_insert_row(cursor, tuple);
      ib_tuple_delete(tuple);
      return code;
    }
    static ib_err_t update_row(ib_crsr_t cursor, int id, const std::string& data) {
      ib_tpl_t before = ib_clust_read_tuple_create(cursor), now = ib_clust_read_tuple_create(cursor);
      ib_err_t code = ib_cursor_read_row(cursor, before);
      if (code == DB_SUCCESS) {
        fill_tuple(now, id, data);
        code = ib_cursor_update_row(cursor, before, now);
      }
      ib_tuple_delete(before);
      ib_tuple_delete(now);
      return code;
    }

    const int number_;
    const uint64_t one_large_in_;
    std::mt19937_64 random_;
    std::array<Model, tables> rows_;
  };

  /// The rows of threads, by the clustered index; that of names must have as many as all.
  static Model read_table(int table) {
    Model found;
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open(name_of(table).c_str(), trx);
    ib_tpl_t row = ib_clust_read_tuple_create(cursor);
    uint64_t all = 0, by_name = 0;
    for (ib_err_t code = ib_cursor_first(cursor); code == DB_SUCCESS; code = ib_cursor_next(cursor)) {
      EXPECT_OK(ib_cursor_read_row(cursor, row));
      ++all;
      if (number(row, 0) >= first_of_threads) found[number(row, 0)] = text(row, 2);
    }
    ib_crsr_t names = open_index(cursor, "names");
    for (ib_err_t code = ib_cursor_first(names); code == DB_SUCCESS; code = ib_cursor_next(names)) ++by_name;
    EXPECT_EQ(all, by_name);
    ib_tuple_delete(row);
    EXPECT_OK(ib_cursor_close(names));
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(trx));
    return found;
  }

  /// All write for a while, and none of them is refused anything.
  void stress(uint64_t one_large_in) {
    const char* const given = std::getenv("HAILSTONE_STRESS_SECONDS");
    const auto seconds = std::chrono::seconds(given == nullptr ? 2 : std::strtoll(given, nullptr, 10));
    const uint64_t seed = test_seed(std::random_device{}());
    create_tables();
    std::vector<Writer> writers;
    writers.reserve(threads);
    for (int i = 0; i < threads; ++i) writers.emplace_back(i, seed, one_large_in);
    std::atomic<bool> ended{false};
    std::vector<std::thread> running;
    running.reserve(threads);
    for (Writer& writer : writers) running.emplace_back([&] { writer.run(ended); });
    std::this_thread::sleep_for(seconds);
    ended.store(true);
    for (std::thread& thread : running) thread.join();
    uint64_t commits = 0, lost = 0;
    std::map<int, uint64_t> codes;
    for (const Writer& writer : writers) {
      commits += writer.commits;
      lost += writer.lost;
      for (const auto& [code, count] : writer.codes) codes[code] += count;
    }
    for (const auto& [code, count] : codes) {
      printf("%s: %lu\n", ib_strerror(static_cast<ib_err_t>(code)), count);
      EXPECT_FALSE(is_refusal(static_cast<ib_err_t>(code))) << ib_strerror(static_cast<ib_err_t>(code));
    }
    printf("%lu commits, %lu lost to others, %lu waits for memory\n", commits, lost, memory_waits());
    EXPECT_GT(commits, 0U);
    for (int round = 0; round < 2; ++round) {
      for (int table = 0; table < tables; ++table) {
        Model expected;
        for (const Writer& writer : writers)
          expected.insert(writer.rows(table).begin(), writer.rows(table).end());
        EXPECT_TRUE(read_table(table) == expected) << name_of(table) << ", seed " << seed;
      }
      if (round == 0) restart();
    }
  }
};

TEST_F(HaildbWritersConcurrentTest, SixteenWritersAreSlowedAndNotRefused) { stress(50); }

TEST_F(HaildbWritersConcurrentTest, SixteenLargeWritersAreSlowedAndNotRefused) {
  // Large transactions hold row locks for long.
  ASSERT_OK(ib_cfg_set_int("lock_wait_timeout", 2UL));
  stress(3);
}

}  // namespace
}  // namespace hailstone
