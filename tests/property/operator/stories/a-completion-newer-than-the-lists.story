# A member completed after the others had listed their checkpoints: the last one was not in their lists.
0 members 1
0 steps 20
0 save-every 4
0 chaos 163
0 beats-slowly 1
0 heartbeat 1
0 saves-slowly 1
1 looked-at-after 3
7 trouble uid-2 1
7 frozen-for 9
17 cut 1
17 cut-for 67
26 busy 1
27 looked-at-after 5
32 pulls-for 3
42 cut 1
42 cut-for 50
52 beat-again uid-3 1
64 looked-at-after 6
92 lose-pod 1
