#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# words.pl CLASS FILE...: count habits of style in the prose of files. CLASS is
# "comments" (C: comments; other sources: lines that begin with #, of Lua with --) or "documents"
# (Markdown, manual pages, plain text). Prints "WORDS n", then "HABIT FILE:LINE: sentence"
# for each hit. Code, quotes in backticks, headings and table rules do not count.
use strict;
use warnings;

my $class = shift or die "usage: words.pl comments|documents FILE...\n";

# ---- from a file to its paragraphs: [line, text], with code removed

sub blank_lines
{
	my ($text) = @_;
	$text =~ s/[^\n]//g;
	return $text;
}

sub comments
{
	my ($name, $text) = @_;
	my @out;

	if ($name =~ /\.(?:[ch]|bt|map|css)$/) {
		# Strings may contain the characters that begin a comment.
		while ($text =~ m{"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|/\*(.*?)\*/|//([^\n]*)}gs) {
			my $body = $1 // $2;
			next if !defined $body;
			my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
			$body =~ s/^[ \t]*\*+ ?//gm;
			push @out, split_paragraphs($line, $body);
		}
		return @out;
	}
	my ($line, $first, $body) = (0, 0, "");
	for (split(/\n/, "$text\n\n", -1)) {
		$line++;
		if (/^\s*#+(?!!)(.*)/ || /^\s*\.\\"(.*)/ || ($name =~ /\.lua$/ && /^\s*--+(.*)/)) {
			$first ||= $line;
			$body .= "$1\n";
		} elsif ($first) {
			push @out, split_paragraphs($first, $body);
			($first, $body) = (0, "");
		}
	}
	return @out;
}

# At empty lines, list items, kernel-doc members, and rows of tables.
sub split_paragraphs
{
	my ($line, $body) = @_;
	my ($first, $text, @out) = ($line, "");

	for (split(/\n/, "$body\n\n", -1)) {
		s/^\s*\|?\s*[-:| ]+$//;
		if (/^\s*$/ || /^\s*(?:[-*]|\d+\.|@[\w.]+:|\|)\s/ || /^\s*@[\w.]+:/) {
			push @out, [$first, $text] if $text =~ /\w/;
			($first, $text) = ($line, "");
		}
		# Each cell of a row is a text of its own.
		if (/^\s*\|/) {
			push @out, map { [$line, "$_ "] } grep { /\w/ } split(/\|/);
		} else {
			s/^\s*(?:[-*]|\d+\.|@[\w.]+:)\s*//;
			$text .= "$_ ";
		}
		$line++;
	}
	return @out;
}

sub documents
{
	my ($name, $text) = @_;

	# The author of a quoted manual page has a style of his own.
	$text =~ s/^\| S\d\d \|.*$//gm if $name =~ /pages\.md$/;
	if ($name =~ /\.md$/) {
		$text =~ s/^(```.*?^```)/blank_lines($1)/gmse;
		$text =~ s/^(?:\t| {4}(?![ \d*-])).*$//gm;
		$text =~ s/<!--.*?-->/blank_lines($&)/gse;
		$text =~ s/^#+ .*$//gm;
		$text =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
	} elsif ($name =~ /\.\d(?:\.in)?$/) {
		$text =~ s/^\.\\".*$//gm;
		# A macro's arguments are part of the sentence, or code.
		$text =~ s/^\.(?:Pp|El|Bl|It|Sh|Ss|Bd|Ed).*$//gm;
		$text =~ s/^\.(?:Dl|Nd|Dd|Dt|Os|Op|Fn|Ft|Fa)\b.*$//gm;
		$text =~ s/^\.(?:Xr) (\S+) (\S+)(.*)$/CODE$3/gm;
		$text =~ s/^\.[A-Z][a-z]\b.*?(?: ([.,:;)]+))?$/"CODE" . ($1 \/\/ "")/gme;
		$text =~ s/ ([.,:;)])/$1/g;
	} elsif ($name =~ /pages\/.*\.txt$/) {
		$text =~ s/^=(?:what|head|see|stock|synopsis).*$//gm;
		$text =~ s/^=\w+//gm;
		$text =~ s/^\t.*$//gm;
	} else {
		$text =~ s/^\S[\w-]*:.*$//gm;
		$text =~ s/^ \.$//gm;
	}
	return split_paragraphs(1, $text);
}

# ---- habits

my $joint = qr/(?:^|[.;:(]\s*|,\s+|\b(?:and|or|but|if|when|while|as|than|because|since|
	unless|until|of|to|by|from|for|with|at|behind|under|over|before|after|whether|where)\s+)/xi;
my %auxiliary = map { $_ => 1 } qw(am is are was were be been being has have had having do does
	did done can cannot could will would shall should may might must need needs let lets);
my %verbs;
# After one of these comes a noun.
my %before_noun = map { $_ => 1 } qw(a an the its his their our of no with without by for in on at
	own every any from into like as);
# Verbs of such texts; those that are also nouns count as verbs, so a sentence is
# reported only if nothing in it can be one.
for my $v (qw(accept access account acknowledge act add address agree allocate allow announce
	answer appear apply arm arrive attach avoid await bear become begin belong bind block boot
	bound break bring bound build call cancel carry cast cause change charge check choose claim
	clean clear close collect come compare compile complete concern connect consist contain
	continue convert cost copy count cover crash create cut deal decide declare define delete
	deliver deny depend dereference describe destroy detach detect differ disable discard
	disconnect dispatch drain drop enable end enter exceed exchange execute exist exit expect
	expire export extend fail fall fault fetch fill find finish fit flush follow forget fork
	forward free freeze get give go grant grow guard guess hand handle hang happen hide hold
	identify ignore include increase indicate inherit initialise inject insert install interrupt
	introduce invalidate join keep kill lack last lead leak learn leave lie limit link list
	listen live load lock look lose make map mark match matter mean measure meet migrate miss
	modify mount move multiply name notice notify obtain occur offer open order overflow
	overrun own pack pass pay perform pick pin place point poll post prefer prepare prevent print
	probe proceed produce promise protect prove provide publish put queue quote race raise
	reach read rearm receive record recover recycle reduce refer refill refuse register reject
	release rely remain remember remove rename render repeat replace report represent request
	require reserve reset resize resolve restart restore result retry return reuse revoke rewrite
	round run save scan schedule search see seem send separate serve set share show shrink sign
	signal skip sleep spin split stand start state stay stop store stream succeed suit supply
	support take tear terminate test time touch trace track treat trigger try turn type undo
	unlock unmap unplug unregister update use validate vanish verify wait wake walk want warn
	watch work wrap write yield adjust apply assume bypass calculate commit configure consume
	copy defer derive download edit emulate encode ensure erase evaluate expose express generate
	ignore implement import invoke isolate log maintain manage mention mirror mock model observe
	operate overlap override parse pause permit persist preserve process program propagate purge
	push rebuild reclaim redirect reflect remap renew resume reverse select sort specify spend
	step submit survive suspend switch synchronise synchronize target terminate traverse
	transfer transmit translate understand unwind unload upgrade vary view visit accommodate
	amount answer apply belong benefit collide combine compute contend correspond cross
	deregister drive equal fire flow hash hit host inform issue kick learn mask mend mix
	negotiate note outlive outlast own park perform plug pop precede predict queue rank
	reap reconnect refcount reopen reside restrict retransmit rise roll sanitize seal settle
	shut snapshot speak stick subscribe sum sustain swap tag tell ask say know believe mind think
	total tune unbind unpublish unpin vote wear win zero contribute promise carry explain
	exercise double half halve divide live weigh differ suffice deserve favour lag merge
	repost emit lift lower line stall sit strip steal escape exclude harm empty disappear help backport vanish confirm satisfy convey)) {
	my $stem = $v =~ s/e$//r;
	my $twice = $v =~ s/([^aeiou])$/$1$1/r;
	my $y = $v =~ /[^aeiou]y$/ ? $v =~ s/y$/i/r : $v;
	$verbs{$_} = 1 for $v, "${v}s", "${v}es", "${y}es", "${y}ed", "${v}ed", "${stem}ed";
	$verbs{"${twice}ed"} = 1;
}
$verbs{$_} = 1 for qw(began begun broke came chose chosen cut did drew fell found forgot forgotten
	froze gave given goes gone got gotten grew held hung kept knew laid lay led left lent lost
	made meant met paid ran rose run said sat saw seen sent set shown shut slept spent spoke stood
	stole struck stuck taken thought threw told took tore understood went woke won wore wrote written read
	built bound bought brought caught dealt felt fought hit hurt known lain lit put quit
	torn worn);

sub count
{
	my ($text) = @_;
	return scalar(() = $text =~ /[A-Za-z][A-Za-z']*/g);
}

# A fragment begins with one of these.
my $fragment = qr/(?:For|Of|From|With|On|By|In|Between|At|Under|Behind|Without|After|Before|As|Also|
	Like|Until|Besides|Except|Only|Not|Nor|Likewise)/x;
# The first verb behind one of these is not the sentence's.
my %clause = map { $_ => 1 } qw(that which who whose whom where when while if unless because
	whether);

# $strict: verbs of subordinate clauses and "see ..." do not count.
sub has_verb
{
	my ($s, $strict) = @_;
	my ($last, $clause) = ("", 0);

	$s =~ s/[:,;]?\s*\bsee\b.*$//s if $strict;
	for my $word (map { lc } $s =~ /[A-Za-z][A-Za-z']*|[,;:]/g) {
		my $verb = $auxiliary{$word} || $word =~ /n't$|'s$/ ||
			($verbs{$word} && !$before_noun{$last});

		$last = $word;
		if ($strict && $clause{$word}) {
			$clause = 1;
		} elsif (!$clause) {
			return 1 if $verb;
		} elsif ($verb) {
			# "has not been", and the verb itself
			$clause = $auxiliary{$word} ? 2 : 0;
		} elsif ($clause == 2 && $word !~ /^not$|ly$/) {
			$clause = 0;
		}
	}
	return 0;
}

my %habit = (
	who => sub {
		my ($s) = @_;
		return 0 if $s =~ /\?$/;
		return scalar(() = $s =~ /(?:^|[.;:(]\s*|\b(?:and|or|but|if|when|while|as|than|
			because|since|of|to|by|from|for|with|at|behind|whether|on|in|is|are|
			that|until)\s+)who\b/xgi);
	},
	what => sub {
		my ($s) = @_;
		return 0 if $s =~ /\?$/;
		return scalar(() = $s =~ /(?:^|[.;:(]\s*|\b(?:and|or|but|if|when|while|than|
			because|since|behind|that|until|not|so|then|of|for|with|to|by|from|in|
			about|on|as|is|are|was|be)\s+|,\s+)what\b|
			(?:^|\b(?:of|from|with|to|by|in|and|or)\s+)whatever\b/xgi);
	},
	nobody => sub {
		return scalar(() = $_[0] =~ /\b(?:nobody|everybody|somebody|anybody|whoever|whomever|
			no\sone|everyone|someone|anyone)\b/xgi);
	},
	speak => sub {
		return scalar(() = $_[0] =~ /\b(?:say|says|said|saying|tell|tells|told|telling|ask|asks|
			asked|asking|know|knows|knew|knowing|believe|believes|believed|minds|minded|
			never\smind|known\s+to|not\s+known|is\s+known|are\s+known|wish|wishes|wished|
			thinks|hears|heard|hopes)\b/xgi);
	},
	# removed, freed, destroyed, exits
	gone => sub {
		return scalar(() = $_[0] =~ /\b(?:gone|went|go(?:es)?\s+(?:away|on|along|by|
			to\s+(?:[A-Z]{3,}|\w+,|an?\s+\w+\s+state|the\s+\w+\s+state)))\b/xg);
	},
	# The subject comes first, not the part or the case that the sentence is about.
	of => sub {
		my ($s) = @_;
		return $s =~ /^\(?Of (?!course\b)/ ? 1 : 0;
	},
	# "a ring that there is not"
	'that there is' => sub {
		return scalar(() = $_[0] =~ /\b(?:that|as|than)\s+there\s+(?:is|are|was|were)\b(?!\s+(?:a|an|no|one|nothing|not\s+(?:a|an|enough)|room|\w+\s+\w+)\b)/gi);
	},
	'can not' => sub { return scalar(() = $_[0] =~ /\bcan not\b/gi); },
	# The first sentence of a paragraph may be a title.
	verbless => sub {
		my ($s, $first) = @_;
		return 0 if $s !~ /^[A-Z(].*\.\)?$/s;
		return 1 if $s =~ /^\(?$fragment\s/ && !has_verb($s, 1);
		return 0 if $first && $s !~ /^(?:No|Nor|Neither|Only|Not|Also|Of|Likewise|Any|None)\b/;
		return 0 if $s =~ /CODE/;
		# Lists of errors
		return 0 if $s =~ /^E[A-Z]{3,}[,: ]/;
		my @words = $s =~ /[A-Za-z][A-Za-z']*/g;
		return 0 if @words < 4;
		return !has_verb($s);
	},
);

# ----

my ($words, @hits) = (0);
for my $name (@ARGV) {
	open(my $in, '<', $name) or die "$name: $!\n";
	my $text = do { local $/; <$in> };
	for my $paragraph ($class eq 'comments' ? comments($name, $text) : documents($name, $text)) {
		my ($line, $body) = @$paragraph;
		next if $body =~ /SPDX-License|shellcheck (?:source|disable|shell)/;
		$body =~ s/`[^`]*`/CODE/g;
		$body =~ s/\b\w+\(\d*\w*\)/CODE/g;
		$body =~ s/\b[\w-]*_\w*\b/CODE/g;
		$body =~ s/["“][^"”]*["”]/CODE/g;
		$body =~ s/[*]{1,2}//g;
		$body =~ s/\s+/ /g;
		$words += count($body =~ s/CODE//gr);
		my $first = 1;
		for my $sentence (split(/(?<=[.?!;])\)?\s+(?=[A-Z(C])/, $body)) {
			$sentence =~ s/^\s+|\s+$//g;
			for my $h (sort keys %habit) {
				my $n = $habit{$h}->($sentence, $first);
				push @hits, "$h\t$name:$line: $sentence" for 1 .. $n;
			}
			$first = 0;
		}
	}
}
print "WORDS\t$words\n";
print "$_\n" for @hits;
