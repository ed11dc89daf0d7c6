# The word of one who was cut off by then counted: all the others offered the damaged checkpoint.
0 members 1
0 avoid 1
0 nodes 1
0 steps 27
0 save-every 3
0 chaos 95
0 is-patient 1
0 patience 3
0 retention 1
0 local-disks 1
0 damage 1
0 helpers 1
0 helper-count 1
1 looked-at-after #2 6
1 looked-at-after #3 7
2 place digits-worker-0-i0 1
7 pulls-for 3
8 place digits-helper-0-i0 1
26 trouble uid-2 1
26 which 5
44 copied-after 17
48 copied-after 6
52 node-dies 1
52 dies 1
52 known-after 29
56 lose-pod 1
56 loses 2
56 looked-at-after 7
59 operator-stands 1
63 place digits-helper-1-i1 1
79 trouble uid-7 1
79 which 3
83 damage 1
84 pulls-for 4
85 cut 1
85 cut-for 14
88 starts-slowly digits-helper-1-i2 1
90 damage 1
90 damages 1
97 no-node-yet 1
98 no-node-yet 1
99 no-node-yet 1
100 no-node-yet 1
101 no-node-yet 1
102 no-node-yet 1
103 no-node-yet 1
105 pulls-for 2
108 finds-damage uid-10 1
109 trouble uid-8 1
109 which 3
111 cut 1
111 cut-for 68
141 beat-again uid-10 1
