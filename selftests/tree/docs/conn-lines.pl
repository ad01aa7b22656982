# SPDX-License-Identifier: GPL-2.0-only
#
# conn-lines.pl FILE...: counts the lines of connection handling: functions that create, connect,
# watch or destroy ids, QPs, CQs, PDs and SRQs. Functions that post work requests are data path;
# functions that only read the state of an endpoint do not count either. Prints "FUNCTIONS LINES
# CODE-LINES TOTAL-CODE", and each function on stderr.
use strict;
use warnings;

my $accessor = qr/rdma_ep_(device|port|pd|qp|send_cq|recv_cq|srq|channel|event|context|status|
	qp_cap|(local|peer)_addr|(try|wait|put)_slots)\(/x;
my $touch = qr/\b(rdma_ep_\w+|RDMA_CM_EVENT_\w+|rdma_conn_param)\b|
	\bib_(alloc|create|modify|drain|free|destroy|dealloc)_(cq|qp|pd|srq|sq|rq)/x;
my ($functions, $raw, $code, $all) = (0) x 4;

sub code_lines
{
	my ($text) = @_;

	$text =~ s{/\*.*?\*/}{}gs;
	return scalar grep { /\S/ } split(/\n/, $text);
}

for my $file (@ARGV) {
	open(my $in, "<", $file) or die "$file: $!\n";
	my $text = do { local $/; <$in> };
	$text =~ s{^//.*\n}{};
	$all += code_lines($text);
	while ($text =~ /^(\w[^\n;]*\([^;{}]*\)\n\{\n.*?^\}\n)/gms) {
		my $function = $1;
		my ($name) = $function =~ /(\w+)\(/;
		(my $text = $function) =~ s/$accessor//g;
		next if $text !~ $touch || $text =~ /\bib_post_/;
		my ($r, $c) = (scalar(split(/\n/, $function)),
			       code_lines($function));
		printf STDERR "%-28s %-24s %4d %4d\n", $file, $name, $r, $c;
		$functions++;
		$raw += $r;
		$code += $c;
	}
}
print "$functions $raw $code $all\n";
