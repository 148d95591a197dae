// The reading half of a stream: takes records from its source into the spool, and acknowledges them there.
// What cannot be read as a record goes to the reject file. One thread, which is the spool's appending one.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/event_log.h"
#include "collect/followed_file.h"
#include "collect/load_text.h"
#include "collect/reject_file.h"
#include "collect/source_position.h"
#include "collect/spool.h"
#include "collect/stop.h"
#include "text/time_format.h"

namespace hailstone {

class Intake {
 public:
  /// `once`: ends when all that is there now has been read.
  Intake(const StreamConfig& config, Spool& spool, RejectFile& rejects, const Stop& stop, bool once)
      : config_(config), spool_(spool), rejects_(rejects), stop_(stop), once_(once), trouble_(config.name) {}

  /// Ends when the source has, or when stop is asked for; the spool is closed then.
  Status run();
  /// What goes wrong, and is tried again; empty: nothing. Any thread.
  std::string trouble() const { return trouble_.current(); }

 private:
  Status read_source();
  Status read_standard_input();
  Status read_followed_file();
  Status read_directory();
  enum class Reading : uint8_t {
    Whole,
    Cut,        // the file was cut or written anew
    OtherFile,  // another file has this path now
  };
  /// Tells of what is wrong with the source as a whole, and waits; with `once`, that is the end.
  Status wait_for_source(const Error& error);
  /// Whether a file of the directory is to be read: not where a symbolic link leads out of it.
  bool is_inside(const std::string& path);
  /// What is known of a file of the directory, also under another name that it had or has.
  Result<std::optional<SourcePosition>> position_in_directory(const std::string& path,
                                                              const FileFacts& facts);
  /// Tells once of a file that cannot be read.
  void refuse(const std::string& path, const std::string& why);
  /// What comes after a file that has ended, of those that had its name.
  Result<std::optional<SourcePosition>> position_after(const std::string& path);
  /// From `position` on, or from its beginning.
  Result<Reading> read_file(const std::string& path, std::optional<SourcePosition> position,
                            FollowedFile::End end);
  /// Of a file that is read on: as its first row ended.
  Result<std::optional<LineEnd>> line_end_of(const FollowedFile& file) const;
  Status take_rows(TextRows& rows);
  Status take_layout(const TextRows& rows);
  Status take(const TextRows& rows);
  Status reject(const TextRows& rows);
  Status reject_time(const TextRows& rows, size_t column, const Field& field);
  Status reject(const Rejection& rejection);
  /// Makes durable what was taken, once it is much, or has waited for a second; ErrorCode::Interrupted when
  /// stop is asked for, and the source can be read on from here.
  Status pause();
  /// Makes what was taken so far durable; waits while the spool is full.
  Status flush();
  /// A call that goes on when the disk or the spool has room.
  Status wait_out(const std::function<Status()>& work);
  std::optional<SourcePosition> position_of(const std::string& path) const;
  /// Nothing: what was known of the file is forgotten.
  Status set_position(const std::string& path, const std::optional<SourcePosition>& position);
  /// The growing file that is being read has been replaced by others: notes these, so that none is left out.
  Status note_newer();
  /// Notes how big those of these files are that have another name by now.
  Status note_quiet(const std::vector<SourceIdentity>& files);

  const StreamConfig& config_;
  Spool& spool_;
  RejectFile& rejects_;
  const Stop& stop_;
  const bool once_;
  Trouble trouble_;

  // Of the input that is being read.
  std::string source_;
  FollowedFile* file_ = nullptr;    // unless it is standard input
  const TextRows* rows_ = nullptr;  // once they have begun
  SourcePosition begin_;            // where the input begins
  // Replaced files that wait for those before them: so all of them wait for late lines at the same time.
  std::map<SourceIdentity, FollowedFile::Quiet> quiet_;

  SpoolFrame frame_;
  bool is_dirty_ = false;                         // rows or rejections were taken since the last flush
  RecordLayout layout_;                           // of the records in the frame
  std::vector<std::optional<size_t>> fields_;     // by column of the layout: which field of a row goes there
  std::vector<std::optional<TimeReader>> times_;  // by column of the layout: how its times are written
  size_t mapped_names_ = 0;                       // how many names the rows had when fields_ was made
  std::string record_, time_;
  uint64_t since_flush_ = 0;  // rows taken, and rejected
  std::chrono::steady_clock::time_point flushed_;
  std::set<std::string> refused_;  // files of which it was told that they cannot be read
};

}  // namespace hailstone
