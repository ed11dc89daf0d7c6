# Nobody woke when too few were left to go on with fewer.
0 elastic 1
0 grow-cooldown 1
