#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# SIGKILL of the giver and the taker of a session, a thousand times: in every second round one
# of them ends itself before, between or after export, passing and adoption, in each other
# round both are killed at random, so also during these calls. Each time the connection has one
# owner or ends, and nothing stays. "make check" has 14 rounds.
#
#	HANDOVER_ROUNDS		how often

export HANDOVER_ROUNDS=${HANDOVER_ROUNDS:-1000}
exec "$(dirname "$0")/../abi_handover_kill" -t killed_while_handing_over
