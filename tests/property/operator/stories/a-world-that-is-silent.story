# A world that was silent counted as one that made no step: the network to all of its members was cut before
# they took their seats, and the program was charged with a failure.
0 nodes 2
0 steps 8
0 save-every 3
0 chaos 53
0 elastic 1
0 progress-deadline 1
0 places 1
0 more-places 1
0 zones 1
0 ends-slowly 1
1 busy 1
2 looked-at-after 7
2 looked-at-after #3 4
3 pulls-for 3
6 place digits-worker-2-i0 2
9 pulls-for 4
13 starts-slowly digits-worker-0-i0 1
13 starts-after 12
15 trouble uid-2 1
15 which 2
28 lose-pod 1
28 loses 2
29 pulls-for 5
33 busy 1
34 busy 1
35 trouble uid-5 1
35 which 2
35 looked-at-after 4
37 copies-for 11
39 place digits-worker-1-i3 1
39 pulls-for 4
41 cut-zone 1
41 zone-cut-for 27
51 trouble uid-1 1
51 which 1
51 agent-cut-for 11
66 cut 1
66 cut-for 64
