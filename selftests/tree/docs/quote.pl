# SPDX-License-Identifier: GPL-2.0-only
#
# quote.pl TOP < PAGE: prints the page with the current quotes of the sources in TOP. A quote is a
# code block after a line
#
#	<!-- FILE: NAME -->	function or structure NAME, or the lines between
#				"# quote NAME" and "# end quote"
#	<!-- FILE -->		the file without its first comment
use strict;
use warnings;

my $top = shift or die "quote.pl: no directory\n";

sub source
{
	my ($file, $name) = @_;
	my ($text, $quote) = ("", "");

	open(my $in, "<", "$top/$file") or die "$file: $!\n";
	while (my $line = <$in>) {
		$text .= $line;
		if ($name && !$quote && $line =~ /^(\s*)# quote \Q$name\E$/) {
			my $indent = $1;
			while (($line = <$in>) !~ /^\s*# end quote$/) {
				$quote .= $line =~ s/^$indent//r;
			}
			return $quote;
		}
		if ($name && !$quote) {
			$quote = $line if $line =~ /^struct \Q$name\E \{$/ ||
				$line =~ /^\w.*\b\Q$name\E\(.*[^;]$/;
		} elsif ($quote) {
			$quote .= $line;
			return $quote if $line =~ /^}/;
		}
	}
	die "$file: no $name\n" if $name;
	$text =~ s/^(\/\/.*\n)+// or $text =~ s/^(#.*\n)+//;
	return $text;
}

while (my $line = <STDIN>) {
	print $line;
	next unless $line =~ /^<!-- ([\w-]+\/[\w\/.-]+)(?:: (\w+))? -->$/;
	my $quote = source($1, $2);
	$line = <STDIN>;
	die "no code block behind: $1\n" unless $line && $line =~ /^```./;
	print $line, $quote;
	while ($line = <STDIN>) {
		last if $line eq "```\n";
	}
	print "```\n";
}
