// What mariadb-backup has copied of InnoDB's log, compared with the log itself.
//
// The program reads the last block of the log while the server writes it. Behind the log's end that block has
// bytes of earlier writes, and mariadb-backup 10.11.18 may take them for the log's next changes (MDEV-39468).
// Mostly it then finds no place to go on and fails. Where it does go on, or needed no more, it ends well: the
// restored InnoDB has old values again, and lacks transactions that Hailstone has. Nothing else tells.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hailstone {

/// Where the server's log is, as log sequence numbers.
struct InnodbLogPlace {
  uint64_t current = 0;  // of the next change
  uint64_t flushed = 0;  // what is before it in the file stays as it is until it is written over
};

/// One thread.
class CopiedInnodbLog {
 public:
  /// Of the file, in the server's folder and in a copy.
  static constexpr std::string_view file_name = "ib_logfile0";

  /// `log`: the server's file, which goes on being written. `place` asks the server.
  CopiedInnodbLog(std::string log, std::function<Result<InnodbLogPlace>()> place)
      : log_(std::move(log)), place_(std::move(place)) {}

  /// The copy's next bytes. ErrorCode::Busy: it is not what the server has, so that a new copy is needed.
  Status take(std::string_view bytes);
  /// There are no more. What the server has flushed is compared at once, before it is written over; nothing
  /// is waited for, as mariadb-backup still keeps commits out.
  Status end_file();
  /// Compares the rest. Waits until the server has flushed as much, or `stop` says so.
  Status end(const std::function<bool()>& stop);

 private:
  Status read_header();
  Status compare_what_is_flushed();
  /// Of what has come, all before `end`.
  Status compare_up_to(uint64_t end);

  const std::string log_;
  const std::function<Result<InnodbLogPlace>()> place_;
  std::string bytes_;        // of the copy, that are not compared yet
  bool has_header_ = false;  // and so `begin_`
  uint64_t begin_ = 0;       // log sequence number of the first of them
};

}  // namespace hailstone
