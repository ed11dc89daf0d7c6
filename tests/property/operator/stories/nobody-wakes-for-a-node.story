# Nobody woke when a node was no longer avoided.
0 avoid 1
9 cut 1
9 cut-for 105
