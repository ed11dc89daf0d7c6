# An attempt that was cut off committed the end; the newer attempt went on from before it.
0 processes 1
0 avoid 2
0 nodes 2
0 steps 14
0 save-every 7
0 chaos 150
0 notices 1
0 operators-end 1
0 elastic 1
0 grow-cooldown 2
0 suspends 1
0 damage 1
0 deletes-pods 1
0 places 1
0 more-places 1
0 ends-slowly 1
1 looked-at-after 4
1 looked-at-after #2 2
1 looked-at-after #3 2
3 place digits-worker-1-i0 1
3 place digits-worker-2-i0 1
4 starts-slowly digits-worker-1-i0 1
4 starts-after 9
5 place digits-worker-0-i0 1
13 trouble uid-1 1
13 which 1
13 agent-cut-for 42
14 notice 1
18 cut 1
18 cut-for 97
19 trouble uid-3 1
19 which 2
24 lose-pod 1
25 pulls-for 5
29 cut 1
29 cut-for 78
31 delete-pod 1
31 deletes-pod 1
31 grace 39
45 delete-pod 1
45 grace 58
45 looked-at-after 4
46 delete-pod 1
46 grace 28
46 looked-at-after 4
49 pulls-for 3
54 copies-for #2 2
54 copies-for #4 2
55 cut 1
55 cut-for 118
57 gives-up uid-6 1
62 trouble uid-8 1
62 frozen-for 27
63 cut 1
65 delete-pod 1
65 deletes-pod 2
65 cut-short 1
65 and-ends 1
65 away 1
65 away-for 3
68 delete-pod 1
68 looked-at-after #2 4
72 pulls-for 4
77 busy 1
79 loses-seat uid-11 #2 1
80 copies-for #2 30
85 node-dies 1
85 dies 3
88 suspend 1
153 damage 1
171 looked-at-after 7
171 looked-at-after #2 6
179 finds-damage uid-13 #2 1
