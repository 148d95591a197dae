# Tests of any engine come with a combination for each that the package knows: here they run with one, ours.
package My::Suite::PartsHailstone;

@ISA = qw(My::Suite);

sub skip_combinations { return ('inc/engines.combinations' => ['innodb', 'myisam', 'aria']); }

bless {};
