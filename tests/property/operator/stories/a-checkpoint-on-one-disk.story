# A world was to resume what only some of its nodes had on their disks.
0 members 2
0 avoid 2
0 steps 28
0 chaos 118
0 notices 1
0 local-disks 1
9 trouble uid-3 1
9 which 1
9 agent-cut-for 18
21 notice 1
