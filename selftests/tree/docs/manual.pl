# SPDX-License-Identifier: GPL-2.0-only
#
# Converts the output of kernel-doc -rst (perl's, of Linux 6.1 to 6.12) to Markdown.
use strict;
use warnings;

my ($indented, $code, $brief, $title, $entry, $prototype) = (0) x 6;
my ($last, $return) = ("", "");

# At most one empty line in a row.
sub emit
{
	my ($line) = @_;

	print "$line\n" if $line ne "" || $last ne "";
	$last = $line;
}

sub inline
{
	my ($text) = @_;

	$text =~ s/:c:type:`([^<`]*) <[^>]*>`/`$1`/g;
	$text =~ s/``([^`]*)``/`$1`/g;
	$text =~ s/\*\*([^*]+)\*\*/`$1`/g;
	return $text;
}

sub begin_item
{
	my ($kind, $what) = @_;

	$prototype = "";
	if ($kind eq "function") {
		$what =~ s/\* /*/g;
		$what =~ s/ \(/(/;
		$prototype = "$what;";
		$what =~ s/\(.*//;
		$what =~ s/.*[ *]//;
		$what .= "()";
	}
	emit("");
	emit("### `$what`");
	emit("");
	($indented, $code, $brief) = (0, 0, 1);
}

sub brief
{
	my ($text) = @_;

	$text =~ s/^ *(\*\*Typedef\*\*: )?//;
	emit(inline($text));
	emit("");
	if ($prototype) {
		emit($_) for "```c", $prototype, "```", "";
	}
	$brief = 0;
}

while (my $line = <STDIN>) {
	chomp($line);
	if ($line =~ /^\.\. _/) {
		$title = 1;
		next;
	} elsif ($line =~ /^\.\. container::/) {
		$indented = 1;
		next;
	} elsif ($line =~ /^\.\. c:(\w+):: *(.*)/) {
		begin_item($1, $2);
		next;
	}
	$line =~ s/^  // if $indented;
	if ($line =~ /^\s*$/) {
		emit("") unless $code || $return;
	} elsif ($brief) {
		brief($line);
	} elsif ($title && $line =~ /^\*\*(.*)\*\*$/) {
		emit("## $1");
		$title = 0;
	} elsif ($line =~ /^(\*\*Definition\*\*(::)?|::)$/) {
		emit("```c") unless $code;
		$code = 1;
	} elsif ($code && $line =~ /^  ( *)(.*)/) {
		emit(($1 ? "\t" : "") . $2);
	} else {
		if ($code) {
			emit($_) for "```", "";
			$code = 0;
		}
		if ($line =~ /^\*\*(Members|Parameters|Description|Syntax)\*\*$/) {
			next;
		} elsif ($line =~ /^\*\*Return\*\*$/) {
			$return = "**Return:** ";
		} elsif ($line =~ /^``.*``$/) {
			# The text of a definition follows, indented.
			$entry = inline($line);
		} elsif ($entry) {
			$line =~ s/^ *//;
			emit("- $entry: " . inline($line));
			$entry = 0;
		} else {
			emit($return . inline($line));
			$return = "";
		}
	}
}
