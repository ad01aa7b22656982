#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# SIGKILL of the exporter and the adopter of a session, a thousand times. In every second round one
# of them kills itself before, between or after export, passing and adoption; in the other rounds
# both are killed at random times, so also during these calls. Each time the connection has one
# owner or ends, and no object is left. "make check" has 14 rounds, a slow kernel a part of the thousand.
#
#	HANDOVER_ROUNDS		number of rounds

export HANDOVER_ROUNDS=${HANDOVER_ROUNDS:-$((1000 / ${TEST_SCALE:-1}))}
exec "$(dirname "$0")/../abi_handover_kill" -t killed_while_handing_over
