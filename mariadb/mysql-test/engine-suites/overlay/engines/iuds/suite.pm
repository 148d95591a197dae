# The combinations with InnoDB and MyISAM are left out: suite.opt names the engine.
package My::Suite::EnginesHailstone;

@ISA = qw(My::Suite);

sub skip_combinations { return (combinations => ['innodb', 'myisam']); }

bless {};
