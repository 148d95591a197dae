package My::Suite::Hailstone;

@ISA = qw(My::Suite);

use strict;

# A test that sources include/series.inc has one result for 10.11, and beside it what differs from 11 on, as
# r/TEST,from_11.rdiff. Each is the server's own plan, number of calls or text.
sub skip_combinations {
  my $other = $::mysql_version_id < 110000 ? 'from_11' : 'to_10';
  return ('include/series.combinations' => [$other]);
}

bless {};
